"""What past runs and texts say of which tool comes next: the evidence of the next-tool ranking.

A place in a run is an intent and the tools called so far.  Each column says of every tool how
likely it comes next there, or something plain of it; `pml.models` weighs the columns:

- ``after ...``: how often the tool came after the same last calls (`pml.learning.continuations`).
- ``server``: the same of servers, shared out among a server's tools by how often each is called.
- ``alike ...``: what came next in the past runs whose intent is most like this one, among those
  that had made the same last call, the same last two, or all the same calls; or at all.
- ``cosine of texts``, ``bm25``: whether the tool's text fits the intent, and ``bm25 of the rest``
  those of its words that no tool called so far has.
- what the prefix itself tells: whether the tool was called already, just now, whether it followed
  an earlier call of the tool that was called just now, and whether it is on that tool's server.

Everything is counted and compared, with numpy; nothing is trained here.  So training and serving
run the same code, and a fold's evidence is that of an object made without the fold's runs.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float32, Float64

from pml.discovery.bm25 import Bm25
from pml.discovery.next_alike import AlikeRuns, contexts
from pml.discovery.next_servers import RankedTool, Servers
from pml.discovery.tfidf import Frequencies, TfIdf
from pml.discovery.words import Tokenizer, Words
from pml.domain.capability import normalised_intent
from pml.learning.continuations import WINDOW, Continuations, past_places, windowed

COLUMNS = (
    "after one call",
    "after two calls",
    "after three calls",
    "after five calls",
    "server",
    "alike after the last call",
    "alike after the last two",
    "alike after the same calls",
    "alike next",
    "alike",
    "cosine of texts",
    "bm25",
    "bm25 of the rest",
    "called already",
    "called just now",
    "followed before",
    "same server",
)
STATS = (
    "nearest intent",
    "nearest after the last call",
    "nearest after the same calls",
    "calls so far",
    "times of the last call",
    "longest context",
)
_ORDERS = (1, 2, 3, 5)
"""Of the columns ``after``."""
_LEAST_CHANCE, _LEAST_SHARE = 1e-4, 0.01
"""Below these, chances and shares of votes are as good as none."""
_MANY = 1_000
"""Times from which a call counts as seen often."""
_LAST = 1
_Row = Float64[np.ndarray, " tools"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something comes next."""

    prefix: tuple[str, ...]
    """Ids of the tools called so far, the earliest first; at least one."""
    intent: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Said:
    """Evidence of some places, and what is known of each place as a whole; all from 0 to 1."""

    evidence: Float32[np.ndarray, "places tools columns"]
    """Columns are `COLUMNS`."""
    stats: Float32[np.ndarray, "places stats"]
    """Columns are `STATS`."""


