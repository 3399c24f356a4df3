"""Names of fields and tools as tokens: ``userIds``, ``user_id`` and ``USER-ID`` are one name."""

import re
from functools import lru_cache

from pml.analysis.fields.lexicon import (
    CARRIERS,
    COMPOUNDS,
    GENERIC,
    PREPOSITIONS,
    SHORT_FORMS,
    VERBS,
)

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W\d_]+|\d+")
_LEAST_PLURAL = 4
"""Letters; shorter words are no plurals ("gas", "has"), nor is "ties" that of "ty"."""
_PLURAL_KEPT = ("ss", "us", "is", "news", "series", "species")


@lru_cache(maxsize=65_536)
def tokens(name: str) -> tuple[str, ...]:
    """The words of a name in small letters, singular, short forms written out.

    Numbers are dropped unless the name has nothing else.
    """
    words = [word.lower() for word in _WORD.findall(_CAMEL.sub(" ", name))]
    letters = [word for word in words if not word.isdigit()]
    found: list[str] = []
    for part in (part for word in letters or words for part in _whole(word)):
        joined = COMPOUNDS.get((found[-1], part)) if found else None
        if joined is None:
            found.append(part)
        else:
            found[-1] = joined
    return tuple(found)


def _whole(word: str) -> tuple[str, ...]:
    found = SHORT_FORMS.get(word)
    if found is None:
        single = singular(word)
        found = SHORT_FORMS.get(single, (single,))
    return found


def singular(word: str) -> str:
    """The singular of an English plural; other words as they are."""
    if word == "ids":
        return "id"
    if len(word) < _LEAST_PLURAL or not word.endswith("s") or word.endswith(_PLURAL_KEPT):
        return word
    if word.endswith("ies") and len(word) > _LEAST_PLURAL:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1]


@lru_cache(maxsize=262_144)
def qualified(words: tuple[str, ...], context: tuple[str, ...]) -> tuple[str, ...]:
    """The name with the nouns around it, where it alone says nothing: the ``id`` of a user."""
    if all(word in GENERIC for word in words):
        return (*(w for w in context if w not in words), *words)
    return words


class Phrase:
    """What the name of a tool says: what it does, and to what.

    ``create_user`` makes a user; ``get_population_by_city`` reads a population.
    """

    __slots__ = ("nouns", "verb")

    def __init__(self, name: str) -> None:
        words = tokens(name)
        at = next((n for n, word in enumerate(words) if word in VERBS), None)
        self.verb = "" if at is None else VERBS[words[at]]
        """Class of its verb (`lexicon.VERBS`); empty where none is known."""
        start = 0 if at is None else at + 1
        rest = _until_preposition(words[start:]) or _until_preposition(words[:at])
        self.nouns = tuple(word for word in rest if word not in CARRIERS) or tuple(rest)
        """The noun phrase, without words like ``details``; its last word is the head."""


def _until_preposition(words: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    for word in words:
        if word in PREPOSITIONS:
            break
        found.append(word)
    return found
