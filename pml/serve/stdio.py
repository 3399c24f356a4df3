"""The stdio side: one client, which started this process (MCP-5).

Nothing but protocol may reach stdout, whoever prints: descriptor 1 is turned to stderr
before anything else is opened, and only this module has the real one.

Why not the SDK's transport: it reads lines without a bound, and says nothing to a client
that sent what is no message.
"""

import asyncio
import os
import queue
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from pml.domain.json_text import flaw
from pml.domain.limits import Limits
from pml.runtime.upstream.framing import LineSplitter, OverlongLine
from pml.serve.compose import Settings, workbench
from pml.serve.endpoint import Endpoint
from pml.serve.ready import for_serving, get_ready
from pml.serve.signals import stop_signal

_CHUNK_BYTES = 65_536
_ENDING = (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)


async def serve_stdio(settings: Settings) -> None:
    """Offer PML over stdin and stdout until stdin ends, or SIGINT or SIGTERM comes.

    Raises:
        ConfigError: the configuration cannot be used.
        StoreError: the database cannot be had.
    """
    with _wire() as (source, sink), stop_signal() as stop:
        async with workbench(for_serving(settings)) as bench:
            loading = asyncio.create_task(get_ready(bench))
            endpoint = Endpoint(bench, limits=settings.limits, deprecated=settings.deprecated_tools)
            serving = asyncio.create_task(serve_pipes(endpoint, source, sink, settings.limits))
            stopping = asyncio.create_task(stop.wait())
            await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
            loading.cancel()
            await endpoint.close()
            serving.cancel()
            stopping.cancel()
            await asyncio.wait({serving, stopping})
            if not serving.cancelled():
                await serving


async def serve_pipes(endpoint: Endpoint, source: int, sink: int, limits: Limits) -> None:
    """Serve one client over two descriptors until the first one ends."""
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    server = endpoint.server
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read, source, to_server, to_client.clone(), limits)
        tasks.start_soon(_write, sink, from_server)
        async with to_client:
            await server.run(from_client, to_client, server.create_initialization_options())
        tasks.cancel_scope.cancel()


@contextmanager
def _wire() -> Iterator[tuple[int, int]]:
    """The real stdin and stdout, for us alone; others read nothing and write to stderr."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    try:
        yield source, sink
    finally:  # both stay open: a thread may still wait on them
        os.dup2(source, 0)
        os.dup2(sink, 1)


async def _read(
    source: int,
    to_server: MemoryObjectSendStream[SessionMessage | Exception],
    to_client: MemoryObjectSendStream[SessionMessage],
    limits: Limits,
) -> None:
    """Pass messages on; what is none is answered here."""
    lines = LineSplitter(limits.request_bytes)
    async with to_server, to_client:
        with suppress(*_ENDING):
            async for chunk in _chunks(source):
                for line in lines.feed(chunk):
                    message = _message(line, limits)
                    if isinstance(message, ErrorData):
                        error = JSONRPCError(jsonrpc="2.0", id=None, error=message)
                        await to_client.send(SessionMessage(error))
                    elif message is not None:
                        await to_server.send(SessionMessage(message))


async def _write(sink: int, from_server: MemoryObjectReceiveStream[SessionMessage]) -> None:
    writer = _Writer(sink)
    async with from_server:
        with suppress(*_ENDING):
            async for item in from_server:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                await writer.write(text.encode() + b"\n")


def _message(line: bytes | OverlongLine, limits: Limits) -> JSONRPCMessage | ErrorData | None:
    if isinstance(line, OverlongLine):
        message = (
            f"found a message of {line.length:,} bytes; the limit is {limits.request_bytes:,} "
            "(request_bytes): pass a path or an id instead of data"
        )
        return ErrorData(code=INVALID_REQUEST, message=message)
    if not line.strip():
        return None
    if problem := flaw(line.decode(errors="replace"), limits):
        return ErrorData(code=PARSE_ERROR, message=f"the message {problem}")
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as exc:
        first = exc.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "message"
        message = f"{where}: {first['msg']}; expected one JSON-RPC 2.0 message"
        return ErrorData(code=INVALID_REQUEST, message=message)


async def _chunks(source: int) -> AsyncIterator[bytes]:
    """What arrives, until the end.

    A thread waits for it, as stdin may be anything: a pipe, a terminal, a file.  It is a
    daemon, so that one that waits for ever does not keep the process.
    """
    loop, ready = asyncio.get_running_loop(), asyncio.Queue[bytes](1)

    def pump() -> None:
        with suppress(RuntimeError, asyncio.CancelledError):  # the loop is over
            while True:
                try:
                    chunk = os.read(source, _CHUNK_BYTES)
                except OSError:
                    chunk = b""
                asyncio.run_coroutine_threadsafe(ready.put(chunk), loop).result()
                if not chunk:
                    return

    threading.Thread(target=pump, name="stdin", daemon=True).start()
    while chunk := await ready.get():
        yield chunk


class _Writer:
    """Writes in a thread: a client that does not read must not stop the others' work."""

    def __init__(self, sink: int) -> None:
        self._sink = sink
        self._loop = asyncio.get_running_loop()
        self._work: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="stdout", daemon=True).start()

    async def write(self, data: bytes) -> None:
        """Return when all of it is written.

        Raises:
            OSError: nobody reads any more.
        """
        done = self._loop.create_future()
        self._work.put((data, done))
        await done

    def _run(self) -> None:
        while True:
            data, done = self._work.get()
            failure: OSError | None = None
            try:
                while data:
                    data = data[os.write(self._sink, data) :]
            except OSError as exc:
                failure = exc
            with suppress(RuntimeError):  # the loop is over
                self._loop.call_soon_threadsafe(_settle, done, failure)


def _settle(done: asyncio.Future[None], failure: OSError | None) -> None:
    if done.done():
        return
    if failure is None:
        done.set_result(None)
    else:
        done.set_exception(failure)
