"""From a JSON Schema to the TypeScript type of its values.  Pure.

The type is never narrower than the schema: what the schema allows can be assigned.  It is
wider where TypeScript cannot say it (ranges, patterns, ``not``), and where the schema says less
than its author meant: ``properties`` without ``type`` is an object, names that are not listed are
left out unless the schema speaks of them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pml.analysis.subschema import target
from pml.analysis.typescript import (
    ANY_ARRAY,
    ANY_OBJECT,
    NEVER,
    NULL,
    UNDEFINED,
    UNKNOWN,
    ArrayOf,
    Member,
    ObjectOf,
    TupleOf,
    Type,
    Word,
    intersection,
    quoted,
    union,
)

_NESTED = 60
"""Schemas in schemas, of whatever kind; Python's own stack ends at a few hundred."""
_BOOLEAN = Word("boolean")
_NUMBER = Word("number")
_STRING = Word("string")
_SCALARS = {
    "string": _STRING,
    "number": _NUMBER,
    "integer": _NUMBER,
    "boolean": _BOOLEAN,
    "null": NULL,
}
_SAID = {
    "format": "Format",
    "pattern": "Pattern",
    "minimum": "Minimum",
    "exclusiveMinimum": "Greater than",
    "maximum": "Maximum",
    "exclusiveMaximum": "Less than",
    "multipleOf": "Multiple of",
    "minLength": "Shortest",
    "maxLength": "Longest",
    "minItems": "Fewest items",
    "maxItems": "Most items",
    "default": "Default",
}
"""Keywords that a type cannot express, and what a comment calls them."""
_NOTE_CHARS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """How much of a schema a type shows."""

    levels: int = 40
    """Of objects and arrays."""
    parts: int = 5_000
    """Schemas that are looked at for one type."""
    options: int = 100
    """Of a union; more are the type that they have in common."""
    value_chars: int = 200
    """Of a literal type."""
    comments: bool = True
    """With what the schema says beside types; also with the types of names that are not listed."""
    stay_open: bool = False
    """Whether objects may have more than the schema lists, unless it says otherwise."""


@dataclass(slots=True)
class Names:
    """Types that references share, under names that are used once in all.

    Invariant: every name in ``definitions`` is in ``taken``.
    """

    taken: set[str]
    prefix: str = ""
    definitions: dict[str, Type] = field(default_factory=dict)

    def new(self, reference: str) -> str:
        """A name for what a reference leads to."""
        last = reference.rpartition("/")[2].rpartition(".")[2].strip("#")
        stem = f"{self.prefix}_{identifier(last) or 'Self'}"
        name, count = stem, 1
        while name in self.taken:
            count += 1
            name = f"{stem}_{count}"
        self.taken.add(name)
        return name


def identifier(text: str) -> str:
    """``my-server`` as ``MyServer``."""
    words = "".join(char if char.isascii() and char.isalnum() else " " for char in text).split()
    return "".join(word[0].upper() + word[1:] for word in words)


