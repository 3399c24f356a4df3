"""When an intent alone may run a capability: only where it is clear which one is meant.

A ranking always has a first; that is no reason to run it.  Nobody looks between the intent
and the run, and what the intent says of arguments does not reach the program, so a wrong
run is worse than a question.  Three rules, in this order: the intent is the capability's name;
it is a past intent, whose latest run was a success, of that one capability; or it consists
of the same phrases as such a past intent, and no other capability comes near.

A phrase is what stands between prepositions and commas.  Phrases may move, words inside one
may not ("in the folder, count lines" is "count lines in the folder"; "csv to json" is not
"json to csv"); inflections, articles and politeness do not count; every other word that is
more, less or different makes it a question.  Looser rules were measured and turned down:
docs/explanation/discovery.md.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pml.discovery.index import Index
from pml.discovery.words import STOP_WORDS, Words, split
from pml.domain.capability import PastIntent

CLEAR_MARGIN = 0.1
"""How far the similarity of the next capability has to be below 1."""
COMPARED = 50
"""Past intents that are compared as wholes: the nearest, those that tie with the last too."""

_PREPOSITION_LIST = """
of in on at by from to into onto out off with without for as about before after than then until
over under above below between during per via through since
"""
_PREPOSITIONS = frozenset(_PREPOSITION_LIST.split())
_FILLERS = frozenset({"please", "kindly", "just", "now", "again", "hi", "hello", "hey", "thanks"})
_MEANT = frozenset({"if", "or", "and"})
"""Common words without which an intent is another one."""
_CONTRACTION = re.compile(r"['\u2019](?:s|d|m|ll|re|ve)\b")
_PAUSE = re.compile(r"[,;:.!?]+(?:\s|$)")
_words = Words(stop_words=(STOP_WORDS | _FILLERS) - _MEANT)

Phrase = tuple[str, ...]
"""A preposition or nothing, and the words that follow it."""


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
    said, best = phrases(intent), _ranked(index, intent)
    if not said or not best or phrases(best[0][1].intent) != said:
        return None
    behind = 1.0 - best[1][0].confidence if len(best) > 1 else 1.0
    return best[0][0] if behind >= CLEAR_MARGIN else None


def confidence(index: Index, intent: str) -> Match | None:
    """The capability that fits best and how well, clear or not; None where nothing is alike."""
    clear = clear_match(index, intent)
    if clear is not None:
        return clear
    best = _ranked(index, intent)
    return best[0][0] if best else None


def similarity(index: Index, one: str, other: str) -> float:
    """Symmetric cosine of two intents over distinct words with their prepositions, in [0, 1].

    What both say weighs its squared idf; what only one says, the highest there is, so that a
    common verb that differs weighs as much as a rare one.
    """
    ones, others = _features(one), _features(other)
    shared = sum(index.idf(word) ** 2 for _, word in ones & others)
    if not shared:
        return 0.0
    unseen = index.idf("") ** 2
    return shared / math.sqrt(
        (shared + unseen * len(ones - others)) * (shared + unseen * len(others - ones))
    )


def phrases(intent: str) -> list[Phrase]:
    """The phrases of an intent, sorted; none for one that says nothing."""
    return sorted(_phrases(intent))


def _phrases(intent: str) -> Iterator[Phrase]:
    for part in _PAUSE.split(_CONTRACTION.sub(" ", intent)):
        phrase = [""]
        for word in split(part):
            if word in _PREPOSITIONS:
                yield from _said(phrase)
                phrase = [word]
            else:
                phrase += _words(word)
        yield from _said(phrase)


def _said(phrase: list[str]) -> Iterator[Phrase]:
    """The phrase, unless it is empty; a preposition alone counts."""
    if phrase != [""]:
        yield tuple(phrase)


def _features(intent: str) -> frozenset[tuple[str, str]]:
    """Words, each with the preposition of its phrase."""
    return frozenset(
        (phrase[0], word) for phrase in _phrases(intent) for word in phrase[1:] or phrase
    )


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
