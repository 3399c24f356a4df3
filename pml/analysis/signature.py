"""How a tool or capability is called, as one line of TypeScript that an agent can go by.

JSON Schema becomes types as far as they fit: first all levels, then fewer, then only the first
parameters.  What the schema says beside types (formats, patterns, ranges) is left out.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from pml.analysis.subschema import target
from pml.domain.capability import CAPABILITY_SERVER, CapabilityParameter
from pml.domain.structure import SPREAD
from pml.domain.tools import Tool

_ARGS_CHARS = 260
_RESULT_CHARS = 140
"""Together 400: a line that agents read in lists of many."""
_LEVELS = 4
_PARTS = 300
"""Schemas that are looked at for one type."""
_OPTIONS = 12
"""Of a union; more are the type that they have in common."""
_VALUE_CHARS = 40
_HOPS = 20
_PLAIN = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_SCALARS = {
    "string": "string",
    "number": "number",
    "integer": "number",
    "boolean": "boolean",
    "null": "null",
}
_UNKNOWN, _ANY_OBJECT, _ANY_ARRAY = "unknown", "Record<string, unknown>", "unknown[]"


@dataclass(frozen=True, slots=True)
class _Member:
    """One property of an object type; ``type_at`` gives its type with so many levels."""

    name: str
    optional: bool
    type_at: Callable[[int], str]
    note: str = ""


def signature(tool: Tool) -> str:
    """``mcp.fs.read_file(args: { path: string; head?: number }): Promise<string>``.

    At most 400 characters beside the names, whatever the schemas are.
    """
    schema = tool.output_schema
    if schema is not None and _mapping(schema.get("properties")) and tool.wraps_result():
        result = _type_of(schema, schema["properties"]["result"], _RESULT_CHARS)
    else:
        result = _UNKNOWN if schema is None else _type_of(schema, schema, _RESULT_CHARS)
    return f"{callee(tool)}({_arguments(tool.input_schema)}): Promise<{result}>"


def callee(tool: Tool) -> str:
    """``mcp.server.tool``, or ``mcp["my-server"]["a.b"]``."""
    return "mcp" + _access(tool.server) + _access(tool.name)


def capability_signature(name: str, parameters: tuple[CapabilityParameter, ...]) -> str:
    """``capabilities.read_notes(args?: { path?: string /* "notes.txt" */ }): Promise<unknown>``."""
    members = [
        _Member(p.name, not p.required, _Types(p.schema, p.schema).at, _default(p))
        for p in parameters
        if p.name != SPREAD
    ]
    is_open = any(p.name == SPREAD for p in parameters)
    given = _given(members, is_open=is_open) if parameters else ""
    return f"{CAPABILITY_SERVER}{_access(name)}({given}): Promise<unknown>"


def _arguments(schema: Mapping[str, Any]) -> str:
    properties = _mapping(schema.get("properties"))
    if not properties:
        nothing = "properties" in schema or schema.get("additionalProperties") is False
        return "" if nothing else f"args?: {_type_of(schema, schema, _ARGS_CHARS)}"
    needed = _required(schema)
    members = [
        _Member(name, name not in needed, _Types(schema, inner).at)
        for name, inner in properties.items()
    ]
    return _given(members, is_open=False)


def _given(members: list[_Member], *, is_open: bool) -> str:
    made = _fitting(lambda levels: _object(members, levels, is_open=is_open), _ARGS_CHARS)
    question = "?" if all(member.optional for member in members) else ""
    return f"args{question}: {_cut(members) if made is None else made}"


def _cut(members: list[_Member]) -> str:
    """As many members as fit, those that are needed first."""
    room = _ARGS_CHARS - len(_object([], 0, is_open=True))
    kept: list[_Member] = []
    for member in sorted(members, key=lambda member: member.optional):
        room -= len(_member(member, 0)) + 2
        if room < 0:
            break
        kept.append(member)
    return _object(kept, 0, is_open=True) if kept else _ANY_OBJECT


def _object(members: Iterable[_Member], levels: int, *, is_open: bool) -> str:
    parts = [_member(member, levels) for member in members]
    if is_open:
        parts.append("[name: string]: unknown")
    return "{ " + "; ".join(parts) + " }" if parts else "Record<string, never>"


def _member(member: _Member, levels: int) -> str:
    question = "?" if member.optional else ""
    return f"{_key(member.name)}{question}: {member.type_at(levels)}{member.note}"


def _default(parameter: CapabilityParameter) -> str:
    """The default, in a comment."""
    if parameter.default is msgspec.UNSET:
        return ""
    text = _json(parameter.default).replace("*/", "* /")
    return f" /* {text if len(text) <= _VALUE_CHARS else text[: _VALUE_CHARS - 1] + '…'} */"


def _type_of(root: Mapping[str, Any], schema: object, limit: int) -> str:
    return _fitting(_Types(root, schema).at, limit) or _UNKNOWN


def _fitting(render: Callable[[int], str], limit: int) -> str | None:
    """The richest rendering that is no longer than the limit."""
    for levels in range(_LEVELS, -1, -1):
        text = render(levels)
        if len(text) <= limit:
            return text
    return None


class _Types:
    """The TypeScript type of one schema; references lead into ``root``."""

    def __init__(self, root: Mapping[str, Any], schema: object) -> None:
        self._root = root
        self._schema = schema
        self._left = 0

    def at(self, levels: int) -> str:
        """The type with so many levels of objects and arrays."""
        self._left = _PARTS
        return self._type(self._schema, levels)

    def _type(self, schema: object, levels: int) -> str:
        self._left -= 1
        for _ in range(_HOPS):
            if not isinstance(schema, Mapping) or not isinstance(schema.get("$ref"), str):
                break
            schema = target(self._root, schema["$ref"])
        if schema is False:
            return "never"
        if not isinstance(schema, Mapping) or "$ref" in schema or self._left < 0:
            return _UNKNOWN
        parts = [self._own(schema, levels)]
        parts += [self._union(schema.get(word), levels) for word in ("anyOf", "oneOf")]
        parts += [self._type(part, levels) for part in _listed(schema.get("allOf"))]
        made = _intersection(parts)
        return f"{made} | null" if schema.get("nullable") is True and made != _UNKNOWN else made

    def _own(self, schema: Mapping[str, Any], levels: int) -> str:
        """What the schema says itself, without the schemas that it combines."""
        if "const" in schema:
            return _literal(schema["const"])
        if isinstance(schema.get("enum"), list):
            return _literals(schema["enum"])
        named = schema.get("type")
        if named is None:
            named = "object" if _mapping(schema.get("properties")) else None
            named = "array" if "items" in schema or "prefixItems" in schema else named
        return _union([self._named(n, schema, levels) for n in _listed(named) or [named]])

    def _named(self, name: object, schema: Mapping[str, Any], levels: int) -> str:
        if name == "array":
            return self._array(schema, levels) if levels > 0 else _ANY_ARRAY
        if name == "object":
            return self._record(schema, levels) if levels > 0 else _ANY_OBJECT
        return _SCALARS.get(name, _UNKNOWN) if isinstance(name, str) else _UNKNOWN

    def _union(self, options: object, levels: int) -> str:
        listed = _listed(options)
        if not listed or len(listed) > _OPTIONS:
            return _UNKNOWN
        return _union([self._type(option, levels) for option in listed])

    def _array(self, schema: Mapping[str, Any], levels: int) -> str:
        items = schema.get("items")
        firsts = _listed(schema.get("prefixItems")) or _listed(items)
        if not firsts:
            return f"{_grouped(self._type(items, levels - 1))}[]"
        if len(firsts) > _OPTIONS:
            return _ANY_ARRAY
        parts = [self._type(first, levels - 1) for first in firsts]
        others = schema.get("additionalItems") if isinstance(items, list) else items
        if others is not False and schema.get("maxItems") != len(firsts):
            parts.append(f"...{_grouped(self._type(others, levels - 1))}[]")
        return f"[{', '.join(parts)}]"

    def _record(self, schema: Mapping[str, Any], levels: int) -> str:
        properties = _mapping(schema.get("properties"))
        if not properties:
            others = schema.get("additionalProperties")
            if others is False:
                return "Record<string, never>"
            patterns = list(_mapping(schema.get("patternProperties")).values())
            value = _union([self._type(one, levels - 1) for one in patterns or [others]])
            return f"Record<string, {value}>"
        if len(properties) > _PARTS:
            return _ANY_OBJECT
        needed = _required(schema)
        return (
            "{ "
            + "; ".join(
                f"{_key(name)}{'' if name in needed else '?'}: {self._type(inner, levels - 1)}"
                for name, inner in properties.items()
            )
            + " }"
        )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _required(schema: Mapping[str, Any]) -> set[str]:
    return {name for name in _listed(schema.get("required")) if isinstance(name, str)}


def _union(options: list[str]) -> str:
    each = list(dict.fromkeys(option for option in options if option != "never"))
    if _UNKNOWN in each:
        return _UNKNOWN
    return " | ".join(each) if each else "never"


def _intersection(parts: list[str]) -> str:
    each = list(dict.fromkeys(part for part in parts if part != _UNKNOWN))
    if len(each) == 1:
        return each[0]
    return " & ".join(_grouped(part) for part in each) if each else _UNKNOWN


def _grouped(made: str) -> str:
    """In parentheses where a suffix would only reach the last part."""
    return f"({made})" if " | " in made or " & " in made else made


def _literals(values: list[Any]) -> str:
    kinds = _union([_kind(value) for value in values])
    return kinds if len(values) > _OPTIONS else _union([_literal(value) for value in values])


def _literal(value: object) -> str:
    """A type that only the value has, or the type that it has."""
    text = "" if isinstance(value, list | dict | float) else _json(value)
    if isinstance(value, float) and math.isfinite(value) and value >= 0:
        text = _json(value)
    return text if 0 < len(text) <= _VALUE_CHARS else _kind(value)


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, list):
        return _ANY_ARRAY
    names = {bool: "boolean", str: "string", int: "number", float: "number"}
    return names.get(type(value), _ANY_OBJECT)


def _json(value: object) -> str:
    """JSON text on one line; halves of surrogate pairs replaced."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return "..."
    return text.encode("utf-8", "replace").decode()


def _key(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else _json(name)


def _access(name: str) -> str:
    return f".{name}" if _PLAIN.fullmatch(name) else f"[{_json(name)}]"
