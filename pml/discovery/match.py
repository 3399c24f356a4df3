"""When an intent alone may run a capability: only where it is clear which one is meant.

A ranking always has a first; that is no reason to run it.  Nobody looks between the intent
and the run, and what the intent says of arguments does not reach the program, so a wrong
run is worse than a question.  Three rules, in this order: the intent is the capability's name;
it is a past intent, with which it has succeeded, of that one capability; or it consists
of the same phrases as such a past intent, and no other capability comes near.

`pml.discovery.phrases` says what a phrase is and what does not count in it.  Looser rules
were measured and turned down: docs/explanation/discovery.md.
"""

import math
from dataclasses import dataclass

from pml.discovery.index import Index
from pml.discovery.phrases import features, phrases
from pml.domain.capability import PastIntent

CLEAR_MARGIN = 0.1
"""How far the similarity of the next capability has to be below 1."""
COMPARED = 50
"""Past intents that are compared as wholes: the nearest, those that tie with the last too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A capability that an intent means."""

    capability_id: str
    confidence: float
    """In [0, 1]; 1 where the name or a past intent is the same."""
    why: str
    """For people."""
    past: PastIntent | None
    """The past intent that it equals or is alike; None where the name is the same."""


def clear_match(index: Index, intent: str) -> Match | None:
    """The capability that an intent clearly means; None where somebody should choose."""
    named = index.capabilities_named(intent)
    if named:
        return _named(named[0]) if len(named) == 1 else None
    equal = index.past_equal(intent)
    if equal:
        succeeded = [past for past in equal if past.success_count]
        return _same(succeeded[0]) if len(succeeded) == 1 else None
    said, best = phrases(intent), _ranked(index, intent)
    if not said or not best or phrases(best[0].past.intent) != said:
        return None
    behind = 1.0 - best[1].confidence if len(best) > 1 else 1.0
    return _match(best[0]) if behind >= CLEAR_MARGIN else None


def confidence(index: Index, intent: str) -> Match | None:
    """The capability that fits best and how well, clear or not; None where nothing is alike."""
    clear = clear_match(index, intent)
    if clear is not None:
        return clear
    best = _ranked(index, intent)
    return _match(best[0]) if best else None


def similarity(index: Index, one: str, other: str) -> float:
    """Symmetric cosine of two intents over distinct words with their prepositions, in [0, 1].

    What both say weighs its squared idf; what only one says, the highest there is, so that a
    common verb that differs weighs as much as a rare one.
    """
    ones, others = features(one), features(other)
    shared = sum(index.idf(word) ** 2 for _, word in ones & others)
    if not shared:
        return 0.0
    unseen = index.idf("") ** 2
    return shared / math.sqrt(
        (shared + unseen * len(ones - others)) * (shared + unseen * len(others - ones))
    )


@dataclass(frozen=True, slots=True)
class _Alike:
    """A past intent, and how similar it is."""

    past: PastIntent
    confidence: float


def _ranked(index: Index, intent: str) -> list[_Alike]:
    """Of each capability the past intent most like it that ever succeeded, the best first.

    Of several that are as similar, one with the same phrases, then the latest.
    """
    best: dict[str, tuple[bool, float, int, _Alike]] = {}
    said = phrases(intent)
    for past in index.past_alike(intent, COMPARED):
        if past.success_count:
            alike = similarity(index, intent, past.intent)
            same = math.isclose(alike, 1.0) and phrases(past.intent) == said
            found = (same, round(alike, 9), past.last_at_ms, _Alike(past, alike))
            if past.capability_id not in best or found[:3] > best[past.capability_id][:3]:
                best[past.capability_id] = found
    ranked = [found[-1] for found in best.values()]
    return sorted(ranked, key=lambda found: (-found.confidence, found.past.capability_id))


def _named(capability_id: str) -> Match:
    return Match(capability_id=capability_id, confidence=1.0, why="this is its name", past=None)


def _same(past: PastIntent) -> Match:
    return Match(
        capability_id=past.capability_id,
        confidence=1.0,
        why="it ran for this intent before",
        past=past,
    )


def _match(found: _Alike) -> Match:
    return Match(
        capability_id=found.past.capability_id,
        confidence=found.confidence,
        why=f'it ran for "{found.past.intent}" ({found.confidence:.2f} alike)',
        past=found.past,
    )
