"""Which rows hold a word and how often: the inverted index under BM25 and under TF-IDF.

The rows of one word lie in one typed array, so a query touches only the rows that share a
word with it, and all of them in a handful of numpy operations, however many words it has.
(J. Zobel, A. Moffat: Inverted Files for Text Search Engines, ACM Computing Surveys 38(2),
2006, sections 3-4; without compression.)
"""

from array import array
from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


class Postings:
    """Invariant: a row stands once under each of its words, and no word is without rows."""

    def __init__(self) -> None:
        self._rows: dict[str, array[int]] = {}
        self._counts: dict[str, array[int]] = {}

    def add(self, row: int, counts: Counter[str]) -> None:
        """Enter a row that is not there."""
        for word, count in counts.items():
            rows = self._rows.get(word)
            if rows is None:
                rows = self._rows[word] = array("i")
                self._counts[word] = array("I")
            rows.append(row)
            self._counts[word].append(count)

    def remove(self, row: int, words: Iterable[str]) -> None:
        """Take a row out; ``words`` are those that it was entered with, each once."""
        for word in words:
            rows, counts = self._rows[word], self._counts[word]
            at = int(np.flatnonzero(np.frombuffer(rows, np.int32) == row)[0])
            last_row, last_count = rows.pop(), counts.pop()
            if not rows:
                del self._rows[word], self._counts[word]
            elif at < len(rows):
                rows[at], counts[at] = last_row, last_count

    def rows_with(self, word: str) -> int:
        """How many rows hold the word."""
        rows = self._rows.get(word)
        return 0 if rows is None else len(rows)

    def gather(self, words: Iterable[str]) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
        """Rows and counts of all the words, one word's after another's."""
        found = [word for word in words if word in self._rows]
        rows = b"".join([self._rows[word] for word in found])
        counts = b"".join([self._counts[word] for word in found])
        return np.frombuffer(rows, np.int32), np.frombuffer(counts, np.uint32)
