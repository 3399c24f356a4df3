"""When an intent alone may run a capability: only where it is clear which one is meant.

A ranking always has a first; that is no reason to run it.  Nobody looks between the intent
and the run, and what the intent says of arguments does not reach the program, so a wrong
run is worse than a question.  Three rules, in this order: the intent is the capability's name;
it is a past intent, whose latest run was a success, of that one capability; or it says the
same as such a past intent in other words.

For the last, two intents are compared as wholes.  What only one of them says counts as if it
had never been seen, so a common verb that differs weighs as much as a rare one; where each
says something that the other does not, or they differ in a number or in a word that turns
the meaning, no similarity is enough.  docs/explanation/discovery.md has the measurements.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from pml.discovery.index import Index
from pml.discovery.words import STOP_WORDS, Words, split
from pml.domain.capability import PastIntent

CLEAR_SIMILARITY = 0.9
"""From here on an intent may say the same as a past one: a word more or less, in a long one."""
CLEAR_MARGIN = 0.1
"""How far the next capability has to be behind."""
COMPARED = 50
"""Past intents that are compared as wholes: the nearest, those that tie with the last too."""

_TURNING = """
no not never none nor neither without except excluding unless don doesn cannot instead only all
every but before after undo stop delete remove drop overwrite cancel send publish pay
"""
"""Words that make another intent of one, or that nobody wants to happen unasked."""
_DIRECTIONS = frozenset({"to", "into", "onto", "from", "out", "by"})
"""Common words whose place matters: "csv to json" is not "json to csv"."""
_FILLERS = frozenset({"please", "kindly", "just", "now", "again", "hi", "hello", "hey", "thanks"})
_words = Words(stop_words=STOP_WORDS | _FILLERS)
_turning_words = frozenset(_words(_TURNING))

Feature = tuple[str, str]
"""A direction or nothing, and a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A capability that an intent means."""

    capability_id: str
    confidence: float
    """In [0, 1]; 1 where the name or a past intent is the same."""
    why: str
    """For people."""


def clear_match(index: Index, intent: str) -> Match | None:
    """The capability that an intent clearly means; None where somebody should choose."""
    named = index.capabilities_named(intent)
    if named:
        return _only(named, "this is its name")
    equal = index.past_equal(intent)
    if equal:
        succeeded = tuple(past.capability_id for past in equal if past.last_success)
        return _only(succeeded, "it ran for this intent before")
    best = _ranked(index, intent)
    if not best or best[0][0].confidence < CLEAR_SIMILARITY:
        return None
    match, past = best[0]
    behind = match.confidence - best[1][0].confidence if len(best) > 1 else 1.0
    return match if behind >= CLEAR_MARGIN and may_mean_the_same(intent, past.intent) else None


def confidence(index: Index, intent: str) -> Match | None:
    """The capability that fits best and how well, clear or not; None where nothing is alike."""
    clear = clear_match(index, intent)
    if clear is not None:
        return clear
    best = _ranked(index, intent)
    return best[0][0] if best else None


def similarity(index: Index, one: str, other: str) -> float:
    """Symmetric cosine of two intents over distinct features, in [0, 1]; 1: the same features.

    What both say weighs its squared idf, what one says the highest there is.
    """
    ones, others = features(one), features(other)
    shared = sum(index.idf(word) ** 2 for _, word in ones & others)
    if not shared:
        return 0.0
    unseen = index.idf("") ** 2
    return shared / math.sqrt(
        (shared + unseen * len(ones - others)) * (shared + unseen * len(others - ones))
    )


def may_mean_the_same(one: str, other: str) -> bool:
    """Whether nothing in the difference of two intents speaks against it."""
    ones, others = features(one), features(other)
    if ones - others and others - ones:
        return False
    differing = {word for _, word in ones ^ others}
    return not differing & _turning_words and not any(
        character.isdigit() for word in differing for character in word
    )


def features(intent: str) -> frozenset[Feature]:
    """What an intent says: its words, and those that a direction leads to once more."""
    return frozenset(_features(intent))


def _features(intent: str) -> Iterator[Feature]:
    direction = ""
    for word in split(intent):
        if word in _DIRECTIONS:
            direction = word
        for form in _words(word):
            yield "", form
            if direction:
                yield direction, form
            direction = ""


def _only(ids: tuple[str, ...], why: str) -> Match | None:
    if len(ids) != 1:
        return None
    return Match(capability_id=ids[0], confidence=1.0, why=why)


def _ranked(index: Index, intent: str) -> list[tuple[Match, PastIntent]]:
    """Each capability with its most similar past intent that succeeded last, the best first."""
    best: dict[str, tuple[float, PastIntent]] = {}
    for past in index.past_alike(intent, COMPARED):
        if past.last_success:
            alike = similarity(index, intent, past.intent)
            if past.capability_id not in best or alike > best[past.capability_id][0]:
                best[past.capability_id] = (alike, past)
    ranked = sorted(best.items(), key=lambda item: (-item[1][0], item[0]))
    return [(_alike(id_, alike, past), past) for id_, (alike, past) in ranked]


def _alike(capability_id: str, alike: float, past: PastIntent) -> Match:
    why = f'it ran for "{past.intent}" ({alike:.2f} alike)'
    return Match(capability_id=capability_id, confidence=alike, why=why)
