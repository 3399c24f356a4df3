"""A server's process: started in a group of its own, ended with everything it started.

The group is registered with the reaper, which outlives us and kills it when we are
killed.  PDEATHSIG would not do: it reaches the direct child only, and ``npx`` and its kin
leave the real server in a grandchild.
"""

import asyncio
import os
import signal
from asyncio import StreamReader, SubprocessTransport
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Protocol

import anyio
import structlog

STDERR_LINES = 50
_STDERR_LINE_BYTES = 500
_CHUNK_BYTES = 65_536
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
_TERM_GRACE_S = 0.5
_REAP_S = 2.0
"""For the kernel to report a killed process; only one stuck in a system call takes this long."""
_POLL_S = 0.01

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
    """One running server; `stop` must be called, also after the process has ended."""

    def __init__(
        self, transport: SubprocessTransport, process: Process, reaper: ReapsGroups
    ) -> None:
        self._transport = transport
        self._process = process
        self._reaper = reaper
        self._said: deque[str] = deque(maxlen=STDERR_LINES)
        self.pid = process.pid
        self.exit_status: int | None = None
        """How the process ended by itself; None if `stop` had to end it."""
        assert process.stderr is not None
        self._listener = asyncio.create_task(self._listen(process.stderr))

    @classmethod
    async def start(
        cls, argv: Sequence[str], *, env: Mapping[str, str], cwd: str | None, reaper: ReapsGroups
    ) -> "ServerProcess":
        """Start ``argv`` with pipes.

        Raises:
            OSError: there is no such program or directory, or it may not be run.
        """
        loop = asyncio.get_running_loop()
        with anyio.CancelScope(shield=True):  # a half-started process would be nobody's to stop
            transport, protocol = await loop.subprocess_exec(
                lambda: SubprocessStreamProtocol(limit=_CHUNK_BYTES, loop=loop),
                *argv,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                env=dict(env),
                cwd=cwd,
                start_new_session=True,
            )
        process = cls(transport, Process(transport, protocol, loop), reaper)
        reaper.register(process.pid)
        return process

    @property
    def last_words(self) -> tuple[str, ...]:
        """The last lines of stderr, and what was no protocol on stdout, oldest first."""
        return tuple(self._said)

    def last_said(self) -> str:
        """How it ended and what it said last, to stand after a reason; may be empty."""
        text = ""
        if self.exit_status is not None:
            status = self.exit_status
            how = f"status {status}" if status >= 0 else f"signal {-status}"
            text = f" (its process ended with {how})"
        return f"{text}; it said last: {self._said[-1]}" if self._said else text

    @property
    def returncode(self) -> int | None:
        """The exit status once the process has ended; negative for a signal."""
        return self._process.returncode

    def note(self, line: str) -> None:
        """Add a line to the last words."""
        self._said.append(line[:_STDERR_LINE_BYTES])

    async def read(self) -> bytes:
        """Some bytes of stdout; empty at its end."""
        assert self._process.stdout is not None
        return await self._process.stdout.read(_CHUNK_BYTES)

    async def write(self, data: bytes) -> None:
        """Write to stdin, waiting while the server does not read.

        Raises:
            OSError: the server has closed its stdin.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        await self._process.stdin.drain()

    async def ended(self, timeout_s: float) -> bool:
        """Wait for the process itself; its pipes may live on in what it started."""
        # Not Process.wait(): that also waits until every heir of the pipes has closed them.
        # Not asyncio.timeout(): a session ends in a task that is being cancelled, where 3.11.2
        # (Debian's) makes a CancelledError of the timeout, and then nothing would be killed.
        clock = asyncio.get_running_loop().time
        deadline = clock() + timeout_s
        while self.returncode is None and clock() < deadline:  # noqa: ASYNC110  # has no event
            await asyncio.sleep(_POLL_S)
        return self.returncode is not None

    async def stop(self) -> None:
        """End the group: close stdin, then SIGTERM, then SIGKILL; takes at most about 4 s."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        if await self.ended(_STDIN_GRACE_S):
            self.exit_status = self.returncode
        else:
            self._signal(signal.SIGTERM)
            await self.ended(_TERM_GRACE_S)
        self._signal(signal.SIGKILL)  # in any case: grandchildren may be left
        if not await self.ended(_REAP_S):
            _log.warning("server_not_killable", pid=self.pid)
        self._reaper.release(self.pid)
        self._listener.cancel()
        await asyncio.wait([self._listener])
        with suppress(PermissionError):  # a child that changed its user cannot be killed again
            self._transport.close()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    async def _listen(self, stderr: StreamReader) -> None:
        """Keep the last lines; always read, or a talkative server blocks."""
        rest = b""
        while chunk := await stderr.read(_CHUNK_BYTES):
            *lines, rest = (rest + chunk).split(b"\n")
            rest = rest[-_STDERR_LINE_BYTES:]
            for line in lines:
                self.note(line.decode(errors="replace"))
        if rest:
            self.note(rest.decode(errors="replace"))
