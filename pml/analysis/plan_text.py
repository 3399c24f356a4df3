"""A plan as text for a person: tools first, then every step, then what nobody can know yet."""

import json
import textwrap
from collections.abc import Iterable, Iterator

import msgspec

from pml.domain.permissions import ApprovalMode, Permission
from pml.domain.plan import (
    Condition,
    Plan,
    PlannedArgument,
    PlannedCall,
    PlannedFlow,
    PlannedProgram,
    Unknown,
    UnknownKind,
)
from pml.domain.structure import ANY_TOOL, SPREAD
from pml.domain.visible import visible

_HASH_CHARS = 12
_KINDS = {
    UnknownKind.TOOL: "tool",
    UnknownKind.VALUE: "value",
    UnknownKind.NAMES: "names",
    UnknownKind.BRANCH: "which branch",
    UnknownKind.TIMES: "how often",
}
_ANY = "any tool of any server (known only when it runs)"


def plan_text(plan: Plan, *, width: int = 100) -> str:
    """The whole plan; nothing of it is cut short, since a person decides by it.

    Characters that would hide or turn text are written as escapes.
    """
    lines = [f"source {plan.program.source_hash[:_HASH_CHARS]}, {_count(plan)}", ""]
    lines += ["tools", *_tools(plan.tools)]
    if plan.arguments:
        lines += ["", "arguments", *(f"  {k} = {_json(v)}" for k, v in plan.arguments.items())]
    lines += ["", *_program(plan.program, "steps")]
    for name, program in plan.capabilities.items():
        lines += ["", *_program(program, f"inside capabilities.{name}, for each call of it")]
    return visible("\n".join(part for line in lines for part in _wrapped(line, width)))


def _wrapped(line: str, width: int) -> list[str]:
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.wrap(
        line, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    ) or [""]


def _count(plan: Plan) -> str:
    calls, tools = len(plan.program.calls), len(plan.tools)
    return f"{calls} call{_s(calls)} of {tools} tool{_s(tools)}"


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _tools(permissions: Iterable[Permission]) -> Iterator[str]:
    for each in permissions:
        name = _ANY if each.tool == ANY_TOOL else each.tool
        asks = " needs approval" if each.approval_mode is ApprovalMode.HIL else " runs unasked"
        yield f"  {name}: {each.effect}, {each.scope},{asks}"


def _program(program: PlannedProgram, title: str) -> Iterator[str]:
    yield title
    if not program.calls:
        yield "  calls no tool"
    for call in program.calls:
        yield from _call(call)
    if program.flows:
        yield ""
        yield "results that flow into arguments"
        for flow in program.flows:
            yield f"  {flow.source} to {flow.target}{_fields(flow)}"
    if program.unknown:
        yield ""
        yield "not known before it runs"
        yield from (f"  {_open(each)}" for each in program.unknown)


def _call(call: PlannedCall) -> Iterator[str]:
    name = _ANY if call.tool == ANY_TOOL else call.tool
    yield f"  {call.id} {name} (line {call.line})"
    for condition in call.when:
        yield f"     if {_condition(condition)}"
    for loop in call.loops:
        yield f"     again and again: {_one_line(loop)}"
    for name, argument in call.arguments.items():
        yield f"     {'...' if name == SPREAD else name} = {_argument(argument)}"


def _condition(condition: Condition) -> str:
    if condition.outcome in {"ok", "catch"}:
        return f"{condition.node} {'did not fail' if condition.outcome == 'ok' else 'failed'}"
    text = _one_line(condition.condition)
    if condition.outcome.startswith("case:"):
        return f"{text} is {condition.outcome.removeprefix('case:')}"
    if condition.outcome == "default":
        return f"{text} is none of the cases"
    return f"{text} is {condition.outcome}"


def _argument(argument: PlannedArgument) -> str:
    made_of = [*argument.calls, *(f"args.{name}" for name in argument.parameters)]
    if argument.value is not msgspec.UNSET:
        return _json(argument.value)
    source = f" (from {', '.join(made_of)})" if made_of else ""
    return f"{_one_line(argument.expression)}{source}".strip() or "not known"


def _fields(flow: PlannedFlow) -> str:
    parts = [f"{each.from_field or 'all'} as {each.to_field or 'all'}" for each in flow.fields]
    return f": {', '.join(parts)}" if parts else ""


def _open(unknown: Unknown) -> str:
    where = f" of {unknown.node}" if unknown.node else ""
    return f"{_KINDS[unknown.kind]}{where}: {_one_line(unknown.message)}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _one_line(text: str) -> str:
    return " ".join(text.split())
