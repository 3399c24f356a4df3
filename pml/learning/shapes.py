"""The JSON Schema that the results of a tool teach (SA-10).  Pure.

A shape says which kinds of values were seen where, and nothing else of them: no value is kept,
since it may be a secret.  Shapes form a lattice: `join` is associative, commutative and
idempotent, so it does not matter in which order results are seen, nor how often.  The bounds
are part of the lattice (a bound that was passed by some order is passed by every order), see
`_size`.

Names of fields are kept as long as they look like names.  An object with a name that looks
like an id or a secret, or with too many, is a map: only what its values have in common is kept.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from pml.domain.secret_rules import redact_text

MOST_FIELDS = 100
"""Of an object; with more it is a map."""
DEEPEST = 8
"""Arrays and objects in each other, beyond which only their kind is kept."""
LARGEST = 11_000
"""Parts of a shape, as `_size` counts them; a larger one is kept to fewer levels."""
_NAME = re.compile(r"[^\W\d][\w -]{0,39}|[$@][\w-]{1,39}")
_FEW_DIGITS = 3
_CUT = "levels: "
_SCALARS = ("null", "boolean", "integer", "number", "string")


@dataclass(frozen=True, slots=True)
class Fields:
    """An object whose properties have names of their own."""

    by_name: "Mapping[str, Shape]"
    required: frozenset[str]
    """Those that every such object had."""


@dataclass(frozen=True, slots=True)
class Map:
    """An object whose properties are named by data."""

    values: "Shape"


@dataclass(frozen=True, slots=True)
class Shape:
    """Which values were seen in one place.

    Invariant: with ``anything`` all else is empty; ``number`` includes ``integer``.
    """

    scalars: frozenset[str] = field(default_factory=frozenset)
    items: "Shape | None" = None
    """Of arrays, if any were seen; `NOTHING` while all were empty."""
    members: Fields | Map | None = None
    """Of objects, if any were seen."""
    anything: bool = False
    """Nothing is known here any more."""


NOTHING, ANYTHING = Shape(), Shape(anything=True)


def shape_of(value: Any, level: int = 0) -> Shape:  # noqa: ANN401  # JSON
    """The shape of one value."""
    if isinstance(value, list):
        if level >= DEEPEST:
            return Shape(items=ANYTHING)
        return Shape(items=_all([shape_of(item, level + 1) for item in value]))
    if isinstance(value, dict):
        if level >= DEEPEST:
            return Shape(members=Map(ANYTHING))
        by_name = {name: shape_of(inner, level + 1) for name, inner in value.items()}
        return Shape(members=_members(by_name, frozenset(by_name)))
    return Shape(scalars=frozenset((_kind(value),)))


def observed(values: Iterable[Any]) -> dict[str, Any] | None:
    """The schema of values as results showed them; None where there were none."""
    shape = _all(map(shape_of, values))
    return None if shape == NOTHING else _kept(shape, DEEPEST)


def merged(known: Mapping[str, Any] | None, seen: Mapping[str, Any]) -> dict[str, Any]:
    """What two schemas of `observed` say together."""
    before = NOTHING if known is None else from_schema(known)
    levels = min(_levels(schema) for schema in (known, seen) if schema is not None)
    return _kept(join(before, from_schema(seen)), levels)


def join(one: Shape, other: Shape) -> Shape:
    """The least shape of all values that one of the two allows."""
    if one == other:
        return one
    if one.anything or other.anything:
        return ANYTHING
    scalars = one.scalars | other.scalars
    return Shape(
        scalars=scalars - {"integer"} if "number" in scalars else scalars,
        items=_either(one.items, other.items),
        members=_joined_members(one.members, other.members),
    )


def _all(shapes: Iterable[Shape]) -> Shape:
    return reduce(join, shapes, NOTHING)


def _either(one: Shape | None, other: Shape | None) -> Shape | None:
    if one is None or other is None:
        return other if one is None else one
    return join(one, other)


def _joined_members(one: Fields | Map | None, other: Fields | Map | None) -> Fields | Map | None:
    if one is None or other is None:
        return other if one is None else one
    if isinstance(one, Fields) and isinstance(other, Fields):
        names = dict.fromkeys([*one.by_name, *other.by_name])
        by_name = {
            n: join(one.by_name.get(n, NOTHING), other.by_name.get(n, NOTHING)) for n in names
        }
        return _members(by_name, one.required & other.required)
    return Map(join(_values(one), _values(other)))


def _members(by_name: Mapping[str, Shape], required: frozenset[str]) -> Fields | Map:
    if len(by_name) > MOST_FIELDS or not all(map(is_name, by_name)):
        return Map(_all(by_name.values()))
    return Fields(by_name, required)


def _values(members: Fields | Map) -> Shape:
    return members.values if isinstance(members, Map) else _all(members.by_name.values())


def is_name(key: str) -> bool:
    """Whether a property's name was chosen by an author, and not by data."""
    if not _NAME.fullmatch(key) or sum(map(str.isdigit, key)) > _FEW_DIGITS:
        return False
    return redact_text(key) == key


