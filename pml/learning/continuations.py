"""What was called next in past runs, counted by what was called before.

A place in a run is its context: the tools called so far, of which the last few count.  The chance
of a tool after a context is PPM's (prediction by partial matching): its share there, and what the
context keeps back for tools never seen in it, the escape, is shared out by the next shorter one,
down to none at all.  Variant C: of a context seen ``n`` times with ``u`` kinds of tools after it, a
tool seen ``c`` times gets ``c / (n + u)`` and the escape is ``u / (n + u)``.

Paths through one workflow's graph begin alike.  What they share is one place, at which several
tools follow; a workflow with many paths would otherwise count as many workflows.

Reference:
    A. Moffat: Implementing the PPM data compression scheme, IEEE Transactions on Communications
    38(11), 1990, section II (method C).  We do not exclude from shorter contexts what a longer one
    has seen, and share the last escape out among all tools, so that every tool has a chance.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

WINDOW = 6
"""Calls before a place that are kept: further back says next to nothing."""
_START = ""
"""Stands before the first call: contexts know where a run begins.  No tool has this id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastPlace:
    """A place in a past run."""

    prefix: tuple[str, ...]
    """Ids of the last `WINDOW` calls, the earliest first; at least one."""
    following: tuple[int, ...]
    """Numbers of the tools that came next, each once, in order."""
    origin: int
    """Number of what was asked for; runs for one intent have the same."""


def past_places(
    sequences: Sequence[Sequence[str]], origins: Sequence[int], numbers: Mapping[str, int]
) -> tuple[PastPlace, ...]:
    """The places of some runs, in the order in which they first come.

    Args:
        sequences: Ids of the tools that each run called.
        origins: By run, the number of what was asked for.
        numbers: Of the tools; others are contexts only.

    Raises:
        ValueError: another number of origins than of sequences.
    """
    found: dict[tuple[int, tuple[str, ...]], set[int]] = {}
    for sequence, origin in zip(sequences, origins, strict=True):
        for at in range(1, len(sequence)):
            following = found.setdefault((origin, windowed(sequence[:at])), set())
            if sequence[at] in numbers:
                following.add(numbers[sequence[at]])
    return tuple(
        PastPlace(prefix=prefix, following=tuple(sorted(following)), origin=origin)
        for (origin, prefix), following in found.items()
        if following
    )


def windowed(prefix: Sequence[str]) -> tuple[str, ...]:
    """The last `WINDOW` calls."""
    return tuple(prefix[-WINDOW:])


def context_of(prefix: Sequence[str]) -> tuple[str, ...]:
    """All that counts of a prefix; with the start of the run where it goes back so far."""
    kept = windowed(prefix)
    return kept if len(kept) == WINDOW else (_START, *kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What has come after a context."""

    tools: Int64[np.ndarray, " kinds"]
    times: Float64[np.ndarray, " kinds"]


class Continuations:
    """Counts of what came after each context.

    Args:
        places: Of past runs.
        tools: How many there are; numbers are below.
        order: How many calls of a context count at most, the start of the run being one.

    Raises:
        ValueError: there is no tool, or the order is negative.
    """

    def __init__(self, places: Iterable[PastPlace], tools: int, *, order: int) -> None:
        if tools < 1 or order < 0:
            msg = f"expected at least one tool and an order from 0, got {tools} and {order}"
            raise ValueError(msg)
        self._tools, self.order = tools, order
        counted: dict[tuple[str, ...], Counter[int]] = defaultdict(Counter)
        for place in places:
            context = context_of(place.prefix)
            for length in range(min(order, len(context)) + 1):
                counted[context[len(context) - length :]].update(place.following)
        self._after = {context: _seen(counts) for context, counts in counted.items()}

    def chances(self, prefix: Sequence[str]) -> Float64[np.ndarray, "orders tools"]:
        """Chance of each tool to come next, by contexts of at most 0, 1, ... `order` calls.

        Every row is positive and sums to 1.
        """
        context = context_of(prefix)
        found = np.empty((self.order + 1, self._tools))
        chances = np.full(self._tools, 1 / self._tools)
        for length in range(self.order + 1):
            seen = self._after.get(context[len(context) - length :])
            if seen is not None and length <= len(context):
                total, kinds = seen.times.sum(), len(seen.tools)
                chances = chances * (kinds / (total + kinds))
                chances[seen.tools] += seen.times / (total + kinds)
            found[length] = chances
        return found

    def times(self, prefix: Sequence[str]) -> Float64[np.ndarray, " orders"]:
        """How often the contexts of 0, 1, ... `order` calls were seen; 0 where there is no such."""
        context = context_of(prefix)
        found = np.zeros(self.order + 1)
        for length in range(min(self.order, len(context)) + 1):
            seen = self._after.get(context[len(context) - length :])
            found[length] = 0.0 if seen is None else seen.times.sum()
        return found


def _seen(counts: Counter[int]) -> _Seen:
    return _Seen(
        tools=np.fromiter(counts, np.int64, len(counts)),
        times=np.fromiter(counts.values(), np.float64, len(counts)),
    )
