"""A plan as text for a person: tools first, then every step, then what nobody can know yet."""

import json
import re
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
from pml.domain.structure import ANY_TOOL, CATCH, SPREAD
from pml.domain.visible import visible

_HASH_CHARS = 12
_KINDS = {
    UnknownKind.TOOL: "tool",
    UnknownKind.VALUE: "value",
    UnknownKind.NAMES: "names",
    UnknownKind.BRANCH: "which branch",
    UnknownKind.TIMES: "how often",
    UnknownKind.FLOW: "flows",
}
_PLAIN = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_LINE_END = re.compile("\r\n|[\n\r\u2028\u2029]")
_ANY = "any tool of any server (known only when it runs)"


def plan_text(plan: Plan) -> str:
    """The whole plan; nothing of it is cut short or moved, since a person decides by it.

    A line is as long as what it says.  Characters that would hide or turn text are written as
    escapes, names that are no identifiers and all values as JSON, and code as it stands.
    """
    lines = [f"source {plan.program.source_hash[:_HASH_CHARS]}, {_count(plan)}", ""]
    lines += ["tools", *_tools(plan.tools)]
    if plan.arguments:
        given = (f"  {_name(key)} = {_json(value)}" for key, value in plan.arguments.items())
        lines += ["", "arguments", *given]
    lines += ["", *_program(plan.program, "steps")]
    for name, program in plan.capabilities.items():
        lines += ["", *_program(program, f"inside capabilities.{name}, for each call of it")]
    return "\n".join(visible(line) for line in lines)


def _count(plan: Plan) -> str:
    calls, tools = len(plan.program.calls), len(plan.tools)
    return f"{calls} call{_s(calls)} of {tools} tool{_s(tools)}"


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _tools(permissions: Iterable[Permission]) -> Iterator[str]:
    for each in permissions:
        name = _tool(each.tool)
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
        for each in program.unknown:
            yield from _open(each)


def _call(call: PlannedCall) -> Iterator[str]:
    yield f"  {call.id} {_tool(call.tool)} (line {call.line})"
    for condition in call.when:
        yield from _condition(condition)
    for loop in call.loops:
        yield from _code("     again and again: ", loop)
    for name, argument in call.arguments.items():
        yield from _argument("..." if name == SPREAD else _name(name), argument)


def _condition(condition: Condition) -> Iterator[str]:
    before = f"     if {condition.node}: "
    if condition.condition == CATCH:
        yield before + ("something fails" if condition.outcome == CATCH else "nothing fails")
    else:
        yield from _code(before, condition.condition, _outcome(condition))


def _outcome(condition: Condition) -> str:
    kind, _, label = condition.outcome.partition(":")
    if kind == "case":
        return f" matches the case {_json(label)}"
    if kind == "default":
        return " matches none of the cases"
    return f" is {kind}"


def _argument(name: str, argument: PlannedArgument) -> Iterator[str]:
    if argument.value is not msgspec.UNSET:
        yield f"     {name} = {_json(argument.value)}"
        return
    if argument.default is not msgspec.UNSET:
        given = " or ".join(_parameters(argument))
        yield f"     {name} = {_json(argument.default)} unless {given} is given"
        return
    yield from _code(f"     {name} = ", argument.expression or "not known", _made_of(argument))


def _made_of(argument: PlannedArgument) -> str:
    parts = [*argument.calls, *_parameters(argument)]
    return f" (from {', '.join(parts)})" if parts else ""


def _parameters(argument: PlannedArgument) -> list[str]:
    return [f"args.{_name(name)}" for name in argument.parameters]


def _fields(flow: PlannedFlow) -> str:
    parts = [f"{each.from_field or 'all'} as {each.to_field or 'all'}" for each in flow.fields]
    return f": {_one_line(', '.join(parts))}" if parts else ""


def _open(unknown: Unknown) -> Iterator[str]:
    where = f" of {unknown.node}" if unknown.node else ""
    return _code(f"  {_KINDS[unknown.kind]}{where}: ", unknown.message)


def _code(before: str, code: str, after: str = "") -> Iterator[str]:
    """Source text line by line: a line comment must not swallow what follows it."""
    lines = _LINE_END.split(code)
    for number, line in enumerate(lines):
        start = before if number == 0 else "       | "
        yield f"{start}{line.strip()}{after if number == len(lines) - 1 else ''}"


def _tool(tool: str) -> str:
    return _ANY if tool == ANY_TOOL else _one_line(tool)


def _name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else _json(name)


def _one_line(text: str) -> str:
    """A name that others chose, without line ends."""
    return _json(text)[1:-1]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
