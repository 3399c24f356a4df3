"""Names that look like the one that was given, and the words in which they are offered."""

from collections.abc import Iterable
from difflib import get_close_matches

_CUTOFF = 0.4
"""Of difflib's ratio: lenient, because a wrong hint costs less than none."""
_HINTS = 3


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """At most three of ``known`` that look like ``name``, best first."""
    return get_close_matches(name, list(known), n=_HINTS, cutoff=_CUTOFF)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about ``name``; empty where nothing looks like it."""
    near = nearest(name, known)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