def _kind(value: object) -> str:
    if value is None:
        return "null"
    kinds = {bool: "boolean", int: "integer", float: "number"}
    return kinds.get(type(value), "string")


# Bounds ----------------------------------------------------------------------------------


def _kept(shape: Shape, levels: int) -> dict[str, Any]:
    """The schema of the shape to as many levels as are not too large, and no more than given."""
    while _size(cut := _cut(shape, levels)) > LARGEST and levels:
        levels -= 1
    schema = to_schema(cut)
    return schema if levels == DEEPEST else {"$comment": f"{_CUT}{levels}", **schema}


def _levels(schema: Mapping[str, Any]) -> int:
    """To how many levels a schema was kept, beyond which it says nothing of any result."""
    return int(schema["$comment"].removeprefix(_CUT)) if "$comment" in schema else DEEPEST


def _cut(shape: Shape, levels: int) -> Shape:
    items, members = shape.items, shape.members
    if levels <= 0:
        return Shape(
            scalars=shape.scalars,
            items=None if items is None else ANYTHING,
            members=None if members is None else Map(ANYTHING),
            anything=shape.anything,
        )
    if isinstance(members, Map):
        members = Map(_cut(members.values, levels - 1))
    elif members is not None:
        by_name = {name: _cut(inner, levels - 1) for name, inner in members.by_name.items()}
        members = Fields(by_name, members.required)
    items = None if items is None else _cut(items, levels - 1)
    return Shape(shape.scalars, items, members, shape.anything)


def _size(shape: Shape) -> int:
    """How large a shape is.

    Of two shapes that are cut to one level, never smaller after a join: a map counts as the
    largest object that could have become it.  So the level to which a shape is kept (and which
    its schema remembers) only sinks, and what remains follows from all that was seen, in
    whatever order.
    """
    size = 1 if shape.items is None else 1 + _size(shape.items)
    if isinstance(shape.members, Map):
        values = shape.members.values  # anything: an object that was cut, as all are there
        return size + 1 + (1 if values == ANYTHING else MOST_FIELDS * _size(values))
    if shape.members is not None:
        return size + 1 + sum(map(_size, shape.members.by_name.values()))
    return size


# As JSON Schema --------------------------------------------------------------------------


def to_schema(shape: Shape) -> dict[str, Any]:
    """The shape as JSON Schema; `from_schema` reads it back."""
    if shape.anything:
        return {}
    kinds = [kind for kind in _SCALARS if kind in shape.scalars]
    kinds += ["array"] if shape.items is not None else []
    kinds += ["object"] if shape.members is not None else []
    made: dict[str, Any] = {"type": kinds[0] if len(kinds) == 1 else kinds}
    if shape.items is not None and shape.items != NOTHING:
        made["items"] = to_schema(shape.items)
    if isinstance(shape.members, Map):
        made["additionalProperties"] = to_schema(shape.members.values)
    elif shape.members is not None:
        by_name = shape.members.by_name
        made["properties"] = {name: to_schema(by_name[name]) for name in sorted(by_name)}
        made |= {"required": sorted(shape.members.required)} if shape.members.required else {}
    return made


def from_schema(schema: Mapping[str, Any]) -> Shape:
    """The shape of a schema that `to_schema` made; of any other, whatever it says likewise."""
    named = schema.get("type")
    if named is None:
        return ANYTHING
    kinds = [named] if isinstance(named, str) else named
    members: Fields | Map | None = None
    if "additionalProperties" in schema:
        members = Map(from_schema(schema["additionalProperties"]))
    elif "object" in kinds:
        properties = schema.get("properties", {})
        by_name = {name: from_schema(inner) for name, inner in properties.items()}
        members = Fields(by_name, frozenset(schema.get("required", ())))
    items = from_schema(schema["items"]) if "items" in schema else NOTHING
    return Shape(
        scalars=frozenset(kind for kind in kinds if kind in _SCALARS),
        items=items if "array" in kinds else None,
        members=members,
    )
