"""Several JSON Schemas as one: references followed, ``allOf`` folded in.  Pure."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

_HOPS = 50
"""References that lead to references."""


def resolved(root: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema without ``$ref`` and ``allOf`` at its top; None where nothing can satisfy it.

    Members that cannot be folded stay as the later one says, so whoever makes values of the
    result still has to check them against the original.
    """
    found: dict[str, Any] = {}
    pending: list[object] = [schema]
    for _ in range(_HOPS):
        if not pending:
            return found
        part = pending.pop()
        if part is False:
            return None
        if not isinstance(part, Mapping):
            continue
        rest = {key: value for key, value in part.items() if key not in ("$ref", "allOf")}
        found = merged(found, rest)
        inner = part.get("allOf")
        pending += reversed(inner) if isinstance(inner, list) else []
        if isinstance(reference := part.get("$ref"), str):
            pending.append(_target(root, reference))
    return None  # it goes round in a circle


def _target(root: Mapping[str, Any], reference: str) -> object:
    """What a local reference leads to; the schema of nothing where it leads nowhere."""
    found: object = root
    if not reference.startswith("#"):
        return False
    for step in reference[1:].split("/")[1:]:
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and key in found:
            found = found[key]
        elif isinstance(found, list) and key.isdigit() and int(key) < len(found):
            found = found[int(key)]
        else:
            return False
    return found


def merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """One schema for the values that satisfy both, as far as keywords can say it."""
    found = dict(first)
    for key, value in second.items():
        if key not in found or found[key] == value:
            found[key] = value
        else:
            found[key] = _FOLDS.get(key, _both)(found[key], value)
    return found


def _both(first: Any, second: Any) -> Any:  # noqa: ANN401  # JSON
    """Both of two schemas; of two other things the second."""
    schemas = isinstance(first, Mapping) and isinstance(second, Mapping)
    return {"allOf": [first, second]} if schemas else second


def _members(first: Any, second: Any) -> Any:  # noqa: ANN401  # JSON
    if not (isinstance(first, Mapping) and isinstance(second, Mapping)):
        return second
    common = {name: _both(first[name], second[name]) for name in first if name in second}
    return {**first, **second, **common}


def _union(first: Any, second: Any) -> Any:  # noqa: ANN401  # JSON
    return [*first, *(one for one in second if one not in first)]


def _common(first: Any, second: Any) -> Any:  # noqa: ANN401  # JSON
    ones, others = (one if isinstance(one, list) else [one] for one in (first, second))
    numbers = "number" in others and "integer" in ones
    return [one for one in ones if one in others or (numbers and one == "integer")] or (
        ["integer"] if "integer" in others and "number" in ones else []
    )


_FOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "properties": _members,
    "patternProperties": _members,
    "required": _union,
    "type": _common,
    "enum": _common,
    "minimum": max,
    "exclusiveMinimum": max,
    "minLength": max,
    "minItems": max,
    "minProperties": max,
    "maximum": min,
    "exclusiveMaximum": min,
    "maxLength": min,
    "maxItems": min,
    "maxProperties": min,
    "additionalProperties": lambda first, second: (
        False if False in (first, second) else _both(first, second)
    ),
    "anyOf": lambda first, second: [{"allOf": [a, b]} for a in first for b in second],
    "oneOf": lambda first, second: [{"allOf": [a, b]} for a in first for b in second],
}
"""How two values of a keyword become one."""
