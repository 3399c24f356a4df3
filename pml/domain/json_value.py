"""JSON values as JavaScript sees them: one kind of number, and objects without an order.  Pure."""

import json
from typing import Any

from pml.domain.record import JsonText


def parsed(text: JsonText) -> Any:  # noqa: ANN401  # JSON
    """The value; any JSON that JavaScript writes, halves of surrogate pairs too."""
    return json.loads(text)


def same_json(one: Any, other: Any) -> bool:  # noqa: ANN401  # JSON
    """Whether two values are the same to JavaScript.

    ``1`` and ``1.0`` are one number, as are two integers that a double cannot tell apart;
    ``true`` is not ``1``; the order of an object's keys does not count.
    """
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same_json, one, other))
    if _is_number(one) and _is_number(other):
        return _double(one) == _double(other)
    return type(one) is type(other) and bool(one == other)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _double(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")
