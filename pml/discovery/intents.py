"""Past intents: what was asked before and which capability did it.

The nearest of them vote, each with the square of its cosine, for its capability and for the
tools of that (k nearest neighbours; on this project's public sets the strongest simple
method for tools, and level with BM25 over past intents for capabilities).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from pml.discovery.tfidf import Frequencies, TfIdf
from pml.discovery.words import Tokenizer
from pml.domain.capability import PastIntent, normalised_intent

NEIGHBOURS = 20
"""How many of the nearest vote, as in the baselines; those that tie with the last too."""

LEAST_COSINE = 0.3
"""Less alike than this, a past intent says nothing: over tools that were never used, votes of
strangers halved the share of first hits (docs/explanation/discovery.md)."""


class Neighbour(NamedTuple):
    """A past intent that is like the one that is asked."""

    owner: int
    """The capability that it ran, as a slot of the index."""
    past: PastIntent
    cosine: float


class PastIntents:
    """Past intents by owner.

    Invariant: the texts compared are those of the past intents of the owners that are there,
    one row for each owner and text.
    """

    def __init__(self, tokenizer: Tokenizer, frequencies: Frequencies) -> None:
        self._tokenizer = tokenizer
        self._similar = TfIdf(frequencies)
        self._rows: dict[int, dict[str, int]] = {}
        """Row by owner and text."""
        self._past: list[tuple[int, PastIntent] | None] = []
        self._free: list[int] = []
        self._exact: defaultdict[str, set[int]] = defaultdict(set)
        """Rows by normalised intent."""

    def put(self, owner: int, intents: Sequence[PastIntent]) -> None:
        """Make these the past intents of an owner; rows whose text stays are not touched."""
        rows = self._rows.setdefault(owner, {})
        texts = {past.intent: past for past in intents}
        for text in [text for text in rows if text not in texts]:
            self._drop(rows.pop(text))
        for text, past in texts.items():
            row = rows.get(text)
            if row is None:
                row = rows[text] = self._new_row()
                self._similar.put(row, self._tokenizer(text))
                self._exact[normalised_intent(text)].add(row)
            self._past[row] = (owner, past)
        if not rows:
            del self._rows[owner]

    def equal(self, intent: str) -> list[Neighbour]:
        """The past intents that count as the same, in no order."""
        return self._neighbours(
            (row, 1.0) for row in self._exact.get(normalised_intent(intent), ())
        )

    def nearest(
        self,
        words: Sequence[str],
        *,
        limit: int = NEIGHBOURS,
        least_cosine: float = LEAST_COSINE,
    ) -> list[Neighbour]:
        """The most similar ones that ever succeeded, in no order; fewer where few are alike.

        With those that tie with the last, so that the answer does not depend on history.
        """
        cosines = self._similar.cosines(words)
        named = np.flatnonzero(cosines >= least_cosine)
        if len(named) > limit:
            best = cosines[named]
            named = named[best >= np.partition(best, len(best) - limit)[len(best) - limit]]
        found = self._neighbours(zip(named.tolist(), cosines[named].tolist(), strict=True))
        return [neighbour for neighbour in found if neighbour.past.success_count]

    def _neighbours(self, rows: Iterable[tuple[int, float]]) -> list[Neighbour]:
        held = [(self._past[row], cosine) for row, cosine in rows]
        return [
            Neighbour(owner=entry[0], past=entry[1], cosine=cosine)
            for entry, cosine in held
            if entry is not None
        ]

    def _new_row(self) -> int:
        if self._free:
            return self._free.pop()
        self._past.append(None)
        return len(self._past) - 1

    def _drop(self, row: int) -> None:
        held = self._past[row]
        assert held is not None
        key = normalised_intent(held[1].intent)
        self._exact[key].discard(row)
        if not self._exact[key]:
            del self._exact[key]
        self._similar.remove(row)
        self._past[row] = None
        self._free.append(row)
