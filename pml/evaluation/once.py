"""Compute once what several methods make of the same question, or of questions that share parts."""

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

    def itself(question: Q) -> tuple[object, ...]:
        return (question,)

    return once_for(itself)(compute)


def once_for(
    parts: Callable[[Q], tuple[object, ...]],
) -> Callable[[Callable[[Q], R]], Callable[[Q], R]]:
    """As `once`, for all questions whose parts are the same objects.

    The result must follow from these parts alone.  It is kept for as long as somebody holds one of
    the questions that were asked; parts live at least as long as their question.
    """

    def decorated(compute: Callable[[Q], R]) -> Callable[[Q], R]:
        kept: dict[tuple[int, ...], R] = {}
        holders: dict[tuple[int, ...], set[int]] = {}

        def release(key: tuple[int, ...], holder: int) -> None:
            holders[key].remove(holder)
            if not holders[key]:
                del holders[key]
                kept.pop(key, None)

        @wraps(compute)
        def result(question: Q) -> R:
            key = tuple(map(id, parts(question)))
            known = holders.setdefault(key, set())
            if id(question) not in known:
                known.add(id(question))
                weakref.finalize(question, release, key, id(question))
            if key not in kept:
                kept[key] = compute(question)
            return kept[key]

        return result

    return decorated