class NextToolEvidence:
    """What some past runs say.

    Args:
        tools: What is ranked.
        sequences: Ids of the tools that each past run called.
        intents: What each was for.
        words: Splits texts.
    """

    def __init__(
        self,
        tools: Sequence[RankedTool],
        sequences: Sequence[Sequence[str]],
        intents: Sequence[str],
        *,
        words: Tokenizer | None = None,
    ) -> None:
        self._words = words or Words()
        self._number = {tool.id: at for at, tool in enumerate(tools)}
        origin: dict[str, int] = {}
        origins = [origin.setdefault(normalised_intent(one), len(origin)) for one in intents]
        places = past_places(sequences, origins, self._number)
        self._continuations = Continuations(places, len(tools), order=max(_ORDERS))
        self._servers = Servers(tools, sequences, origins)
        self._alike = AlikeRuns(places, sequences, origins, self._number)
        self._past = TfIdf(Frequencies())
        for intent, row in origin.items():
            self._past.put(row, self._words(intent))
        self._texts = _ToolTexts([self._words(tool.text) for tool in tools])

    def of(self, places: Sequence[Place]) -> Said:
        """Evidence of every tool at each place; each place by itself."""
        evidence = np.zeros((len(places), len(self._number), len(COLUMNS)), np.float32)
        stats = np.zeros((len(places), len(STATS)), np.float32)
        intents = {one: self._read(one) for one in dict.fromkeys(p.intent for p in places)}
        for row, place in enumerate(places):
            columns, known = self._row(place, intents[place.intent])
            evidence[row] = np.stack(columns, axis=1)
            stats[row] = known
        return Said(evidence=evidence, stats=stats)

    def _read(self, intent: str) -> "_Intent":
        words = self._words(intent)
        past = self._past.cosines(words)
        return _Intent(
            words=words,
            past=past,
            next=self._alike.anywhere(past, self._alike.next),
            served=self._alike.anywhere(past, self._alike.served),
            cosine=self._texts.cosine(words),
            bm25=self._texts.bm25(words),
        )

    def _row(self, place: Place, intent: "_Intent") -> tuple[list[_Row], list[float]]:
        prefix = windowed(place.prefix)
        chances = self._continuations.chances(prefix)
        voted = [self._alike.votes(context, intent.past) for context in contexts(prefix)]
        called = [self._number[tool] for tool in place.prefix if tool in self._number]
        columns = [
            *(_logarithm(chances[order], _LEAST_CHANCE) for order in _ORDERS),
            _logarithm(self._servers.chances(prefix), _LEAST_CHANCE),
            *(_logarithm(votes, _LEAST_SHARE) for votes, _ in voted),
            _logarithm(intent.next, _LEAST_SHARE),
            _logarithm(intent.served, _LEAST_SHARE),
            _logarithm(intent.cosine, _LEAST_SHARE),
            intent.bm25,
            self._texts.bm25(self._texts.without(intent.words, called)),
            *self._of_prefix(place.prefix),
        ]
        times = self._continuations.times(prefix)
        known = [
            float(intent.past.max(initial=0)),
            voted[0][1],
            voted[-1][1],
            len(prefix) / WINDOW,
            min(1.0, float(np.log1p(times[_LAST]) / np.log(_MANY))),
            float(np.flatnonzero(times)[-1] / max(_ORDERS)) if times.any() else 0.0,
        ]
        return columns, known

    def _of_prefix(self, prefix: Sequence[str]) -> Iterator[_Row]:
        last = prefix[-1]
        followed = [after for before, after in pairwise(prefix) if before == last]
        for called in (prefix, (last,), followed):
            row = np.zeros(len(self._number))
            row[[self._number[tool] for tool in called if tool in self._number]] = 1
            yield row
        yield self._servers.shared_with(last)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Intent:
    """What an intent says, whatever was called."""

    words: list[str]
    past: Float64[np.ndarray, " origins"]
    """Cosines of the past intents."""
    next: _Row
    served: _Row
    cosine: _Row
    bm25: _Row


class _ToolTexts:
    """How well the tools' texts fit words."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        self._words = [frozenset(text) for text in texts]
        self._tfidf, self._bm25 = TfIdf(Frequencies()), Bm25()
        for row, text in enumerate(texts):
            self._tfidf.put(row, text)
            self._bm25.put(row, text)

    def cosine(self, words: Sequence[str]) -> _Row:
        """From 0 to 1."""
        return self._tfidf.cosines(words)

    def bm25(self, words: Sequence[str]) -> _Row:
        """As shares of the best."""
        scores = self._bm25.scores(words)
        best = scores.max(initial=0)
        return np.asarray(scores / best) if best > 0 else scores

    def without(self, words: Sequence[str], tools: Iterable[int]) -> list[str]:
        """The words that none of these tools has."""
        said = frozenset[str]().union(*(self._words[tool] for tool in tools))
        return [word for word in words if word not in said]


def _logarithm(values: _Row, least: float) -> _Row:
    """Of values from 0 to 1, on a scale from 0 to 1; what is below ``least`` hardly counts."""
    return np.asarray(1 - np.log(least + (1 - least) * values) / np.log(least))
