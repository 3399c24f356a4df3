"""What came next in past runs for similar intents: evidence for `pml.discovery.next_tool`.

Neighbours are looked for among the places with the same last call, the same last two, or all the
same calls, so that an intent is only compared where it can say something.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from jaxtyping import Float64, Int64

from pml.learning.continuations import PastPlace

_NEIGHBOURS = 20
"""How many of the nearest vote."""
_LAST, _LAST_TWO = 1, 2
_Row = Float64[np.ndarray, " tools"]
_Numbers = Int64[np.ndarray, " some"]


class AlikeRuns:
    """What came next in the runs for the most similar intents."""

    def __init__(
        self,
        places: Sequence[PastPlace],
        sequences: Sequence[Sequence[str]],
        origins: Sequence[int],
        number: Mapping[str, int],
    ) -> None:
        self._tools = len(number)
        self._following = [np.array(place.following, dtype=np.int64) for place in places]
        self._origins = np.array([place.origin for place in places], dtype=np.int64)
        by_context: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for at, place in enumerate(places):
            for context in contexts(place.prefix):
                by_context[context].append(at)
        self._by_context = {
            context: np.array(ats, dtype=np.int64) for context, ats in by_context.items()
        }
        came, called = defaultdict[int, set[int]](set), defaultdict[int, set[int]](set)
        for place in places:
            came[place.origin].update(place.following)
        for sequence, origin in zip(sequences, origins, strict=True):
            called[origin].update(number[tool] for tool in sequence if tool in number)
        self.next, self.served = _arrays(came), _arrays(called)

    def votes(
        self, context: tuple[str, ...], cosines: Float64[np.ndarray, " origins"]
    ) -> tuple[_Row, float]:
        """Shares of the votes at the nearest places with a context; and how near the nearest is."""
        places = self._by_context.get(context, np.zeros(0, dtype=np.int64))
        found = np.zeros(self._tools)
        near = _nearest(cosines[self._origins[places]])
        for place, cosine in near:
            following = self._following[places[place]]
            found[following] += cosine**2 / len(following)
        return _shares(found), max((cosine for _, cosine in near), default=0.0)

    def anywhere(
        self, cosines: Float64[np.ndarray, " origins"], tools: Mapping[int, _Numbers]
    ) -> _Row:
        """Shares of the votes of the nearest intents, for these tools of theirs."""
        found = np.zeros(self._tools)
        for origin, cosine in _nearest(cosines):
            if origin in tools:
                found[tools[origin]] += cosine**2
        return _shares(found)


def _arrays(tools: Mapping[int, set[int]]) -> dict[int, _Numbers]:
    return {origin: np.array(sorted(which), dtype=np.int64) for origin, which in tools.items()}


def contexts(prefix: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """By which the nearest are looked for: the last call, the last two, all."""
    yield ("last", *prefix[-_LAST:])
    yield ("last two", *prefix[-_LAST_TWO:])
    yield ("all", *prefix)


def _nearest(cosines: Float64[np.ndarray, " _"]) -> list[tuple[int, float]]:
    """Where the largest positive cosines are; of equal ones the first."""
    if len(cosines) > _NEIGHBOURS:
        least = np.partition(cosines, -_NEIGHBOURS)[-_NEIGHBOURS]
        among = np.flatnonzero(cosines >= least)
    else:
        among = np.arange(len(cosines))
    first: Int64[np.ndarray, " near"] = among[np.argsort(-cosines[among], kind="stable")]
    return [(int(at), float(cosines[at])) for at in first[:_NEIGHBOURS] if cosines[at] > 0]


def _shares(votes: _Row) -> _Row:
    total = votes.sum()
    return np.asarray(votes / total) if total > 0 else votes
