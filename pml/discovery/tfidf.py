"""Cosine of sublinear TF-IDF: how alike two short texts are, from 0 to 1.

A word weighs ``(1 + ln count) * (1 + ln((1 + N) / (1 + n)))``, n of N texts having it
(C. Manning, P. Raghavan, H. Schuetze: Introduction to Information Retrieval, 2008, section
6.4.1, with scikit-learn's smoothing).  A word that no text has weighs most: a query that
asks for something never seen is less like everything, not merely shorter.
"""

import math
import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pml.discovery.postings import Postings

_Entered: TypeAlias = tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]
"""Of each word of each row: its number, its weight without idf, and the row."""


class Frequencies:
    """In how many texts each word stands: the weights, which several collections may share.

    Invariant: ``idf`` depends on the texts that are there only, not on their history.
    """

    def __init__(self) -> None:
        self.texts = 0
        self._numbers: dict[str, int] = {}
        self._texts_with = array("q")
        self._idfs: NDArray[np.float64] | None = None

    def add(self, words: Iterable[str]) -> "array[int]":
        """Count a text, given its distinct words; the words' numbers."""
        numbers = array("i")
        for word in words:
            number = self._numbers.setdefault(word, len(self._numbers))
            if number == len(self._texts_with):
                self._texts_with.append(0)
            self._texts_with[number] += 1
            numbers.append(number)
        self.texts += 1
        self._idfs = None
        return numbers

    def remove(self, words: Iterable[str]) -> None:
        """Count a text no more, given its distinct words."""
        for word in words:
            self._texts_with[self._numbers[word]] -= 1
        self.texts -= 1
        self._idfs = None

    def idf(self, word: str) -> float:
        """Weight of a word; the highest for one that no text has."""
        number = self._numbers.get(word)
        return 1 + math.log(
            (1 + self.texts) / (1 + (0 if number is None else self._texts_with[number]))
        )

    def idfs(self) -> NDArray[np.float64]:
        """Weights by the words' numbers; another array after each change."""
        if self._idfs is None:
            texts_with = np.frombuffer(self._texts_with, np.int64)
            self._idfs = 1 + np.log((1 + self.texts) / (1 + texts_with))
        return self._idfs


class TfIdf:
    """Texts by row, compared with a query.

    Invariant: each text is counted once in ``frequencies``, which other texts may share.
    """

    def __init__(self, frequencies: Frequencies) -> None:
        self._frequencies = frequencies
        self._postings = Postings()
        self._rows: dict[int, _Row] = {}
        self._size = 0
        self._lengths: NDArray[np.float64] = np.zeros(0)
        self._lengths_for: NDArray[np.float64] | None = None
        """The weights with which the lengths were computed; None when a row changed."""
        self._entered: _Entered | None = None
        """All texts, word by word; None when a row changed."""

    def put(self, row: int, words: Sequence[str]) -> None:
        """Enter a text, in place of the one that the row had."""
        self.remove(row)
        counts = Counter(map(sys.intern, words))
        self._postings.add(row, counts)
        self._rows[row] = _Row(counts, self._frequencies.add(counts))
        self._size = max(self._size, row + 1)
        self._lengths_for = self._entered = None

    def remove(self, row: int) -> None:
        """Take a text out; nothing happens where there is none."""
        text = self._rows.pop(row, None)
        if text is None:
            return
        self._postings.remove(row, text.words)
        self._frequencies.remove(text.words)
        self._lengths_for = self._entered = None

    def cosines(self, words: Sequence[str]) -> NDArray[np.float64]:
        """One cosine per row, 0 where no word is shared."""
        weights = self.weights(words)
        known = [word for word in weights if self._postings.rows_with(word)]
        if not known:
            return np.zeros(self._size)
        rows, counts = self._postings.gather(known)
        factors = np.array([weights[word] * self._frequencies.idf(word) for word in known])
        sizes = [self._postings.rows_with(word) for word in known]
        shares = (1 + np.log(counts)) * np.repeat(factors, sizes)
        products = np.bincount(rows, shares, minlength=self._size)
        length = math.sqrt(sum(weight * weight for weight in weights.values()))
        return np.minimum(products / (self._row_lengths() * length), 1.0)

    def weights(self, words: Sequence[str]) -> dict[str, float]:
        """The query as a vector: weight by distinct word."""
        return {
            word: (1 + math.log(count)) * self._frequencies.idf(word)
            for word, count in Counter(words).items()
        }

    def _row_lengths(self) -> NDArray[np.float64]:
        """Euclidean length of each row; 1 where there is none."""
        idfs = self._frequencies.idfs()
        if self._lengths_for is not idfs:
            numbers, weights, rows = self._entered = self._entered or self._join()
            squares = np.bincount(rows, (weights * idfs[numbers]) ** 2, minlength=self._size)
            self._lengths = np.sqrt(np.where(squares > 0, squares, 1.0))
            self._lengths_for = idfs
        return self._lengths

    def _join(self) -> _Entered:
        """One text after another."""
        texts = self._rows.values()
        rows = np.fromiter(self._rows, np.int64, len(texts))
        return (
            np.frombuffer(b"".join([text.numbers for text in texts]), np.int32),
            np.frombuffer(b"".join([text.weights for text in texts])),
            np.repeat(rows, [len(text.words) for text in texts]),
        )


class _Row:
    """One text: its distinct words, their numbers, and their weights without idf."""

    __slots__ = ("numbers", "weights", "words")

    def __init__(self, counts: Counter[str], numbers: "array[int]") -> None:
        self.words = tuple(counts)
        self.numbers = numbers
        self.weights = array("d", [1 + math.log(count) for count in counts.values()])
