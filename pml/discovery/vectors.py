"""Dense vectors of what entries mean, and their cosines with a query's.

Exact, by one matrix product: up to some 20,000 vectors that costs less than an approximate
index would in a database, and forgets nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_FIRST_ROWS = 64
_Grouped: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""Rows, those of one slot beside each other; where each slot begins among them; the slots."""


class Vectors:
    """Unit vectors by key; each key belongs to the slots of one or more entries.

    Invariant: there are vectors only of keys that belong to a slot, and the first
    ``len(self._keys)`` rows of the matrix are theirs, in that order.
    """

    def __init__(self) -> None:
        self._slots: defaultdict[str, set[int]] = defaultdict(set)
        self._keys_of: dict[int, frozenset[str]] = {}
        self._keys: list[str] = []
        self._rows: dict[str, int] = {}
        self._matrix: NDArray[np.float32] = np.zeros((0, 0), np.float32)
        self._grouped: _Grouped | None = None
        """Rows by the slots that they speak for; None when either changed."""

    def own(self, slot: int, keys: Iterable[str]) -> None:
        """Make these the keys of a slot; the vectors of keys that nobody has any more go."""
        old, new = self._keys_of.pop(slot, frozenset()), frozenset(keys)
        if new:
            self._keys_of[slot] = new
        if old == new:
            return
        for key in new - old:
            self._slots[key].add(slot)
        for key in old - new:
            self._slots[key].discard(slot)
            if not self._slots[key]:
                del self._slots[key]
                self._drop(key)
        self._grouped = None

    def put(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Add or replace; vectors of keys that nobody has are left out.

        Raises:
            ValueError: a vector has another dimension than those that are there.
        """
        for key, vector in vectors.items():
            if key in self._slots:
                self._check(key, vector)
                row = self._row(key)
                self._matrix[row] = vector
        self._grouped = None

    def cosines(self, vector: NDArray[np.float32], size: int) -> NDArray[np.float64]:
        """By slot, the highest cosine of its vectors; 0 where it has none, or none above 0.

        Raises:
            ValueError: the vector has another dimension than those that are there.
        """
        best = np.zeros(size)
        if not self._keys:
            return best
        self._check("of the intent", vector)
        products = self._matrix[: len(self._keys)] @ vector
        if self._grouped is None:
            self._grouped = _grouped(
                (slot, row) for key, row in self._rows.items() for slot in self._slots[key]
            )
        rows, starts, slots = self._grouped
        best[slots] = np.maximum.reduceat(products[rows], starts)
        return np.clip(best, 0.0, 1.0, out=best)

    def _row(self, key: str) -> int:
        """Where the vector of a key lies, or will; twice the rows when they are full."""
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = len(self._keys)
            self._keys.append(key)
            if row == len(self._matrix):
                added = (max(row, _FIRST_ROWS), self._matrix.shape[1])
                self._matrix = np.concatenate([self._matrix, np.zeros(added, np.float32)])
        return row

    def _drop(self, key: str) -> None:
        """Forget a vector, if it is there; the last one takes its row."""
        row = self._rows.pop(key, None)
        if row is None:
            return
        last = self._keys.pop()
        if last != key:
            self._keys[row] = last
            self._rows[last] = row
            self._matrix[row] = self._matrix[len(self._keys)]

    def _check(self, key: str, vector: NDArray[np.float32]) -> None:
        """Refuse another dimension; the first vector says which one it is."""
        if not self._keys and self._matrix.shape[1] != vector.size:
            self._matrix = np.zeros((0, vector.size), np.float32)
        expected = (self._matrix.shape[1],)
        if vector.shape != expected:
            message = f"vector {key!r} has shape {vector.shape}, expected {expected}"
            raise ValueError(message)


def _grouped(pairs: Iterable[tuple[int, int]]) -> _Grouped:
    """Of pairs of slot and row; at least one."""
    by_slot, rows = np.array(sorted(pairs), np.int64).T
    slots, starts = np.unique(by_slot, return_index=True)
    return rows, starts, slots
