"""Ends what we started when we can no longer do it ourselves.

One small child holds the read end of a pipe whose write end only we have.  The kernel
closes it when we die, by ``kill -9`` too; the child then kills every process group that is
still registered, removes the directories, and ends.
"""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

_CHILD = Path(__file__).with_name("reaper_child.py")
_POLITE_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
_CLOSE_TIMEOUT_S = 10.0
"""To read the end of the pipe takes a millisecond; a machine that swaps may need seconds."""


class Reaper:
    """A process that outlives us just long enough to clean up.

    Invariant: what is registered and not released is killed when this process ends, however
    it ends.
    """

    def __init__(self, child: "subprocess.Popen[bytes]") -> None:
        self._child = child

    @classmethod
    def start(cls) -> "Reaper":
        """Start the child, in a session of its own: Ctrl-C must not reach it."""
        # blocked here and inherited: the child is never without this protection
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _POLITE_SIGNALS)
        try:
            child = subprocess.Popen(  # noqa: S603  # our interpreter, our file
                [sys.executable, "-I", "-S", str(_CHILD)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return cls(child)

    @property
    def pid(self) -> int:
        """Process id of the child."""
        return self._child.pid

    def register(self, pgid: int) -> None:
        """Kill this process group when we are gone."""
        self._tell(f"+{pgid}")

    def release(self, pgid: int) -> None:
        """The group has ended; its number may soon belong to others."""
        self._tell(f"-{pgid}")

    def own(self, directory: Path) -> None:
        """Remove this directory when we are gone."""
        self._tell(f"+{directory}")

    def disown(self, directory: Path) -> None:
        """The directory is gone, or belongs to someone else now."""
        self._tell(f"-{directory}")

    def close(self) -> None:
        """End the child; what is still registered is killed now.  Idempotent."""
        if self._child.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._child.stdin.close()
        self._child.wait(_CLOSE_TIMEOUT_S)

    def _tell(self, line: str) -> None:
        pipe = self._child.stdin
        if pipe is None or pipe.closed:
            return
        # lines are shorter than PIPE_BUF, so one write is atomic, from any thread
        with contextlib.suppress(BrokenPipeError):  # it was killed: PDEATHSIG is the second net
            os.write(pipe.fileno(), f"{line}\n".encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
