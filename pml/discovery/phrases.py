"""The phrases of an intent: what has to be the same for two intents to be the same wish.

A phrase is what stands between prepositions, commas and round brackets.  Phrases may move
where it stays clear what they belong to, words inside one may not ("in the folder, count
lines" is "count lines in the folder"; "csv to json" is not "json to csv").  Of words, which
are letters only, inflections and case do not count, and articles and politeness are left out.
Every other token, such as a number, a path, a sign or a pattern, is compared as it was
written: "-5" is not "5", "C++" is not "C".
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from pml.discovery.words import STOP_WORDS, Words
from pml.domain.capability import is_word

_PREPOSITION_LIST = """
in on at by from to into onto out off with without for as about before after than then until
over under above below between during per via through since
"""
_PREPOSITIONS = frozenset(_PREPOSITION_LIST.split())
"""Without "of", which never moves away from its noun."""
_ARTICLES = frozenset({"a", "an", "the"})
_FILLERS = frozenset({"please", "kindly", "now"})
_GREETINGS = frozenset({"hi", "hello", "hey", "thanks", *_FILLERS})
"""Politeness where nothing else stands between two pauses: "print hello" is something else."""
_OPENING = re.compile(
    r"^\s*(?:(?:hi|hello|hey|please|kindly)[\s,!]+)*"
    r"(?:(?:can|could|would|will) you|i(?: would|['\u2019]d) like(?: you)? to"
    r"|i (?:want|need)(?: you)? to|help me)\s+(?=\S)",
    re.IGNORECASE,
)
_CONTRACTION = re.compile(r"['\u2019](?:s|d|m|ll|re|ve)$")
_QUOTE = "[\"'`\u2018\u2019\u201c\u201d\u00ab\u00bb]"
_QUOTED = re.compile("([\"'`])(.+)\\1|\u201c(.+)\u201d|\u2018(.+)\u2019|\u00ab(.+)\u00bb")
_PAUSED = re.compile(
    rf"(?P<any>.*[^\W_]{_QUOTE}?)(?:\)+[,;.]?|[,;.])\)*"
    rf"|(?P<plain>{_QUOTE}?[^\W_](?:['\u2019]?[^\W_])+{_QUOTE}?)\)*(?::|[!?]+)\)*"
    rf"|(?P<single>[^\W_])[!?]+"
)
"""A token after which speech pauses: "2023," but not "main..", "C:" or "/tmp/a?"."""
_stems = Words(stop_words=frozenset())
_COMMON = frozenset(_stems(" ".join(STOP_WORDS - _PREPOSITIONS - {"if", "or", "and"})))

Phrase = tuple[str, ...]
"""A preposition or nothing, and the words that follow it."""


class _Token(NamedTuple):
    text: str
    """Without quotation marks and punctuation around it, words in small letters."""
    word: bool
    """Letters only, and not quoted."""
    capital_a: bool
    """As in "vitamin A"."""


def phrases(intent: str) -> list[Phrase]:
    """The phrases of an intent; none for one that says nothing.

    Sorted where each may move: with one clause and no preposition that comes twice, of
    which none could be taken to belong to something else ("to anna in rome from bob in oslo").
    """
    found = list(_phrases(intent))
    heads = [phrase[0] for phrase in found]
    return sorted(found) if len(set(heads)) == len(heads) else found


def features(intent: str) -> frozenset[tuple[str, str]]:
    """Words that say something, each with the preposition of its phrase."""
    return frozenset(
        (phrase[0], word)
        for phrase in _phrases(intent)
        for word in [word for word in phrase[1:] if word not in _COMMON] or [phrase[0]]
    )


def _phrases(intent: str) -> Iterator[Phrase]:
    for part in _parts(intent):
        phrase = [""]
        for place, token in enumerate(part):
            if token.word and token.text in _PREPOSITIONS:
                yield from _said(phrase)
                phrase = [token.text]
            elif not _is_article(token, part[place + 1 : place + 2]):
                phrase += _forms(token)
        yield from _said(phrase)


def _said(phrase: list[str]) -> Iterator[Phrase]:
    """The phrase, unless it is empty; a preposition alone counts."""
    if phrase != [""]:
        yield tuple(phrase)


def _is_article(token: _Token, following: list[_Token]) -> bool:
    """Whether it says nothing: "a" before a noun does not, in "branch a" or "a b" it does."""
    if not token.word or token.text not in _ARTICLES or token.capital_a or not following:
        return False
    noun = following[0].text
    return noun not in _PREPOSITIONS and (token.text != "a" or len(noun) > 1)


def _forms(token: _Token) -> list[str]:
    if is_word(token.text):
        return _stems.forms(_CONTRACTION.sub("", token.text))
    return [token.text]


def _parts(intent: str) -> Iterator[list[_Token]]:
    """What stands between pauses, without politeness."""
    for part in _between_pauses(_OPENING.sub("", intent, count=1)):
        if not all(token.word and token.text in _GREETINGS for token in part):
            yield [token for token in part if not (token.word and token.text in _FILLERS)]


def _between_pauses(intent: str) -> Iterator[list[_Token]]:
    part: list[_Token] = []
    for raw in unicodedata.normalize("NFC", intent).split():
        opened = raw.lstrip("(") or raw
        if opened != raw:
            yield part
            part = []
        paused = _PAUSED.fullmatch(opened)
        part.append(_token(next(filter(None, paused.groups())) if paused else opened, part))
        if paused:
            yield part
            part = []
    yield part


def _token(raw: str, before: list[_Token]) -> _Token:
    quoted = _QUOTED.fullmatch(raw)
    bare = quoted[quoted.lastindex or 0] if quoted else raw
    text = bare.casefold() if is_word(bare) else bare
    return _Token(text, is_word(bare) and not quoted, raw == "A" and bool(before))
