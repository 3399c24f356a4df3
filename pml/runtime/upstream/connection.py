"""One live session with one server.

The session's context managers (transport, SDK client, process) are entered and left by one
task, as anyio demands; calls come from any task.  A connection is `lost` once its server
is gone, and is never used again then: a new one replaces it.
"""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

import anyio
import structlog
from mcp import Client, MCPError
from mcp.client import IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp_types import (
    HEADER_MISMATCH,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    InputRequiredResult,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from pml.domain.limits import Limits
from pml.domain.run import Failed, Outcome
from pml.domain.tools import Tool
from pml.errors import OutcomeUnknownError, UpstreamUnavailableError
from pml.runtime.outlast import outlast
from pml.runtime.spans import call_span
from pml.runtime.upstream.config import ServerConfig
from pml.runtime.upstream.faults import Faults
from pml.runtime.upstream.http import http_client
from pml.runtime.upstream.listing import Listing, list_tools
from pml.runtime.upstream.process import ReapsGroups, ServerProcess, server_environment
from pml.runtime.upstream.reading import SessionGoneError, connect_failure, read_error
from pml.runtime.upstream.stdio import Streams, stdio_transport
from pml.runtime.upstream.value import outcome

_MESSAGE_FACTOR = 4
"""A message may hold a result twice (as text and structured), escaped the first time."""
_CLOSE_S = 6.0
"""More than a process may take to stop; a session that lasts longer is cancelled."""
_RELISTEN_S = 5.0

for _name in ("mcp", "client", "httpx2"):
    # What these say of a failure we say ourselves; without a handler they print to stderr.
    logging.getLogger(_name).addHandler(logging.NullHandler())

_log = structlog.get_logger(__name__)
_Result = TypeAdapter[CallToolResult | InputRequiredResult](CallToolResult | InputRequiredResult)


class Connection:
    """A session that was open when `open` returned it."""

    def __init__(
        self,
        config: ServerConfig,
        *,
        limits: Limits,
        reaper: ReapsGroups,
        environment: Mapping[str, str],
        on_listing: Callable[[Listing], Awaitable[None]],
    ) -> None:
        self.config = config
        self.listing = Listing((), ())
        self.process: ServerProcess | None = None
        self.protocol_version: str | None = None
        self.server_version: str | None = None
        self.end_reason: str | None = None
        self._limits = limits
        self._reaper = reaper
        self._environment = environment
        self._on_listing = on_listing
        self._faults = Faults(limits)
        self._over = anyio.Event()
        self._changed = anyio.Event()
        self._scope = anyio.CancelScope()
        self._opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._in_flight = 0
        self._answers = 0
        self._task: asyncio.Task[None] | None = None

    @property
    def lost(self) -> bool:
        """Whether the session is over or ending."""
        return self._over.is_set() or self._task is None or self._task.done()

    async def open(self) -> None:
        """Start the server or reach it, shake hands, list its tools.

        Raises:
            UpstreamUnavailableError: says what went wrong, in words for people.
        """
        self._task = asyncio.create_task(self._run(), name=f"upstream {self.config.name}")
        try:
            both: tuple[asyncio.Future[Any], ...] = (self._opened, self._task)
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self.close()
            raise
        if not self._opened.done():
            await self._task
            raise UpstreamUnavailableError(self.config.name, self.end_reason or "was closed")

    async def close(self) -> None:
        """End the session and the server's processes within seconds, also when cancelled."""
        self._over.set()
        if self._task is None:
            return
        patience_s = _CLOSE_S if self._opened.done() else 0
        late = asyncio.get_running_loop().call_later(patience_s, self._scope.cancel)
        try:
            await outlast([self._task], timeout_s=2 * _CLOSE_S)
        finally:
            late.cancel()
            if not self._task.done():
                _log.error("server_session_stuck", server=self.config.name)
                self._task.cancel()

    async def call(self, tool: str, arguments: dict[str, Any]) -> Outcome:
        """One request and its answer.

        Raises:
            UpstreamUnavailableError: nothing was sent, or the server did not act on it.
            OutcomeUnknownError: it was sent, and no answer came in time.
        """
        config = self.config
        with call_span(
            config.name, tool, transport=config.transport, protocol=self.protocol_version
        ) as ended:
            result = await self._call(tool, arguments)
            ended(result)
        return result

    async def _call(self, tool: str, arguments: dict[str, Any]) -> Outcome:
        if self.lost:
            raise SessionGoneError(self.config.name, self.end_reason or "the session has ended")
        timeout_s = self.config.call_timeout_s or self._limits.call_timeout_s
        listed = self.listing.find(tool)
        self._in_flight += 1
        try:
            async with asyncio.timeout(timeout_s):
                result = await self._send(self._opened.result(), tool, arguments)
        except TimeoutError as exc:
            message = (
                f"no answer of {tool!r} within {timeout_s:g} s (call_timeout_s): ask it for less "
                "at once, or set callTimeoutS of the server in mcp.json"
            )
            raise OutcomeUnknownError(self.config.name, message, timed_out=True) from exc
        except MCPError as exc:
            return self._failed(exc)
        except ValidationError as exc:
            reason = str(exc.errors()[0]["msg"])
            return Failed(code="bad_result", message=f"the answer breaks the protocol: {reason}")
        finally:
            self._in_flight -= 1
        self._answers += 1
        return self._outcome(tool, listed, result)

    def _outcome(
        self, tool: str, listed: Tool | None, result: CallToolResult | InputRequiredResult
    ) -> Outcome:
        if isinstance(result, InputRequiredResult):
            message = "the server asks for input (elicitation, sampling), which PML does not give"
            return Failed(code="input_required", message=message)
        return outcome(
            result,
            wrapped=listed is not None and listed.wraps_result(),
            parses_text=self.config.parses_text(tool),
            limits=self._limits,
        )

    async def _send(
        self, client: Client, tool: str, arguments: dict[str, Any]
    ) -> CallToolResult | InputRequiredResult:
        # Not Client.call_tool: it lists the tools again, and validates with a slow library.
        params = CallToolRequestParams(name=tool, arguments=arguments)
        request = CallToolRequest(params=params)
        try:
            return await client.session.send_request(request, _Result)
        except MCPError as exc:
            if exc.code != HEADER_MISMATCH or self._faults.kind(exc.data) is not None:
                raise
            await self._refresh(client)  # the tool's schema has changed: it was not called
            return await client.session.send_request(request, _Result)

    def _failed(self, exc: MCPError) -> Failed:
        """The outcome of a call that was answered with an error.

        Raises:
            UpstreamUnavailableError: the error means that nothing was done.
            OutcomeUnknownError: the error means that the connection is gone.
        """
        try:
            failed = read_error(self.config.name, exc, self._faults)
        except (SessionGoneError, OutcomeUnknownError) as error:
            if isinstance(error, SessionGoneError) or self.process is not None:
                self._lose(str(error))
            raise
        self._answers += 1
        return failed

    async def _run(self) -> None:
        """Hold the session from its opening to its end; the end's reason is left behind."""
        timeout_s = self.config.connect_timeout_s or self._limits.connect_timeout_s
        try:
            with self._scope:
                self._scope.deadline = anyio.current_time() + timeout_s
                async with self._client() as client:
                    await self._shake_hands(client)
                    self._scope.deadline = math.inf
                    self._opened.set_result(client)
                    await self._hold(client)
        except Exception as exc:  # noqa: BLE001  # the border: any failure ends this session only
            self._lose(connect_failure(exc, self._faults))
            _log.debug("server_session_failed", server=self.config.name, exc_info=exc)
        if self._scope.cancelled_caught and not self._over.is_set():
            self._lose(f"did not answer within {timeout_s:g} s (connect_timeout_s)")
        if self.process is not None and self.end_reason is not None:
            self.end_reason += self.process.last_said()
        self._over.set()

    def _client(self) -> Client:
        return Client(
            self._transport(),
            mode=self.config.protocol,
            cache=None,
            message_handler=self._on_message,
            client_info=Implementation(name="pml", version=version("pml")),
        )

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[Streams]:
        message_bytes = _MESSAGE_FACTOR * self._limits.result_bytes
        if self.config.url is not None:
            http = http_client(
                self.config.headers, faults=self._faults, message_bytes=message_bytes
            )
            async with (
                http,
                streamable_http_client(
                    self.config.url, http_client=http, max_sse_event_size=None
                ) as streams,
            ):
                yield streams  # type: ignore[misc]
            return
        assert self.config.command is not None
        self.process = ServerProcess(
            (self.config.command, *self.config.args),
            env=server_environment(self._environment, self.config.env),
            cwd=self.config.cwd,
            reaper=self._reaper,
        )
        async with stdio_transport(
            self.process, faults=self._faults, on_end=self._lose, line_bytes=message_bytes
        ) as streams:
            yield streams

    async def _shake_hands(self, client: Client) -> None:
        self.protocol_version = client.protocol_version
        if client.server_info is not None:
            self.server_version = f"{client.server_info.name} {client.server_info.version}"
        await self._refresh(client)

    async def _hold(self, client: Client) -> None:
        """Look after the open session until it is over."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._follow_changes, client)
            tasks.start_soon(self._keep_alive, client)
            if self._modern and (tools := client.server_capabilities.tools) and tools.list_changed:
                tasks.start_soon(self._listen, client)
            await self._over.wait()
            tasks.cancel_scope.cancel()

    @property
    def _modern(self) -> bool:
        return self.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def _refresh(self, client: Client) -> None:
        self.listing = await list_tools(client, self.config.name)
        await self._on_listing(self.listing)

    async def _follow_changes(self, client: Client) -> None:
        while True:
            await self._changed.wait()
            self._changed = anyio.Event()
            try:
                with anyio.fail_after(self._limits.call_timeout_s):
                    await self._refresh(client)
            except (MCPError, TimeoutError, ValidationError) as exc:
                _log.warning("tools_not_listed", server=self.config.name, exc_info=exc)

    async def _listen(self, client: Client) -> None:
        """Follow changes of the listing on the stateless protocol, which has to be asked."""
        while True:
            try:
                async with client.listen(tools_list_changed=True) as events:
                    async for _ in events:
                        self._changed.set()
            except (MCPError, SubscriptionLost) as exc:
                _log.debug("listen_lost", server=self.config.name, reason=str(exc))
            await anyio.sleep(_RELISTEN_S)
            self._changed.set()  # nothing is replayed: something may have been missed

    async def _keep_alive(self, client: Client) -> None:
        """Ask for a sign of life when nothing has been heard for a while.

        Not while a call runs: a server may be busy with it, and calls have their own bound.
        """
        while True:
            heard = self._answers
            await anyio.sleep(self.config.ping_s)
            if self._in_flight or self._answers != heard:
                continue
            try:
                with anyio.fail_after(self.config.ping_timeout_s):
                    await self._ping(client)
            except TimeoutError:
                self._lose(f"gave no sign of life for {self.config.ping_timeout_s:g} s")
            except MCPError as exc:
                if self._faults.kind(exc.data) is not None:
                    self._lose(exc.message)

    async def _ping(self, client: Client) -> None:
        if self._modern:  # this protocol has no ping
            assert self.protocol_version is not None
            await client.session.send_discover(self.protocol_version)
        else:
            await client.session.send_ping()

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._changed.set()

    def _lose(self, reason: str) -> None:
        """End the session; the first reason stays."""
        if self.end_reason is None and not self._over.is_set():
            self.end_reason = reason
        self._over.set()
