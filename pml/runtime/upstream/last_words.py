"""What a server said last: the ends of its stderr, heard by callback so that no task is left."""

import asyncio
import os
from collections import deque
from typing import IO

LINES = 50
_LINE_BYTES = 500
_CHUNK_BYTES = 65_536


class LastWords:
    """The last lines that came out of a pipe; always read, or a talkative server blocks."""

    def __init__(self, stderr: IO[bytes]) -> None:
        self._stderr = stderr
        self._lines: deque[str] = deque(maxlen=LINES)
        self._rest = b""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(stderr, self._hear)

    @property
    def lines(self) -> tuple[str, ...]:
        """Oldest first."""
        return tuple(self._lines)

    def note(self, line: str) -> None:
        """Add a line of ours."""
        self._lines.append(line[:_LINE_BYTES])

    def close(self) -> None:
        """Hear no more.  Idempotent."""
        if self._stderr.closed:
            return
        self._loop.remove_reader(self._stderr)
        self._stderr.close()
        if self._rest:
            self.note(self._rest.decode(errors="replace"))

    def _hear(self) -> None:
        try:
            chunk = os.read(self._stderr.fileno(), _CHUNK_BYTES)
        except BlockingIOError:
            return
        if not chunk:
            self.close()
            return
        *lines, rest = (self._rest + chunk).split(b"\n")
        self._rest = rest[-_LINE_BYTES:]
        for line in lines:
            self.note(line.decode(errors="replace"))
