"""What an anonymous trace may hold: words that tools made public, and tokens.

`pml.evaluation.anonymous` makes tokens; what is read back is held against the same patterns, so
that nothing else gets in.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pml.discovery.words import Words
from pml.domain.capability import CAPABILITY_SERVER
from pml.domain.tools import Tool
from pml.domain.trace import ExecutionTrace, TaskResult

VALUE_BYTES = 8
"""Of a digest: that any two of a million values share one has a chance of 3 in 100 million."""
ID_BYTES = 16
_DIGEST = f"[0-9a-f]{{{2 * VALUE_BYTES}}}"
VALUE_TOKEN = re.compile(rf"[a-z]+(?:-[a-z0-9]+)?:[0-5]:{_DIGEST}")
"""Form, step of its size, digest."""
KEY_TOKEN = re.compile(rf"key:{_DIGEST}")
ID_TOKEN = re.compile(f"[0-9a-f]{{{2 * ID_BYTES}}}")
SITE = re.compile(r"\?|[ndfjl][0-9]{1,9}(?:_[0-9]{1,9})?")
"""Label of a node or of a call; ``?`` is a call without one."""
_CODES = """
aborted approval_required bad_result capability_failed diverged in_doubt input_required internal
interrupted invalid_params limit quarantined sandbox skipped store_unavailable timeout too_large
tool_error unanswered unavailable under_way unknown_tool
"""
OTHER_CODE = "other"
ERROR_CODES = frozenset([*_CODES.split(), OTHER_CODE])
"""Those of our own; another could be anything."""
OUTCOMES = frozenset({"true", "false", "default", "ok", "catch"})
CASE = "case:"
UNKNOWN_SERVER = "unknown"
"""Stands where the server would of a tool that no server lists (any more)."""
TRUNCATED = "_truncated"
"""Key of what stands for a value that was too large for a trace; its size goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """What tools say of themselves, and so is no secret of a trace."""

    tools: frozenset[str]
    """Their ids."""
    fields: frozenset[str]
    """Names of properties that their schemas declare."""
    stems: frozenset[str]
    """Of the words of their names, descriptions and parameters."""


def vocabulary(tools: Iterable[Tool]) -> Vocabulary:
    """Of these tools."""
    known, stems = tuple(tools), Words(stop_words=frozenset())
    return Vocabulary(
        tools=frozenset(tool.id for tool in known),
        fields=frozenset(name for tool in known for name in _fields_of(tool)),
        stems=frozenset(word for tool in known for word in stems(_text_of(tool))),
    )


def breach(trace: ExecutionTrace, public: Vocabulary) -> str | None:
    """The first field that holds something else; None where all of it is anonymous.

    Intents are not looked at: who exports may keep them.
    """
    ids = (trace.id, trace.parent_trace_id, trace.capability_id)
    tasks = trace.task_results
    checks = {
        "id": all(one is None or ID_TOKEN.fullmatch(one) for one in ids),
        "initial_context": _is_anonymous(trace.initial_context, public),
        "error_message": _is_anonymous(trace.error_message, public),
        "executed_path": all(map(SITE.fullmatch, trace.executed_path)),
        "decisions": all(
            SITE.fullmatch(one.node_id) and _is_outcome(one.outcome) for one in trace.decisions
        ),
        "task_results": all(_is_anonymous_task(task, public) for task in tasks),
    }
    return next((name for name, holds in checks.items() if not holds), None)


def _is_anonymous_task(task: TaskResult, public: Vocabulary) -> bool:
    return (
        SITE.fullmatch(task.task_id) is not None
        and SITE.fullmatch(task.node_id) is not None
        and (task.tool in public.tools or _is_masked_tool(task.tool))
        and (task.error_code is None or task.error_code in ERROR_CODES)
        and all(_is_anonymous(value, public) for value in (task.args, task.result, task.error))
    )


def _is_masked_tool(tool_id: str) -> bool:
    server, _, token = tool_id.partition(":")
    return server in (CAPABILITY_SERVER, UNKNOWN_SERVER) and ID_TOKEN.fullmatch(token) is not None


def _is_outcome(outcome: str) -> bool:
    if outcome in OUTCOMES:
        return True
    return VALUE_TOKEN.fullmatch(outcome.removeprefix(CASE)) is not None


def _is_anonymous(value: Any, public: Vocabulary) -> bool:  # noqa: ANN401  # JSON
    match value:
        case None:
            return True
        case str():
            return VALUE_TOKEN.fullmatch(value) is not None
        case list():
            return all(_is_anonymous(inner, public) for inner in value)
        case dict():
            return value == {TRUNCATED: True} or all(
                (name in public.fields or KEY_TOKEN.fullmatch(name))
                and _is_anonymous(inner, public)
                for name, inner in value.items()
            )
        case _:
            return False


def _text_of(tool: Tool) -> str:
    """What a tool says of itself and its parameters."""
    fields = (f"{name} {said}" for name, said in _described(tool.input_schema))
    return " ".join([tool.server, tool.name, tool.description, *fields])


def _fields_of(tool: Tool) -> Iterator[str]:
    for schema in (tool.input_schema, tool.output_schema or {}):
        yield from (name for name, _ in _described(schema))


def _described(schema: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401  # JSON
    """Every property that a schema declares, with its description."""
    pending = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, Mapping):
            properties = part.get("properties")
            if isinstance(properties, Mapping):
                for name, inner in properties.items():
                    said = inner.get("description", "") if isinstance(inner, Mapping) else ""
                    yield str(name), str(said)
            pending += part.values()
        elif isinstance(part, list):
            pending += part
