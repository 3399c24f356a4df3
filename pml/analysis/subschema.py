"""The schema of one part of a tool's input, so that it stands alone.

Local references are replaced by what they refer to; one that goes round in a circle, leads out
of the schema, or would make the copy too large, becomes the schema of anything.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

_MOST = 500
"""Parts of a copied schema; what lies beyond is left open."""
_DEEPEST = 40
"""Levels of a copied schema."""
_HOPS = 20
"""References that lead to references."""
_DROPPED = frozenset({"$schema", "$id", "$anchor", "$dynamicAnchor", "$defs", "definitions"})
_NOTES = frozenset({"title", "description", "default", "examples", "deprecated", "$comment"})
"""Keywords beside a reference that constrain nothing."""
_ALTERNATIVES = ("allOf", "anyOf", "oneOf")
_BY_NAME = frozenset({"properties", "patternProperties", "dependentSchemas"})
"""Keywords that hold schemas under names of the author's choice."""
_VALUES = frozenset({"enum", "const", "default", "examples", "required"})
"""Keywords that hold values and names, in which ``$ref`` means nothing."""


def subschema(root: Mapping[str, Any], place: Sequence[str | int]) -> dict[str, Any]:
    """The schema of what stands at ``place`` in a value of the schema ``root``.

    Empty, which allows anything, where the schema does not say.
    """
    part: Any = root
    for step in place:
        part = _step(root, part, step)
    if not isinstance(part, Mapping):
        return {}
    found = _Copy(root).schema(part, ())
    dialect = root.get("$schema")
    if isinstance(found, dict) and found and isinstance(dialect, str):
        return {"$schema": dialect, **found}
    return found if isinstance(found, dict) else {}


def _step(root: Mapping[str, Any], part: object, step: str | int) -> object:
    """One step into a schema, by the first of its alternatives that says; None where none does."""
    pending, seen = [part], set[int]()
    while pending:
        part = _resolved(root, pending.pop())
        if not isinstance(part, Mapping) or id(part) in seen:
            continue
        seen.add(id(part))
        found = _member(part, step) if isinstance(step, str) else _item(part, step)
        if found is not None:
            return found
        options = [o for keyword in _ALTERNATIVES for o in _listed(part.get(keyword))]
        pending.extend(reversed(options))
    return None


def _member(part: Mapping[str, Any], name: str) -> object:
    known = part.get("properties")
    if isinstance(known, Mapping) and name in known:
        return known[name]
    others = part.get("additionalProperties")
    return others if isinstance(others, Mapping) else None


def _item(part: Mapping[str, Any], index: int) -> object:
    items = part.get("items")
    firsts = _listed(part.get("prefixItems")) or _listed(items)
    if index < len(firsts):
        return firsts[index]
    others = part.get("additionalItems") if isinstance(items, list) else items
    return others if isinstance(others, Mapping) else None


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _resolved(root: Mapping[str, Any], part: object) -> object:
    """What a reference, if it is one, leads to in the end; None where to nothing."""
    for _ in range(_HOPS):
        if not isinstance(part, Mapping) or not isinstance(part.get("$ref"), str):
            return part
        part = target(root, part["$ref"])
    return None


def target(root: Mapping[str, Any], reference: str) -> object:
    """What a reference like ``#/$defs/Name`` leads to; None where it leads elsewhere."""
    if reference != "#" and not reference.startswith("#/"):
        return None
    part: Any = root
    for step in unquote(reference[2:]).split("/") if reference != "#" else ():
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(part, list) and key.isdecimal() and int(key) < len(part):
            part = part[int(key)]
        elif isinstance(part, Mapping) and key in part:
            part = part[key]
        else:
            return None
    return part


class _Copy:
    """Copies schemas of one root; ``opened`` are the references that lead to the current one."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._left = _MOST
        self._depth = 0

    def schema(self, part: object, opened: tuple[str, ...]) -> Any:  # noqa: ANN401  # any JSON
        if isinstance(part, list):
            return [self.schema(item, opened) for item in part]
        if not isinstance(part, Mapping):
            return part
        self._left -= 1
        if self._left < 0 or self._depth >= _DEEPEST:
            return {}
        self._depth += 1
        reference = part.get("$ref")
        if isinstance(reference, str):
            made = self._reference(part, reference, opened)
        else:
            made = self._keywords(part, opened)
        self._depth -= 1
        return made

    def _keywords(self, part: Mapping[str, Any], opened: tuple[str, ...]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, value in part.items():
            if key in _DROPPED or key.startswith("$dynamic"):
                continue
            if key in _BY_NAME and isinstance(value, Mapping):
                made[key] = {name: self.schema(inner, opened) for name, inner in value.items()}
            else:
                made[key] = value if key in _VALUES else self.schema(value, opened)
        return made

    def _reference(
        self, part: Mapping[str, Any], reference: str, opened: tuple[str, ...]
    ) -> dict[str, Any]:
        found = None if reference in opened else target(self._root, reference)
        if not isinstance(found, Mapping):
            return {}
        made: dict[str, Any] = self.schema(found, (*opened, reference))
        beside = self._keywords({k: v for k, v in part.items() if k != "$ref"}, opened)
        if set(beside) <= _NOTES:
            return {**made, **beside}
        return {"allOf": [made, beside]}