class SchemaTypes:
    """Types of the parts of one schema; references lead into ``root``.

    Where ``names`` are given, what a reference leads to gets a name if it is more than a word;
    without, it is written out, as deep as ``detail`` allows.
    """

    def __init__(
        self, root: Mapping[str, Any], detail: Detail, *, names: Names | None = None
    ) -> None:
        self._root = root
        self._detail = detail
        self._names = names
        self._left = detail.parts
        self._nested = 0
        self._depth = 0
        """Objects and arrays around the current schema."""
        self._opened: dict[str, int] = {}
        """References that lead to the current schema, and the depth at which each stood."""
        self._known: dict[str, Type] = {}
        self._named: dict[str, str] = {}

    def of(self, schema: object) -> Type:
        """The type of the schema's values."""
        return self._type(schema, self._detail.levels)

    def _type(self, schema: object, levels: int) -> Type:
        self._left -= 1
        if schema is False:
            return NEVER
        if not isinstance(schema, Mapping) or self._left < 0 or self._nested >= _NESTED:
            return UNKNOWN
        self._nested += 1
        reference = schema.get("$ref")
        parts = [self._reference(reference, levels)] if isinstance(reference, str) else []
        parts.append(self._own(schema, levels))
        parts += [self._options(schema.get(word), levels) for word in ("anyOf", "oneOf")]
        parts += [self._type(part, levels) for part in listed(schema.get("allOf"))]
        self._nested -= 1
        made = intersection(parts)
        return union([made, NULL]) if schema.get("nullable") is True else made

    def _within(self, schema: object, levels: int) -> Type:
        """The type of what an object or array holds."""
        self._depth += 1
        made = self._type(schema, levels - 1)
        self._depth -= 1
        return made

    # References

    def _reference(self, reference: str, levels: int) -> Type:
        if reference in self._known:
            return self._known[reference]
        found = target(self._root, reference)
        opened_at = self._opened.get(reference)
        if found is None or opened_at == self._depth:  # nowhere, or round with nothing between
            return UNKNOWN
        if self._names is not None and opened_at is not None:
            return self._name(self._names, reference)
        self._opened[reference] = self._depth
        made = self._type(found, levels if self._names is None else self._detail.levels)
        if opened_at is None:
            del self._opened[reference]
        else:
            self._opened[reference] = opened_at
        return made if self._names is None else self._define(self._names, reference, made)

    def _define(self, names: Names, reference: str, made: Type) -> Type:
        if reference in self._named or not isinstance(made, Word):
            name = self._name(names, reference)
            names.definitions[name.text] = made
            made = name
        self._known[reference] = made
        return made

    def _name(self, names: Names, reference: str) -> Word:
        if reference not in self._named:
            self._named[reference] = names.new(reference)
        return Word(self._named[reference])

    # What a schema says itself, without the schemas that it combines

    def _own(self, schema: Mapping[str, Any], levels: int) -> Type:
        if "const" in schema:
            return self._literal(schema["const"], levels)
        if isinstance(schema.get("enum"), list):
            return self._literals(schema["enum"], levels)
        named = schema.get("type")
        if named is None:
            named = "object" if mapping(schema.get("properties")) else None
            named = "array" if "items" in schema or "prefixItems" in schema else named
        return union([self._kind(one, schema, levels) for one in listed(named) or [named]])

    def _kind(self, name: object, schema: Mapping[str, Any], levels: int) -> Type:
        if name == "array":
            return self._array(schema, levels) if levels > 0 else ANY_ARRAY
        if name == "object":
            return self._object(schema, levels) if levels > 0 else ANY_OBJECT
        return _SCALARS.get(name, UNKNOWN) if isinstance(name, str) else UNKNOWN

    def _options(self, options: object, levels: int) -> Type:
        each = listed(options)
        if not each or len(each) > self._detail.options:
            return UNKNOWN
        return union([self._type(option, levels) for option in each])

    def _array(self, schema: Mapping[str, Any], levels: int) -> Type:
        items = schema.get("items")
        firsts = listed(schema.get("prefixItems")) or listed(items)
        if not firsts:
            return ArrayOf(self._within(items, levels))
        most = _count(schema.get("maxItems"), len(firsts) + 1)
        if len(firsts) > self._detail.options:
            return ANY_ARRAY
        parts = tuple(self._within(first, levels) for first in firsts[:most])
        needed = min(_count(schema.get("minItems"), 0), len(parts))
        others = schema.get("additionalItems") if isinstance(items, list) else items
        ends = others is False or most <= len(firsts)
        return TupleOf(parts, needed, None if ends else self._within(others, levels))

    # Objects

    def _object(self, schema: Mapping[str, Any], levels: int) -> Type:
        properties, needed = mapping(schema.get("properties")), required(schema)
        if len(properties) > self._detail.parts:
            return ANY_OBJECT
        members = [
            self._member(name, inner, levels, optional=name not in needed)
            for name, inner in properties.items()
        ]
        members += [Member(name, UNKNOWN, False) for name in needed if name not in properties]
        return ObjectOf(tuple(members), self._others(schema, members, levels))

    def _member(self, name: str, schema: object, levels: int, *, optional: bool) -> Member:
        rich = self._detail.comments
        said = mapping(schema)
        return Member(
            name,
            self._within(schema, levels),
            optional,
            readonly=rich and said.get("readOnly") is True,
            notes=notes_of(said) if rich else (),
        )

    def _others(self, schema: Mapping[str, Any], members: list[Member], levels: int) -> Type | None:
        """The type of properties that are not listed; None where there are none to speak of."""
        if members and not self._detail.comments:
            return None
        kinds = list(mapping(schema.get("patternProperties")).values())
        rest = schema.get("additionalProperties")
        if rest is None and (self._detail.stay_open or not (members or kinds)):
            return UNKNOWN
        kinds += [rest] if rest is True or isinstance(rest, Mapping) else []
        if not kinds:
            return None
        found = union([self._within(kind, levels) for kind in kinds])
        # every member has to fit the type of all names
        gone = [UNDEFINED] if any(member.optional for member in members) else []
        return union([found, *(member.type for member in members), *gone])

    # Values

    def _literals(self, values: list[Any], levels: int) -> Type:
        if len(values) > self._detail.options:
            return union([_kind_of(value) for value in values])
        return union([self._literal(value, levels) for value in values])

    def _literal(self, value: object, levels: int) -> Type:
        """A type that only the value has, or the type that it has."""
        if isinstance(value, list) and levels > 0 and self._detail.comments:
            parts = tuple(self._literal(item, levels - 1) for item in value)
            return TupleOf(parts, len(parts), None)
        if isinstance(value, dict) and levels > 0 and self._detail.comments:
            parts_by_name = {name: self._literal(one, levels - 1) for name, one in value.items()}
            members = (Member(name, part, False) for name, part in parts_by_name.items())
            return ObjectOf(tuple(members), None)
        text = "" if isinstance(value, list | dict | float) else quoted(value)
        if isinstance(value, float) and math.isfinite(value) and value >= 0:
            text = quoted(value)
        return Word(text) if 0 < len(text) <= self._detail.value_chars else _kind_of(value)


def notes_of(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """What a comment says of a value, beside its type."""
    about = schema.get("description")
    lines = [about.strip()] if isinstance(about, str) and about.strip() else []
    said = [
        f"{word}: {_shortened(quoted(schema[name]))}."
        for name, word in _SAID.items()
        if name in schema and schema[name] is not None
    ]
    lines += [" ".join(said)] if said else []
    lines += ["@deprecated"] if schema.get("deprecated") is True else []
    return tuple(lines)


def _shortened(text: str) -> str:
    return text if len(text) <= _NOTE_CHARS else text[: _NOTE_CHARS - 1] + "…"


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def listed(value: object) -> list[Any]:
    """The value if it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def required(schema: Mapping[str, Any]) -> dict[str, None]:
    """Names that an object has to have, in order."""
    return dict.fromkeys(name for name in listed(schema.get("required")) if isinstance(name, str))


def _count(value: object, default: int) -> int:
    return value if isinstance(value, int) and value >= 0 else default


def _kind_of(value: object) -> Type:
    if value is None:
        return NULL
    if isinstance(value, list):
        return ANY_ARRAY
    names: dict[type, Word] = {bool: _BOOLEAN, str: _STRING, int: _NUMBER, float: _NUMBER}
    return names.get(type(value), ANY_OBJECT)
