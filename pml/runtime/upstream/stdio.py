"""The stdio transport: newline-delimited JSON-RPC over a server's pipes.

Why not the SDK's: it reads lines without a bound, gives a broken answer to nobody (the
request then waits for its timeout), discards stderr, and does not tell the reaper.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import structlog
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, jsonrpc_message_adapter
from pydantic import ValidationError

from pml.runtime.upstream.faults import Faults
from pml.runtime.upstream.framing import LineSplitter, OverlongLine, find_request_id
from pml.runtime.upstream.process import ServerProcess

_QUEUE = 4_096
"""Requests that wait for a server that does not read; far more than may be in flight."""

_log = structlog.get_logger(__name__)
_Incoming = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[_Incoming], MemoryObjectSendStream[SessionMessage]]


@asynccontextmanager
async def stdio_transport(
    process: ServerProcess, *, faults: Faults, on_end: Callable[[str], None], line_bytes: int
) -> AsyncIterator[Streams]:
    """Speak with ``process``, and stop it at the end.

    Args:
        process: a started server.
        faults: makes the answers to requests whose real answer is unusable.
        on_end: told why, when the server has closed its end.
        line_bytes: a longer line counts as too large an answer.
    """
    to_session, from_server = anyio.create_memory_object_stream[_Incoming](0)
    to_server, from_session = anyio.create_memory_object_stream[SessionMessage](_QUEUE)
    reader = _Reader(process, to_session, faults, line_bytes)
    stopping = False

    def end(reason: str) -> None:
        if not stopping:  # else it is the end that we made
            on_end(reason)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reader.run, end)
        tasks.start_soon(_write, process, from_session, end)
        try:
            yield from_server, to_server
        finally:
            stopping = True
            try:
                with anyio.CancelScope(shield=True):  # every wait inside is bounded
                    await process.stop()
            finally:  # a loop that ends cancels tasks, whatever shields them
                tasks.cancel_scope.cancel()
                for stream in (to_session, from_server, to_server, from_session):
                    stream.close()


class _Reader:
    def __init__(
        self,
        process: ServerProcess,
        session: MemoryObjectSendStream[_Incoming],
        faults: Faults,
        line_bytes: int,
    ) -> None:
        self._process = process
        self._session = session
        self._faults = faults
        self._lines = LineSplitter(line_bytes)

    async def run(self, on_end: Callable[[str], None]) -> None:
        """Pass messages on until stdout ends; then the session sees its end too."""
        try:
            while chunk := await self._process.read():
                for line in self._lines.feed(chunk):
                    message = self._message(line)
                    if message is not None:
                        await self._session.send(SessionMessage(message))
        except OSError as exc:
            on_end(f"its output failed: {exc}")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            _log.debug("server_session_over", pid=self._process.pid)
        else:
            if self._lines.pending_bytes:
                self._process.note(f"[stdout ended within a line of {self._lines.pending_bytes} B]")
            on_end("closed its output")
        finally:
            self._session.close()

    def _message(self, line: bytes | OverlongLine) -> JSONRPCMessage | None:
        if isinstance(line, OverlongLine):
            request = line.request_id()
            if request is not None:
                return self._faults.too_large(request, line.length)
            self._noise(line.head, f"{line.length} bytes in one line")
            return None
        if not line.strip():
            return None
        try:
            return jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError as exc:
            reason = str(exc.errors()[0]["msg"])
            request = find_request_id(line[:4096], line) if line.lstrip()[:1] == b"{" else None
            if request is not None:
                return self._faults.unreadable(request, reason)
            self._noise(line, reason)
            return None

    def _noise(self, line: bytes, reason: str) -> None:
        text = line[:200].decode(errors="replace")
        self._process.note(f"[no protocol on stdout] {text}")
        _log.debug("server_noise", pid=self._process.pid, reason=reason)


async def _write(
    process: ServerProcess,
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    on_end: Callable[[str], None],
) -> None:
    try:
        async for item in outgoing:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            await process.write(text.encode() + b"\n")
    except (anyio.ClosedResourceError, OSError) as exc:
        _log.debug("server_input_closed", pid=process.pid, reason=repr(exc))
        on_end("closed its input")
