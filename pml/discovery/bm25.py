"""BM25: how well the words of a query describe a text.

S. Robertson, H. Zaragoza: The Probabilistic Relevance Framework: BM25 and Beyond,
Foundations and Trends in Information Retrieval 3(4), 2009, section 3.  The variant is
Lucene's: idf ``ln(1 + (N - n + 0.5) / (n + 0.5))``, which is never negative, and no factor
``k1 + 1``, which changes no order (C. Kamphuis et al.: Which BM25 Do You Mean?, ECIR 2020).
A word that a query repeats counts once: intents are sentences, and repeating is style.
"""

import math
import sys
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pml.discovery.postings import Postings

_FIRST_ROWS = 64


class Bm25:
    """Texts by row.

    Invariant: document frequencies, lengths and their mean are those of the rows that are
    there, so a score does not depend on what was there before.

    Args:
        k1: How soon repeating a word in a text stops to count.
        b: How far a long text is held against it, from 0 to 1.
    """

    def __init__(self, *, k1: float = 1.2, b: float = 0.75) -> None:
        self._k1, self._b = k1, b
        self._postings = Postings()
        self._words: dict[int, tuple[str, ...]] = {}
        self._size = 0
        self._lengths = np.zeros(_FIRST_ROWS)
        self._total_length = 0
        self._norms: NDArray[np.float64] | None = None

    def put(self, row: int, words: Sequence[str]) -> None:
        """Enter a text, in place of the one that the row had."""
        self.remove(row)
        self._make_place(row)
        counts = Counter(map(sys.intern, words))
        self._postings.add(row, counts)
        self._words[row] = tuple(counts)
        self._lengths[row] = len(words)
        self._total_length += len(words)
        self._norms = None

    def remove(self, row: int) -> None:
        """Take a text out; nothing happens where there is none."""
        words = self._words.pop(row, None)
        if words is None:
            return
        self._postings.remove(row, words)
        self._total_length -= int(self._lengths[row])
        self._lengths[row] = 0
        self._norms = None

    def has(self, row: int) -> bool:
        """Whether the row has a text."""
        return row in self._words

    def words(self, row: int) -> tuple[str, ...]:
        """The distinct words of a row's text."""
        return self._words.get(row, ())

    def idf(self, word: str) -> float:
        """Weight of a word: the rarer, the more."""
        with_word = self._postings.rows_with(word)
        return math.log1p((len(self._words) - with_word + 0.5) / (with_word + 0.5))

    def scores(self, words: Sequence[str]) -> NDArray[np.float64]:
        """One score per row, 0 where no word is shared."""
        known = [word for word in dict.fromkeys(words) if self._postings.rows_with(word)]
        if not known:
            return np.zeros(self._size)
        if self._norms is None:
            self._norms = self._length_norms()
        rows, counts = self._postings.gather(known)
        idfs = np.array([self.idf(word) for word in known])
        sizes = [self._postings.rows_with(word) for word in known]
        shares = counts / (counts + self._norms[rows]) * np.repeat(idfs, sizes)
        sums = np.bincount(rows, shares, minlength=self._size)
        return sums.astype(np.float64, copy=False)

    def _make_place(self, row: int) -> None:
        """Lengths for twice the rows when they are full."""
        self._size = max(self._size, row + 1)
        if row >= len(self._lengths):
            self._lengths = np.concatenate([self._lengths, np.zeros(self._size)])

    def _length_norms(self) -> NDArray[np.float64]:
        """What is added to a count in the denominator, by row."""
        relative = self._lengths * (len(self._words) / max(self._total_length, 1))
        return self._k1 * (1 - self._b + self._b * relative)
