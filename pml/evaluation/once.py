"""Compute once what several methods make of the same question."""

import weakref
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

Q = TypeVar("Q")
R = TypeVar("R")


def once(compute: Callable[[Q], R]) -> Callable[[Q], R]:
    """Keep the result for as long as somebody holds the question.

    By the object, not by its value: questions hold whole data sets.  The result must not
    hold the question, or neither would ever go.
    """
    kept: dict[int, R] = {}

    @wraps(compute)
    def result(question: Q) -> R:
        key = id(question)
        if key not in kept:
            kept[key] = compute(question)
            weakref.finalize(question, kept.pop, key, None)
        return kept[key]

    return result
