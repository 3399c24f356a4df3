"""JSON Schemas without detours: references followed, alternatives and parts put together.

What SDKs write of an optional text is ``anyOf: [string, null]``, of a nested object a ``$ref``.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

Schema: TypeAlias = Mapping[str, Any]
_MOST_STEPS = 8
"""References and alternatives behind each other; one that leads to itself ends here."""
_MOST_PARTS = 100
"""Of one schema, all together."""
_DETOURS = frozenset({"$ref", "allOf", "anyOf", "oneOf"})
_TYPES = {
    **dict.fromkeys(("string", "str"), "string"),
    **dict.fromkeys(("number", "integer", "int", "float"), "number"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("object", "dict"), "object"),
}
"""Types by what they are called, in JSON Schema and beside it."""


def plain(schema: Schema, root: Schema) -> Schema:
    """The schema with everything that it refers to, is one of, or is made of.

    Of several alternatives the fields of all count, and what the first says of itself; ``null``
    is no alternative.  Only references into the same document are followed.
    """
    return schema if _DETOURS.isdisjoint(schema) else _plain(schema, root, _Budget())


class _Budget:
    """What following may cost: a hostile schema refers to itself in many ways."""

    def __init__(self) -> None:
        self.parts = _MOST_PARTS
        self.depth = _MOST_STEPS


def _plain(schema: Schema, root: Schema, budget: _Budget) -> Schema:
    parts = [part for part in _parts(schema, root) if part.get("type") != "null"]
    kept = parts[: budget.parts if budget.depth else 0]
    if not kept:
        return schema
    budget.parts -= len(kept)
    budget.depth -= 1
    whole: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    for part in [schema, *(_plain(part, root, budget) for part in kept)]:
        whole = {**part, **whole}
        found = part.get("properties")
        fields = {**(found if isinstance(found, dict) else {}), **fields}
    budget.depth += 1
    return {**whole, "properties": fields} if fields else whole


def _parts(schema: Schema, root: Schema) -> Iterator[Schema]:
    target = schema.get("$ref")
    found = _found(target, root) if isinstance(target, str) else None
    if found is not None:
        yield found
    for key in ("allOf", "anyOf", "oneOf"):
        options = schema.get(key)
        yield from (o for o in options if isinstance(o, dict)) if isinstance(options, list) else ()


def _found(reference: str, root: Schema) -> Schema | None:
    """What ``#/$defs/Name`` means; None where there is no such object."""
    document, _, path = reference.partition("#")
    found: Any = None if document else root
    for step in path.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else None


def properties(schema: Schema, root: Schema) -> list[tuple[str, Schema]]:
    """The fields of an object, each plain."""
    found = schema.get("properties")
    if not isinstance(found, dict):
        return []
    return [(str(n), plain(s, root) if isinstance(s, dict) else {}) for n, s in found.items()]


def type_of(schema: Schema, root: Schema) -> tuple[str, bool]:
    """The type of a plain schema's value, empty if unknown, and whether there are several of it."""
    kinds = schema.get("type")
    if isinstance(kinds, list):
        kinds = next((kind for kind in kinds if kind != "null"), "")
    if kinds != "array":
        return _TYPES.get(str(kinds or "").lower(), ""), False
    items = schema.get("items")
    inner = plain(items, root) if isinstance(items, dict) else {}
    return ("" if inner.get("type") == "array" else type_of(inner, root)[0]), True
