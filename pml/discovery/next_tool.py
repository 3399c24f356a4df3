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

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float32, Float64, Int64

from pml.discovery.bm25 import Bm25
from pml.discovery.tfidf import Frequencies, TfIdf
from pml.discovery.words import Tokenizer, Words
from pml.domain.capability import normalised_intent
from pml.learning.continuations import (
    WINDOW,
    Continuations,
    PastPlace,
    past_places,
    windowed,
)

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
_SERVER_ORDER = 2
_NEIGHBOURS = 20
"""How many of the nearest vote."""
_LEAST_CHANCE, _LEAST_SHARE = 1e-4, 0.01
"""Below these, chances and shares of votes are as good as none."""
_MANY = 1_000
"""Times from which a call counts as seen often."""
_LAST, _LAST_TWO = 1, 2
_Row = Float64[np.ndarray, " tools"]
_Numbers = Int64[np.ndarray, " some"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedTool:
    """A tool as evidence sees it."""

    id: str
    server: str
    text: str


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
        self._servers = _Servers(tools, sequences, origins)
        self._alike = _Alike(places, sequences, origins, self._number)
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
        voted = [self._alike.votes(context, intent.past) for context in _contexts(prefix)]
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


class _Servers:
    """Which server comes after which, and how much each of its tools is called."""

    def __init__(
        self,
        tools: Sequence[RankedTool],
        sequences: Sequence[Sequence[str]],
        origins: Sequence[int],
    ) -> None:
        number = {server: at for at, server in enumerate(dict.fromkeys(t.server for t in tools))}
        self._of_id = {tool.id: tool.server for tool in tools}
        self._of = np.array([number[tool.server] for tool in tools], dtype=np.int64)
        self._number = number
        by_server = [self._named(sequence) for sequence in sequences]
        places = past_places(by_server, origins, number)
        self._continuations = Continuations(places, len(number), order=_SERVER_ORDER)
        self._shares = self._shared(tools, sequences)

    def _named(self, sequence: Sequence[str]) -> tuple[str, ...]:
        return tuple(self._of_id.get(tool, tool) for tool in sequence)

    def _shared(self, tools: Sequence[RankedTool], sequences: Sequence[Sequence[str]]) -> _Row:
        """Of its server's calls, each tool's share; one that was never called counts as once."""
        place = {tool.id: at for at, tool in enumerate(tools)}
        calls = [place[tool] for sequence in sequences for tool in sequence if tool in place]
        counts = np.bincount(np.array(calls, dtype=np.int64), minlength=len(tools)) + 1.0
        totals = np.bincount(self._of, weights=counts, minlength=len(self._number))
        return np.asarray(counts / totals[self._of])

    def chances(self, prefix: Sequence[str]) -> _Row:
        """Of each tool: that its server comes next, times its share of it."""
        chances = self._continuations.chances(self._named(prefix))[-1]
        return np.asarray(chances[self._of] * self._shares)

    def shared_with(self, tool: str) -> _Row:
        """1 for the tools of the tool's server."""
        server = self._number.get(self._of_id.get(tool, ""), -1)
        return np.asarray(self._of == server, dtype=np.float64)


class _Alike:
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
            for context in _contexts(place.prefix):
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


def _contexts(prefix: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
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


def _logarithm(values: _Row, least: float) -> _Row:
    """Of values from 0 to 1, on a scale from 0 to 1; what is below ``least`` hardly counts."""
    return np.asarray(1 - np.log(least + (1 - least) * values) / np.log(least))
