"""A child process of which the event loop learns by callbacks alone.

Nothing has to be awaited for it to be reaped and its pipes closed, so no cancellation can leave
it behind.
"""

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from pml.runtime.outlast import outlast
from pml.runtime.spawned import Spawned

_CHUNK_BYTES = 65_536
END_TIMEOUT_S = 10.0
"""SIGKILL takes milliseconds; a process in uninterruptible sleep must not hold us for ever."""


class Child:
    """A process in a group of its own, with a pipe into it and one out of it.

    Invariant: once ``ended`` is done, the process is reaped and both pipes are closed.
    """

    def __init__(
        self,
        argv: Sequence[str],
        hear: Callable[[bytes], None],
        *,
        cwd: str | Path = "/",
    ) -> None:
        """Start it, without an environment; ``hear`` gets what it writes to stdout and stderr.

        Raises:
            OSError: it cannot be started.
        """
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[int] = self._loop.create_future()
        """Its exit status, negative for a signal.  To await it directly could cancel it."""
        self._hear = hear
        self._unsent = memoryview(b"")
        self._process = Spawned(argv, env={}, cwd=cwd, stderr=subprocess.STDOUT)
        self._process.exited.add_done_callback(self._reaped)
        self.pid = self._process.pid
        self._stdin, self._stdout = self._process.pipes
        self._loop.add_reader(self._stdout, self._read)

    @property
    def returncode(self) -> int | None:
        """As ``ended``, known a moment earlier: something that it wrote may not be read yet."""
        return self._process.returncode

    def send(self, data: bytes) -> None:
        """Write all that it will ever read, and close its input."""
        self._unsent = memoryview(data)
        self._write()

    def kill(self) -> None:
        """SIGKILL the group, if the process is not known to have ended."""
        if self.returncode is None:
            self._process.signal(signal.SIGKILL)

    async def end(self) -> None:
        """SIGKILL the group and see it to its end, within bounds, also when cancelled."""
        self.kill()
        try:
            await outlast([self.ended], timeout_s=END_TIMEOUT_S)
        finally:
            self.let_go()

    def let_go(self) -> None:
        """Close the pipes of a process that does not end, or whose output lives on elsewhere."""
        self._close(self._stdin)
        self._close(self._stdout)
        self._see()

    def _write(self) -> None:
        try:
            written = os.write(self._stdin.fileno(), self._unsent)
        except BlockingIOError:
            written = 0
        except OSError:  # it does not read any more: how it ends tells why
            written = len(self._unsent)
        self._unsent = self._unsent[written:]
        if self._unsent:
            self._loop.add_writer(self._stdin, self._write)
        else:
            self._close(self._stdin)

    def _read(self) -> None:
        try:
            data = os.read(self._stdout.fileno(), _CHUNK_BYTES)
        except BlockingIOError:
            return
        if data:
            self._hear(data)
        else:
            self._close(self._stdout)
            self._see()

    def _reaped(self, _: "asyncio.Future[int]") -> None:
        self._close(self._stdin)
        self._see()

    def _see(self) -> None:
        if self.returncode is not None and self._stdout.closed and not self.ended.done():
            self.ended.set_result(self.returncode)

    def _close(self, pipe: IO[bytes]) -> None:
        if not pipe.closed:
            self._loop.remove_reader(pipe)
            self._loop.remove_writer(pipe)
            pipe.close()
