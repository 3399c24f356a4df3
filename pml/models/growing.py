"""A matrix that takes and loses rows without being copied each time.

Like a list: memory for more rows than there are, doubled when it is full, so that a row costs its
own width on average.  A row that leaves gives its place to the last one.
"""

import numpy as np
from jaxtyping import Float32

_LEAST = 64
"""Rows of the smallest buffer."""


class GrowingRows:
    """Rows of equal width.

    Invariant: ``values`` is a view of the first rows of a buffer that has room for more.
    """

    def __init__(self, values: Float32[np.ndarray, "rows width"]) -> None:
        self._rows = len(values)
        # The system gives pages when they are written: room costs no memory until it is used.
        self._buffer = np.empty((2 * max(self._rows, _LEAST), values.shape[1]), np.float32)
        self._buffer[: self._rows] = values

    @property
    def values(self) -> Float32[np.ndarray, "rows width"]:
        """All rows; writing to it changes them.  Valid until a row is added or leaves."""
        return self._buffer[: self._rows]

    def append(self, row: Float32[np.ndarray, " width"]) -> None:
        """Becomes the last row."""
        if self._rows == len(self._buffer):
            self._buffer = np.concatenate([self._buffer, np.empty_like(self._buffer)])
        self._buffer[self._rows] = row
        self._rows += 1

    def drop(self, place: int) -> None:
        """The last row takes this place."""
        self._rows -= 1
        self._buffer[place] = self._buffer[self._rows]
