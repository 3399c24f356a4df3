"""One server through all its sessions: connecting, backing off, replacing what was lost."""

import asyncio
import importlib
import random
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import structlog

from pml.domain.limits import Limits
from pml.domain.run import Outcome
from pml.domain.tools import Tool
from pml.errors import StoreError, UpstreamUnavailableError
from pml.runtime.outlast import outlast
from pml.runtime.upstream.config import ServerConfig
from pml.runtime.upstream.process import ReapsGroups
from pml.runtime.upstream.status import ServerState, ServerStatus

if TYPE_CHECKING:
    from pml.runtime.upstream.connection import Connection
    from pml.runtime.upstream.listing import Listing

_FIRST_BACK_OFF_S = 0.5
_LAST_BACK_OFF_S = 60.0
_PATIENCE_S = 1.0
"""A caller waits out a back-off that ends within this; a longer one is an error at once."""

_log = structlog.get_logger(__name__)


class ToolSink(Protocol):
    """Where fresh listings go."""

    async def replace(self, server: str, tools: Sequence[Tool]) -> None:
        """Make ``tools`` all that is known of ``server``."""


class Server:
    """Holds at most one live connection; callers share it and the attempt to open it."""

    def __init__(
        self,
        config: ServerConfig,
        *,
        limits: Limits,
        reaper: ReapsGroups,
        sink: ToolSink,
        rng: random.Random,
        environment: Mapping[str, str],
        places: asyncio.Semaphore,
    ) -> None:
        self.config = config
        self._limits = limits
        self._reaper = reaper
        self._sink = sink
        self._rng = rng
        self._environment = environment
        self._places = places
        self._latest: Connection | None = None
        self._connecting: asyncio.Task[Connection] | None = None
        self._failures = 0
        self._retry_at = 0.0
        self._error: str | None = None
        self._tools: int | None = None
        self._connect_ms: float | None = None
        self._closed = False

    async def connection(self) -> "Connection":
        """The live connection, or a new one.

        Raises:
            UpstreamUnavailableError: it cannot be had (now).
        """
        if self._connecting is None:
            if self._latest is not None and not self._latest.lost:
                return self._latest
            self._connecting = asyncio.create_task(self._connect())
            self._connecting.add_done_callback(self._connected)
        # Shielded: others may wait for the same attempt when one caller is cancelled.
        return await asyncio.shield(self._connecting)

    async def call(self, tool: str, arguments: dict[str, Any]) -> Outcome:
        """See `Upstreams.call`."""
        connection = await self.connection()
        from pml.runtime.upstream.reading import SessionGoneError  # noqa: PLC0415  # loaded by now

        try:
            return await connection.call(tool, arguments)
        except SessionGoneError:
            # The server did not act on it, so this is still the first request to reach the tool.
            return await (await self.connection()).call(tool, arguments)

    def described(self, tool: str) -> Tool | None:
        """See `Upstreams.described`."""
        live = self._latest if self._latest is not None and not self._latest.lost else None
        return None if live is None else live.listing.find(tool)

    async def close(self) -> None:
        """End the session or the attempt to open one; no new one is opened after.

        Also when cancelled meanwhile, which goes on then.
        """
        self._closed = True
        try:
            if self._connecting is not None:
                self._connecting.cancel()
                await outlast([self._connecting])
        finally:
            if self._latest is not None:
                await self._latest.close()

    def status(self) -> ServerStatus:
        """How the server stands."""
        live = self._latest if self._latest is not None and not self._latest.lost else None
        last = self._latest
        error = None if live else (last.end_reason if last and last.end_reason else self._error)
        process = None if last is None else last.process
        return ServerStatus(
            name=self.config.name,
            state=self._state(live is not None),
            transport=self.config.transport,
            tools=self._tools,
            refused=() if last is None else last.listing.refused,
            error=error,
            last_words=process.last_words if process is not None and error else (),
            protocol_version=None if last is None else last.protocol_version,
            server_version=None if last is None else last.server_version,
            pid=process.pid if live and process is not None else None,
            connect_ms=self._connect_ms,
        )

    def _state(self, live: bool) -> ServerState:
        if self.config.disabled:
            return ServerState.DISABLED
        if self._connecting is not None:  # before `live`: a session is not lost while it opens
            return ServerState.CONNECTING
        if live:
            return ServerState.READY
        if self._failures:
            waits = self._retry_at > time.monotonic()
            return ServerState.BACKING_OFF if waits else ServerState.FAILED
        return ServerState.IDLE

    async def _connect(self) -> "Connection":
        if self.config.disabled or self._closed:
            reason = "is disabled in the configuration" if self.config.disabled else "was closed"
            raise UpstreamUnavailableError(self.config.name, reason)
        await self._wait_for_turn()
        if self._latest is not None:
            await self._latest.close()
        # In a thread: a second of importing must not hold up everything else.
        module = await asyncio.to_thread(importlib.import_module, "pml.runtime.upstream.connection")
        connection: Connection = module.Connection(
            self.config,
            limits=self._limits,
            reaper=self._reaper,
            environment=self._environment,
            on_listing=self._publish,
        )
        async with self._places:
            started = time.monotonic()
            self._latest = connection
            await connection.open()
        self._connect_ms = (time.monotonic() - started) * 1000
        return connection

    async def _wait_for_turn(self) -> None:
        remaining = self._retry_at - time.monotonic()
        if remaining > _PATIENCE_S:
            message = f"{self._error}; the next attempt may start in {remaining:.0f} s"
            raise UpstreamUnavailableError(self.config.name, message)
        if remaining > 0:
            await asyncio.sleep(remaining)

    def _connected(self, task: "asyncio.Task[Connection]") -> None:
        self._connecting = None
        error = None if task.cancelled() else task.exception()
        if error is None:
            self._failures = 0
        elif time.monotonic() >= self._retry_at:  # an attempt failed, not a wait for one
            self._failures += 1
            self._error = self._latest.end_reason if self._latest is not None else str(error)
            delay = min(_LAST_BACK_OFF_S, _FIRST_BACK_OFF_S * 2 ** min(self._failures - 1, 10))
            self._retry_at = time.monotonic() + delay * self._rng.uniform(0.5, 1.0)

    async def _publish(self, listing: "Listing") -> None:
        self._tools = len(listing.tools)
        for reason in listing.refused:
            _log.warning("tool_refused", server=self.config.name, reason=reason)
        try:
            await self._sink.replace(self.config.name, listing.tools)
        except StoreError as exc:  # the cache is a convenience: calls work without it
            _log.warning("tools_not_cached", server=self.config.name, exc_info=exc)
