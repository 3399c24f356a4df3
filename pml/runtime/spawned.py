"""A process whose end the event loop learns by a callback, and whose start it cannot interrupt.

Not `asyncio.create_subprocess_exec`: its start and its waits are tasks that can be cancelled, and
an event loop that ends cancels all of them.  A process whose start was cancelled half-way then
stays behind, or (Python 3.11) is waited for without end.
"""

import asyncio
import errno
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO


class Spawned:
    """A process in a group of its own, with pipes that block nobody; whoever uses them closes them.

    Invariant: once ``exited`` is done, the process is reaped.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | Path | None,
        stderr: int = subprocess.PIPE,
    ) -> None:
        """Start it.

        Args:
            argv: the program, by path or found on our PATH, and its arguments.
            env: all of its environment.
            cwd: where it starts; None for our own working directory.
            stderr: where its stderr goes, as `subprocess.Popen` has it.

        Raises:
            OSError: it cannot be started.
        """
        self._loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[int] = self._loop.create_future()
        """Its exit status, negative for a signal.  To await it directly could cancel it."""
        self._process = subprocess.Popen(  # noqa: S603  # the caller's own program
            argv, bufsize=0, env=dict(env), cwd=cwd, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
        )  # fmt: skip
        self.pid = self._process.pid
        for pipe in self.pipes:
            os.set_blocking(pipe.fileno(), False)
        # a thread each, as asyncio has it: only Linux can tell of an end by descriptor
        waiter = threading.Thread(target=self._wait, name=f"wait for {self.pid}", daemon=True)
        try:
            waiter.start()
        except RuntimeError as error:  # the system gives no more threads
            self.signal(signal.SIGKILL)
            self._process.wait()
            for pipe in self.pipes:
                pipe.close()
            raise OSError(errno.EAGAIN, "no thread can be had that waits for it") from error

    @property
    def pipes(self) -> tuple[IO[bytes], ...]:
        """Its stdin, its stdout and, where that is a pipe of its own, its stderr."""
        process = self._process
        return tuple(
            pipe for pipe in (process.stdin, process.stdout, process.stderr) if pipe is not None
        )

    @property
    def returncode(self) -> int | None:
        """Its exit status, as far as the event loop knows."""
        return self.exited.result() if self.exited.done() else None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the group, if that is there and ours."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _wait(self) -> None:
        status = self._process.wait()
        with suppress(RuntimeError):  # the loop is closed, and nobody waits any more
            self._loop.call_soon_threadsafe(self.exited.set_result, status)
