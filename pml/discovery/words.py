"""Text to words: what search compares.

Identifiers fall apart (``readFile``, ``read_file`` and "read file" are the same two words),
accents fold, scripts without spaces count each character as a word, and words that say
nothing about what is wanted are left out.  Negations and what limits ("not", "without",
"all", "only") are no such words: they turn an intent into another one.

On ASCII text, without a stemmer, the words are those of the published baselines that
PML's search is measured against.
"""

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

import Stemmer  # type: ignore[import-not-found]  # an extension module without stubs

_STOP_WORDS = """
a an the of to in for and or is are be i me my you your it this that with on at by from as
can could would please want need help also if so do does has have will which what using use
into its about their they we our
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Left out by default; the list of the baselines."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ACCENTS = re.compile("[\u0300-\u036f]")
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"  # kana, Han
_ASCII_WORD = re.compile("[a-z0-9]+")
_WORD = re.compile(f"[{_UNSPACED}]|[^\\W_{_UNSPACED}]+")


class Tokenizer(Protocol):
    """Text to words, in their order, repeated ones too."""

    def __call__(self, text: str) -> list[str]:
        """The words; none for a text without any."""


class Words:
    """The tokenizer of the index.

    Args:
        stemmer: A Snowball language (M. Porter, 2001), or None to keep inflections apart.
        stop_words: Left out, before stemming.
    """

    def __init__(
        self, *, stemmer: str | None = "english", stop_words: frozenset[str] = STOP_WORDS
    ) -> None:
        self._stem = None if stemmer is None else Stemmer.Stemmer(stemmer).stemWords
        self._stop_words = stop_words

    def __call__(self, text: str) -> list[str]:
        """The words of a text."""
        stop_words = self._stop_words
        words = [word for word in split(text) if word not in stop_words]
        return words if self._stem is None else self._stem(words)

    def forms(self, word: str) -> list[str]:
        """What is compared of one word in small letters, whose accents count ("Müller")."""
        parts = _WORD.findall(word)
        return parts if self._stem is None else self._stem(parts)


def split(text: str) -> list[str]:
    """Every word of a text in small letters, none left out."""
    if text.isascii():
        return _ASCII_WORD.findall(_CAMEL.sub(" ", text).lower())
    decomposed = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    folded = unicodedata.normalize("NFC", decomposed)
    return _WORD.findall(_CAMEL.sub(" ", folded).lower())


def with_pairs(words: Sequence[str]) -> list[str]:
    """Words, then neighbouring ones as one: two words in order tell more than both alone."""
    return [*words, *(f"{one} {next_one}" for one, next_one in pairwise(words))]
