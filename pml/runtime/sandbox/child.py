"""A child process of which the event loop learns by callbacks alone.

Not `asyncio.create_subprocess_exec`: its start and its reads are tasks and waits that can be
cancelled, and an event loop that ends cancels all of them.  A process whose start was cancelled
half-way then stays behind, or (Python 3.11) is waited for without end.  Here a start cannot be
interrupted, and nothing has to be awaited for the process to be reaped and its pipes closed.
"""

import asyncio
import errno
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO

_CHUNK_BYTES = 65_536


class Child:
    """A process in a group of its own, with a pipe into it and one out of it.

    Invariant: once ``ended`` is done, the process is reaped and both pipes are closed.
    """

    def __init__(self, argv: Sequence[str], hear: Callable[[bytes], None]) -> None:
        """Start it, without an environment; ``hear`` gets what it writes to stdout and stderr.

        Raises:
            OSError: it cannot be started.
        """
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[int] = self._loop.create_future()
        """Its exit status, negative for a signal.  To await it directly could cancel it."""
        self.returncode: int | None = None
        """The same, known a moment earlier: something that it wrote may not be read yet."""
        self._hear = hear
        self._unsent = memoryview(b"")
        self._process = subprocess.Popen(  # noqa: S603  # the caller's own program
            argv, bufsize=0, env={}, cwd="/", start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.pid = self._process.pid
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin: IO[bytes] = self._process.stdin
        self._stdout: IO[bytes] = self._process.stdout
        for pipe in (self._stdin, self._stdout):
            os.set_blocking(pipe.fileno(), False)
        self._loop.add_reader(self._stdout, self._read)
        # a thread each, as asyncio has it: only Linux can tell of an end by descriptor
        waiter = threading.Thread(target=self._wait, name=f"wait for {self.pid}", daemon=True)
        try:
            waiter.start()
        except RuntimeError as error:  # the system gives no more threads
            self.kill()
            self._process.wait()
            self.let_go()
            raise OSError(errno.EAGAIN, "no thread can be had that waits for it") from error

    def send(self, data: bytes) -> None:
        """Write all that it will ever read, and close its input."""
        self._unsent = memoryview(data)
        self._write()

    def kill(self) -> None:
        """SIGKILL the group, if the process is not known to have ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

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

    def _wait(self) -> None:
        status = self._process.wait()
        with suppress(RuntimeError):  # the loop is closed, and nobody waits any more
            self._loop.call_soon_threadsafe(self._reaped, status)

    def _reaped(self, status: int) -> None:
        self.returncode = status
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
