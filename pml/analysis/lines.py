"""Lines and columns of places in a source."""

from bisect import bisect_right
from functools import cached_property
from itertools import accumulate

_CONTINUATIONS = bytes(range(0x80, 0xC0))
"""Bytes that begin no character."""
_BLOCK = 4096


class Lines:
    """Finds places; the cost of one does not grow with the length of its line."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column (in characters), counted from 1."""
        line = bisect_right(self._starts, offset)
        start = self._starts[line - 1]
        return line, self._characters(offset) - self._characters(start) + 1

    @cached_property
    def _starts(self) -> list[int]:
        """As editors count, to whom U+2028, which ends a line in JavaScript, ends none."""
        lines = self._data.splitlines(keepends=True)
        if not self._data.endswith((b"\n", b"\r")):
            lines = lines[:-1]  # the last has no end
        return [0, *accumulate(map(len, lines))]

    def _characters(self, offset: int) -> int:
        """How many characters begin before an offset."""
        if self._counts is None:
            return offset
        block = offset // _BLOCK
        return self._counts[block] + _begun(self._data[block * _BLOCK : offset])

    @cached_property
    def _counts(self) -> list[int] | None:
        """Characters before each block; None where every byte is one."""
        if self._data.isascii():
            return None
        counts = [0]
        for start in range(0, len(self._data), _BLOCK):
            counts.append(counts[-1] + _begun(self._data[start : start + _BLOCK]))
        return counts


def _begun(data: bytes) -> int:
    return len(data.translate(None, _CONTINUATIONS))
