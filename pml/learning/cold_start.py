"""Cold start: what rankers are worth on requests for servers that nobody has used (LE-5).

The gate's folds hold back intents and never tools: whatever they ask for has a history in their
views.  A server that was just added has none, and what learns from past runs prefers a tool that is
like one of its tools and has served.  So where a catalogue has such *new servers*, the used ones
are dealt into parts of at most their share, and some parts are lost, one at a time: nothing that is
known calls it, a ranker is trained on what is left, and is asked the requests that are not.  How it
does there says how it will do on the new servers.

How many such requests are to be expected cannot be counted, as none came yet.  It is taken that the
share of servers that are new would be met by chance in each call to a server: a request of so many
servers needs none of the new ones with the chance of as many draws.

Reference: A. Schein et al., "Methods and metrics for cold-start recommendations", SIGIR 2002,
section 5 (items whose whole history is left out of training).  Where we differ: servers and not
single tools are lost, as tools come by servers and those of one server resemble each other.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from jaxtyping import Float64, Int64

from pml.domain.capability import normalised_intent
from pml.learning.examples import Example
from pml.learning.gate import LEAST_INTENTS, ColdPair, Compared, GateVerdict, gate
from pml.models.inputs import RankingTask

MOST_PARTS = 3
"""That are lost: each takes a training."""
LEAST_NEW = 0.1
"""Share of a catalogue's tools on new servers below which requests for them decide nothing."""
MOST_ASKED = 1_000
"""Intents that are asked of a part at most."""
_NO_OTHERS: Mapping[str, Collection[str]] = MappingProxyType({})
_LEAST_USED = 2
"""Servers: one is lost, one is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostPart:
    """Examples, some of whose servers are lost.

    Invariant: no server that ``asked`` is chosen for is called by a source of ``known``, and no
    intent is in both.
    """

    known: tuple[Example, ...]
    asked: tuple[Example, ...]
    """Of tools and next tools: a capability with a lost tool is lost with it."""
    needing: Mapping[str, str]
    """By source of what is asked, a lost server that it needs; the same for one intent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdStart:
    """Parts of the used servers, each lost for itself; each is asked something, no intent twice."""

    parts: tuple[LostPart, ...]
    share: float
    """Of all requests to come, how many are expected to need a new server; above 0, below 1."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColdCases:
    """How a ranker and the fallbacks did on requests for lost servers: nDCG@10 by query."""

    model: Float64[np.ndarray, " queries"]
    fallbacks: Mapping[str, Float64[np.ndarray, " queries"]]
    groups: Int64[np.ndarray, " queries"]
    """Equal for queries of one intent."""
    servers: Int64[np.ndarray, " queries"]
    """Equal for queries that are asked for the same lost server; so for one intent, too."""
    share: float
    """Of all requests to come, how many are expected to be such."""

    @property
    def enough(self) -> bool:
        """Whether so many intents have an answer that something can be concluded."""
        return len(np.unique(self.groups[~np.isnan(self.model)])) >= LEAST_INTENTS

    def against(self, fallback: str) -> ColdPair:
        """The ranker and the fallback of this name."""
        return ColdPair(
            model=self.model,
            fallback=self.fallbacks[fallback],
            groups=self.groups,
            servers=self.servers,
            share=self.share,
        )


def cold_start(
    examples: Sequence[Example],
    servers: Mapping[str, str],
    *,
    seed: int,
    calls: Mapping[str, Collection[str]] = _NO_OTHERS,
) -> ColdStart | None:
    """Deal the used servers into parts, and say what is known and asked where one is lost.

    Args:
        examples: All that there are.
        servers: By id of a tool, its server; all tools of the catalogue.
        seed: Of who is in which part, and of which part is asked an intent that needs several.
        calls: By source, tools that its runs called, whether an example names them or not: a call
            that taught nothing is known all the same.

    Returns:
        None where less than `LEAST_NEW` of the tools are on servers that no example calls, or
        where only one server is used.
    """
    called = _called(examples, servers, calls)
    used = sorted(set().union(*called.values()))
    new = sum(server not in used for server in servers.values()) / max(len(servers), 1)
    if new < LEAST_NEW or len(used) < _LEAST_USED:
        return None
    rng = np.random.default_rng(seed)
    dealt = min(math.ceil(1 / new), len(used))
    part_of = {server: at % dealt for at, server in enumerate(shuffled(used, rng))}
    lost = range(min(dealt, MOST_PARTS))
    parts_of = {
        key: {part_of[one] for one in named}.intersection(lost) for key, named in called.items()
    }
    asking = _asking(examples, parts_of, rng)
    servers_of = {
        part: {key: {one for one in named if part_of[one] == part} for key, named in called.items()}
        for part in lost
    }
    parts = [_part(part, examples, servers_of[part], asking) for part in lost]
    return ColdStart(
        parts=tuple(part for part in parts if part.asked),
        share=float(np.mean([1 - (1 - new) ** len(named) for named in called.values()])),
    )


def verdict_on(
    compared: Compared, *, seed: int, cold: ColdCases | None, fallback: str
) -> GateVerdict:
    """Of both kinds of requests, those held back and those for lost servers if there are any.

    Args:
        compared: What was held back.
        seed: Of the gate.
        cold: What servers were lost for.
        fallback: Name of the fallback that the model was compared with.
    """
    return gate(
        compared.model,
        compared.fallback,
        compared.groups,
        seed=seed,
        cold=None if cold is None else cold.against(fallback),
    )


def merged(cases: Iterable[ColdCases]) -> ColdCases:
    """Of several parts, at least one, whose intents and servers differ."""
    held = list(cases)
    return ColdCases(
        model=np.concatenate([one.model for one in held]),
        fallbacks={
            name: np.concatenate([one.fallbacks[name] for one in held])
            for name in held[0].fallbacks
        },
        groups=apart([one.groups for one in held]),
        servers=apart([one.servers for one in held]),
        share=held[0].share,
    )


def apart(numbers: Iterable[Int64[np.ndarray, " _"]]) -> Int64[np.ndarray, " _"]:
    """One after the other, without a number in common."""
    found, first = [np.zeros(0, np.int64)], 0
    for each in numbers:
        found.append(each + first)
        first += int(each.max(initial=-1)) + 1
    return np.concatenate(found)


def shuffled(texts: Sequence[str], rng: np.random.Generator) -> list[str]:
    """In random order.  Not as an array of texts, where each takes as much as the longest."""
    return [texts[at] for at in rng.permutation(len(texts)).tolist()]


def _called(
    examples: Iterable[Example], servers: Mapping[str, str], calls: Mapping[str, Collection[str]]
) -> dict[str, set[str]]:
    """Servers that each source called; sources that called none are left out."""
    called: defaultdict[str, set[str]] = defaultdict(set)
    for one in examples:
        named = (*one.positives, *one.failed, *one.prefix)
        told = () if one.task is RankingTask.CAPABILITIES else named
        for tool in (*told, *calls.get(one.source, ())):
            if tool in servers:
                called[one.source].add(servers[tool])
    return dict(called)


def _asking(
    examples: Iterable[Example], parts_of: Mapping[str, set[int]], rng: np.random.Generator
) -> dict[str, int]:
    """The part of which each intent is asked: one of those that it needs."""
    needed: defaultdict[str, set[int]] = defaultdict(set)
    for one in examples:
        needed[normalised_intent(one.intent)] |= parts_of.get(one.source, set())
    drawn = {intent: int(rng.choice(sorted(parts))) for intent, parts in needed.items() if parts}
    kept: set[str] = set()
    for part in range(MOST_PARTS):
        own = [intent for intent, chosen in drawn.items() if chosen == part]
        kept.update(shuffled(own, rng)[:MOST_ASKED])
    return {intent: part for intent, part in drawn.items() if intent in kept}


def _part(
    part: int,
    examples: Iterable[Example],
    lost: Mapping[str, set[str]],
    asking: Mapping[str, int],
) -> LostPart:
    """``lost`` are the lost servers that each source called."""
    known, asked = [], []
    needed: defaultdict[str, set[str]] = defaultdict(set)
    for one in examples:
        intent, servers = normalised_intent(one.intent), lost.get(one.source, set())
        chosen = asking.get(intent) == part
        if servers and chosen and one.task is not RankingTask.CAPABILITIES:
            asked.append(one)
            needed[intent] |= servers
        elif not (servers or chosen):
            known.append(one)
    needing = {one.source: min(needed[normalised_intent(one.intent)]) for one in asked}
    return LostPart(known=tuple(known), asked=tuple(asked), needing=needing)
