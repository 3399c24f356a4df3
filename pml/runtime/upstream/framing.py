"""Lines of a server's standard output as JSON-RPC messages, whatever the server prints.

A line that is too long, no UTF-8 or no JSON is an answer gone wrong: if its request id can
still be read, that one request fails; if not, the line is noise and is reported as such.
Memory is bounded: of a line past the limit only its ends are kept.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

EDGE_BYTES = 4_096
"""How much of each end of an overlong line is kept, to find the request id in."""

_ID = rb'"id"\s*:\s*(\d{1,18})'
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"'
_HEAD_ID = re.compile(rb"\s*\{\s*(?:" + _VERSION + rb"\s*,\s*)?" + _ID + rb"\s*,")
_TAIL_ID = re.compile(_ID + rb"\s*(?:,\s*" + _VERSION + rb"\s*)?\}\s*\Z")
"""Both match keys of the outermost object only: its first, and those before its last brace."""


@dataclass(frozen=True, slots=True)
class OverlongLine:
    """A line past the limit: its length in bytes, and what is left of it."""

    length: int
    head: bytes
    tail: bytes

    def request_id(self) -> int | None:
        """Which request the line answers, if that can still be read."""
        return find_request_id(self.head, self.tail)


class LineSplitter:
    """Cuts chunks into lines of at most ``limit_bytes``.

    Invariant: at most ``limit_bytes`` plus two edges and one chunk are held.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._parts: list[bytes] = []
        self._length = 0
        self._head = b""
        self._tail = b""

    def feed(self, chunk: bytes) -> Iterator[bytes | OverlongLine]:
        """The lines that ``chunk`` completes, without their line ends."""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._add(line)
            yield self._take()
        self._add(rest)

    @property
    def pending_bytes(self) -> int:
        """Length of the line that has begun and not ended."""
        return self._length

    def _add(self, part: bytes) -> None:
        if not part:
            return
        if self._length <= self._limit < self._length + len(part):
            whole = b"".join((*self._parts, part[:EDGE_BYTES]))
            self._head = whole[:EDGE_BYTES]
            self._tail = b"".join(self._parts)[-EDGE_BYTES:]
            self._parts = []
        self._length += len(part)
        if self._length > self._limit:
            self._tail = (self._tail + part[-EDGE_BYTES:])[-EDGE_BYTES:]
        else:
            self._parts.append(part)

    def _take(self) -> bytes | OverlongLine:
        line: bytes | OverlongLine = (
            OverlongLine(self._length, self._head, self._tail)
            if self._length > self._limit
            else b"".join(self._parts)
        )
        self._parts, self._length, self._head, self._tail = [], 0, b"", b""
        return line


def find_request_id(head: bytes, tail: bytes) -> int | None:
    """The id of a response of which only the ends are known, or None."""
    match = _HEAD_ID.match(head) or _TAIL_ID.search(tail[-EDGE_BYTES:])
    return None if match is None else int(match[1])
