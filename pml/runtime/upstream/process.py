"""A server's process: started in a group of its own, ended with everything it started.

The group is registered with the reaper, which outlives us and kills it when we are
killed.  PDEATHSIG would not do: it reaches the direct child only, and ``npx`` and its kin
leave the real server in a grandchild.
"""

import asyncio
import signal
from collections.abc import Mapping, Sequence
from typing import Protocol

import structlog

from pml.runtime.outlast import outlast
from pml.runtime.spawned import Spawned
from pml.runtime.upstream.last_words import LastWords
from pml.runtime.upstream.pipe import Pipe

_INHERITED = frozenset(
    [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "TERM",
        "TZ",
        "TMPDIR",
        "LANG",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "NODE_EXTRA_CA_CERTS",
        "REQUESTS_CA_BUNDLE",
    ]
)
"""Enough for programs to find themselves and to trust what we trust; the rest holds secrets."""
_STDIN_GRACE_S = 1.0
"""For a server that ends when its input does, as the protocol asks; Python needs about 0.2 s."""
_KILL_S = _STDIN_GRACE_S + 0.5
_STOP_S = _KILL_S + 2.0
"""For the kernel to report a killed process; only one stuck in a system call takes this long."""

_log = structlog.get_logger(__name__)


class ReapsGroups(Protocol):
    """The part of the reaper that a server's process needs."""

    def register(self, pgid: int) -> None: ...  # noqa: D102
    def release(self, pgid: int) -> None: ...  # noqa: D102


def server_environment(ours: Mapping[str, str], configured: Mapping[str, str]) -> dict[str, str]:
    """What a server sees: a few basics and locale of ours, and what its configuration says."""
    basics = {
        name: value for name, value in ours.items() if name in _INHERITED or name[:3] == "LC_"
    }
    return basics | dict(configured)


class ServerProcess:
    """One running server; `stop` must be called, also after the process has ended.

    Invariant: its group is registered with the reaper until `stop` has killed it.
    """

    def __init__(
        self, argv: Sequence[str], *, env: Mapping[str, str], cwd: str | None, reaper: ReapsGroups
    ) -> None:
        """Start ``argv`` with pipes.

        Raises:
            OSError: there is no such program or directory, or it may not be run.
        """
        self._loop = asyncio.get_running_loop()
        self._process = Spawned(argv, env=env, cwd=cwd)
        self.pid = self._process.pid
        reaper.register(self.pid)
        self._reaper = reaper
        stdin, stdout, stderr = self._process.pipes
        self._stdin, self._stdout = Pipe(stdin), Pipe(stdout)
        self._said = LastWords(stderr)
        self._told_to_end = False
        self.exit_status: int | None = None
        """How the process ended by itself; None if `stop` had to end it."""

    @property
    def last_words(self) -> tuple[str, ...]:
        """The last lines of stderr, and what was no protocol on stdout, oldest first."""
        return self._said.lines

    def last_said(self) -> str:
        """How it ended and what it said last, to stand after a reason; may be empty."""
        text = ""
        if self.exit_status is not None:
            status = self.exit_status
            how = f"status {status}" if status >= 0 else f"signal {-status}"
            text = f" (its process ended with {how})"
        said = self._said.lines
        return f"{text}; it said last: {said[-1]}" if said else text

    def note(self, line: str) -> None:
        """Add a line to the last words."""
        self._said.note(line)

    async def read(self) -> bytes:
        """Some bytes of stdout; empty at its end.

        Raises:
            OSError: it cannot be read.
        """
        return await self._stdout.read()

    async def write(self, data: bytes) -> None:
        """Write to stdin, waiting while the server does not read.

        Raises:
            OSError: the server has closed its stdin.
        """
        await self._stdin.write(data)

    async def stop(self) -> None:
        """End the group: close stdin, then SIGTERM, then SIGKILL; takes at most about 4 s.

        Also when cancelled meanwhile, which goes on then.
        """
        self._stdin.close()
        steps = (
            self._loop.call_later(_STDIN_GRACE_S, self._terminate),
            self._loop.call_later(_KILL_S, self._process.signal, signal.SIGKILL),
        )
        try:
            # the process itself: its pipes may live on in what it started
            await outlast([self._process.exited], timeout_s=_STOP_S)
        finally:
            for step in steps:
                step.cancel()
            self._end()

    def _terminate(self) -> None:
        self._told_to_end = True
        self._process.signal(signal.SIGTERM)

    def _end(self) -> None:
        self._process.signal(signal.SIGKILL)  # in any case: grandchildren may be left
        if not self._told_to_end:
            self.exit_status = self._process.returncode
        if self._process.returncode is None:
            _log.warning("server_not_killable", pid=self.pid)
        self._reaper.release(self.pid)
        self._stdout.close()
        self._said.close()
