"""When an intent alone may run a capability: only where it is clear which one is meant.

A ranking always has a first; that is no reason to run it.  Here two intents are compared as
wholes: what either says and the other does not counts against them.  A wrong run is worse
than a question, so all thresholds are set where wrong runs were rare on intents that PML had
not seen (docs/explanation/discovery.md has the measurements).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from pml.discovery.index import Index
from pml.discovery.words import Words, split
from pml.domain.capability import PastIntent

CLEAR_SIMILARITY = 0.9
"""From here on two intents may mean the same."""
CLEAR_MARGIN = 0.1
"""How far the next capability has to be behind."""
_COMPARED = 50
"""Past intents that are compared in full."""

_DIRECTIONS = frozenset("to into onto from out of".split())
_words = Words()


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A capability that an intent means."""

    capability_id: str
    confidence: float
    """In [0, 1]; 1 where the name or a past intent is the same."""
    why: str
    """For people."""


def clear_match(index: Index, intent: str) -> Match | None:
    """The capability that an intent clearly means; None where a person should choose."""
    named = index.capabilities_named(intent)
    if named:
        return _only(named, "this is its name")
    equal = [past.capability_id for past in index.past_equal(intent) if past.last_success]
    if equal:
        return _only(tuple(equal), "it ran for this intent before")
    best = _ranked(index, intent)
    if not best or best[0].confidence < CLEAR_SIMILARITY:
        return None
    if len(best) > 1 and best[0].confidence - best[1].confidence < CLEAR_MARGIN:
        return None
    return best[0]


def confidence(index: Index, intent: str) -> Match | None:
    """The capability that fits best and how well, clear or not; None where nothing is alike."""
    clear = clear_match(index, intent)
    if clear is not None:
        return clear
    best = _ranked(index, intent)
    return best[0] if best else None


def _only(ids: tuple[str, ...], why: str) -> Match | None:
    if len(ids) > 1:
        return None
    return Match(capability_id=ids[0], confidence=1.0, why=why)


def _ranked(index: Index, intent: str) -> list[Match]:
    """The best past intent of each capability, the most similar first."""
    best: dict[str, tuple[float, PastIntent]] = {}
    for past in index.past_alike(intent, _COMPARED):
        if past.last_success:
            alike = similarity(index, intent, past.intent)
            if past.capability_id not in best or alike > best[past.capability_id][0]:
                best[past.capability_id] = (alike, past)
    return [
        Match(capability_id=id_, confidence=alike, why=f'it ran for "{past.intent}"')
        for id_, (alike, past) in sorted(best.items(), key=lambda item: (-item[1][0], item[0]))
    ]


def similarity(index: Index, one: str, other: str) -> float:
    """Symmetric cosine of two intents, each distinct feature weighed by its idf."""
    ones, others = set(_features(one)), set(_features(other))
    if not ones or not others:
        return 0.0

    def weight(features: set[tuple[str, str]]) -> float:
        return sum(index.idf(word) ** 2 for _, word in features)

    return weight(ones & others) / math.sqrt(weight(ones) * weight(others))


def _features(intent: str) -> Iterator[tuple[str, str]]:
    """Words, and which of them a direction leads to or from: "csv to json" is not its reverse."""
    direction = ""
    for word in split(intent):
        if word in _DIRECTIONS:
            direction = word
        for form in _words(word):
            yield "", form
            if direction:
                yield direction, form
                direction = ""
