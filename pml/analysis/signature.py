"""How a tool or capability is called, as one line of TypeScript that an agent can go by.

JSON Schema becomes types as far as they fit: first all levels, then fewer, then only the first
parameters.  What the schema says beside types (formats, patterns, ranges) is left out here;
`pml.analysis.declarations` has all of it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from pml.analysis.schema_types import Detail, SchemaTypes, mapping, required
from pml.analysis.typescript import (
    ANY_OBJECT,
    UNKNOWN,
    Member,
    ObjectOf,
    Spelling,
    Type,
    access,
    quoted,
)
from pml.domain.capability import CAPABILITY_SERVER, CapabilityParameter
from pml.domain.structure import SPREAD
from pml.domain.tools import Tool

_ARGS_CHARS = 260
_RESULT_CHARS = 140
"""Together 400: a line that agents read in lists of many."""
_LEVELS = 4
_VALUE_CHARS = 40
_LINE = Spelling()
Members = Callable[[Detail], list[Member]]


def _detail(levels: int) -> Detail:
    return Detail(levels=levels, parts=300, options=12, value_chars=_VALUE_CHARS, comments=False)


def signature(tool: Tool) -> str:
    """``mcp.fs.read_file(args: { path: string; head?: number }): Promise<string>``.

    At most 400 characters beside the names, whatever the schemas are.  A type that was learned
    from results, and that no server promised, is marked ``/* observed */``.
    """
    root, schema = result_of(tool)
    result = _fitting(lambda detail: SchemaTypes(root, detail).of(schema), _RESULT_CHARS)
    made = _LINE.of(UNKNOWN if result is None else result)
    seen = tool.output_schema is None and made != UNKNOWN.text
    return f"{callee(tool)}({_arguments(tool.input_schema)}): Promise<{made}{OBSERVED * seen}>"


OBSERVED = " /* observed */"


def result_of(tool: Tool) -> tuple[Mapping[str, Any], object]:
    """The schema of what a call is worth in code (EX-1), and the schema in which it stands."""
    schema = tool.result_schema
    if schema is None:
        return {}, {}
    if schema is tool.output_schema and mapping(schema.get("properties")) and tool.wraps_result():
        return schema, schema["properties"]["result"]
    return schema, schema


def callee(tool: Tool) -> str:
    """``mcp.server.tool``, or ``mcp["my-server"]["a.b"]``."""
    return "mcp" + access(tool.server) + access(tool.name)


def capability_signature(name: str, parameters: tuple[CapabilityParameter, ...]) -> str:
    """``capabilities.read_notes(args?: { path?: string /* "notes.txt" */ }): Promise<unknown>``."""

    def members(detail: Detail) -> list[Member]:
        return [
            Member(
                p.name,
                SchemaTypes(p.schema, detail).of(p.shown_schema()),
                not p.required,
                tail=_default(p),
            )
            for p in parameters
            if p.name != SPREAD
        ]

    is_open = any(p.name == SPREAD for p in parameters)
    given = _given(members, is_open=is_open) if parameters else ""
    return f"{CAPABILITY_SERVER}{access(name)}({given}): Promise<unknown>"


def _arguments(schema: Mapping[str, Any]) -> str:
    properties = mapping(schema.get("properties"))
    if not properties:
        nothing = "properties" in schema or schema.get("additionalProperties") is False
        made = _fitting(lambda detail: SchemaTypes(schema, detail).of(schema), _ARGS_CHARS)
        return "" if nothing else f"args?: {_LINE.of(UNKNOWN if made is None else made)}"
    needed = required(schema)

    def members(detail: Detail) -> list[Member]:
        return [
            Member(name, SchemaTypes(schema, detail).of(inner), name not in needed)
            for name, inner in properties.items()
        ]

    return _given(members, is_open=False)


def _given(members: Members, *, is_open: bool) -> str:
    others = UNKNOWN if is_open else None
    made = _fitting(lambda detail: _object(members(detail), others), _ARGS_CHARS)
    least = members(_detail(0))
    question = "?" if all(member.optional for member in least) else ""
    return f"args{question}: {_LINE.of(_cut(least) if made is None else made)}"


def _object(members: Iterable[Member], others: Type | None) -> ObjectOf:
    return ObjectOf(tuple(members), others)


def _cut(members: list[Member]) -> ObjectOf:
    """As many members as fit, those that are needed first."""
    kept: list[Member] = []
    room = _ARGS_CHARS - len("{ [name: string]: unknown }")
    for member in sorted(members, key=lambda member: member.optional):
        room -= len(_LINE.of(_object([member], None))) - len("{  }") + len("; ")
        if room < 0:
            break
        kept.append(member)
    return _object(kept, UNKNOWN) if kept else ANY_OBJECT


def _default(parameter: CapabilityParameter) -> str:
    """The default, in a comment."""
    if parameter.default is msgspec.UNSET:
        return ""
    text = quoted(parameter.default).replace("*/", "* /")
    return f" /* {text if len(text) <= _VALUE_CHARS else text[: _VALUE_CHARS - 1] + '…'} */"


def _fitting(make: Callable[[Detail], Type], limit: int) -> Type | None:
    """The richest type whose spelling is no longer than the limit."""
    for levels in range(_LEVELS, -1, -1):
        made = make(_detail(levels))
        if len(_LINE.of(made)) <= limit:
            return made
    return None
