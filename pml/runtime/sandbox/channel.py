"""The socket between PML and its sandboxes: frames, and who may speak.

A frame is four bytes of length (big-endian) and that many bytes of UTF-8 JSON.  The first
frame of a connection is a token; only a token that we wait for makes it a channel, and all
other connections are dropped.
"""

import asyncio
import contextlib
import hmac
import secrets
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from pml.errors import SandboxError

_HEADER_BYTES = 4
_TOKEN_BYTES = 32
_HELLO_BYTES = 256
"""Nobody without a token makes us hold more than this."""
_HELLO_TIMEOUT_S = 5.0
"""A stranger that connects and says nothing is dropped; a sandbox speaks at once."""
_BACKLOG_FRAMES = 64
"""Unread frames after which we stop reading: a flood stays in the sender's memory."""


class ChannelClosedError(SandboxError):
    """The other side is gone."""


class FrameError(SandboxError):
    """The other side announced a frame that is too large."""


class Channel(asyncio.Protocol):
    """One connection.  `receive` may be cancelled without losing a frame."""

    def __init__(self, on_hello: "Callable[[Channel, bytes], None]") -> None:
        self._on_hello: Callable[[Channel, bytes], None] | None = on_hello
        self._max_frame = _HELLO_BYTES
        self._buffer = bytearray()
        self._frames: deque[bytes] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._failure: SandboxError | None = None
        self._transport: asyncio.Transport | None = None
        self._paused = False
        self._hello_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._hello_timer = asyncio.get_running_loop().call_later(_HELLO_TIMEOUT_S, self.close)

    def data_received(self, data: bytes) -> None:
        """Called by asyncio."""
        if self._failure is not None:
            return
        self._buffer += data
        while len(self._buffer) >= _HEADER_BYTES:
            end = _HEADER_BYTES + int.from_bytes(self._buffer[:_HEADER_BYTES], "big")
            if end - _HEADER_BYTES > self._max_frame:
                size = end - _HEADER_BYTES
                self._fail(FrameError(f"a frame of {size} bytes, more than {self._max_frame}"))
                return
            if len(self._buffer) < end:
                return
            frame = bytes(self._buffer[_HEADER_BYTES:end])
            del self._buffer[:end]
            self._accept(frame)

    def _accept(self, frame: bytes) -> None:
        if self._on_hello is not None:
            on_hello, self._on_hello = self._on_hello, None
            on_hello(self, frame)
            return
        self._frames.append(frame)
        if len(self._frames) >= _BACKLOG_FRAMES and not self._paused and self._transport:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def trust(self, max_frame: int) -> None:
        """The token was right: frames up to ``max_frame`` bytes are taken from now on."""
        self._max_frame = max_frame
        if self._hello_timer is not None:
            self._hello_timer.cancel()

    async def receive(self) -> bytes:
        """The next frame.

        Raises:
            ChannelClosedError: there will be none.
            FrameError: it is too large.
        """
        while not self._frames:
            if self._failure is not None:
                raise self._failure
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return self._frames.popleft()

    def send(self, text: bytes) -> None:
        """Queue one frame; to a closed channel this does nothing, `receive` tells."""
        if self._transport is None or self._failure is not None:
            return
        self._transport.write(len(text).to_bytes(_HEADER_BYTES, "big") + text)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio."""
        detail = f": {exc}" if exc else ""
        self._fail(ChannelClosedError(f"the connection to the sandbox ended{detail}"))

    def close(self) -> None:
        """Drop the connection at once.  Idempotent."""
        self._fail(ChannelClosedError("the connection was closed"))

    def _fail(self, error: SandboxError) -> None:
        if self._failure is None:
            self._failure = error
        if self._hello_timer is not None:
            self._hello_timer.cancel()
        if self._transport is not None:
            self._transport.abort()
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Listener:
    """Listens on a loopback port and matches connections with the tokens that we gave out.

    Invariant: a token is good once.
    """

    def __init__(self, *, max_frame: int, check_token: bool = True) -> None:
        self._max_frame = max_frame
        self._check_token = check_token
        self._expected: dict[str, asyncio.Future[Channel]] = {}
        self._server: asyncio.Server | None = None
        self._open: set[Channel] = set()
        self.port = 0
        self.refused = 0
        """Connections dropped because they showed no token of ours."""

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            self._connected, "127.0.0.1", 0, start_serving=False
        )
        self.port = self._server.sockets[0].getsockname()[1]
        try:
            await self._server.start_serving()
        except BaseException:  # cancelled: nobody would get the server, and it would stay open
            self._server.close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for channel in list(self._open):
            channel.close()
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    def expect(self) -> tuple[str, "asyncio.Future[Channel]"]:
        """A new token, and the channel of whoever shows it; cancel the future to forget both."""
        token = secrets.token_hex(_TOKEN_BYTES)
        future: asyncio.Future[Channel] = asyncio.get_running_loop().create_future()
        self._expected[token] = future
        future.add_done_callback(lambda _: self._expected.pop(token, None))
        return token, future

    def _connected(self) -> Channel:
        channel = Channel(self._hello)
        self._open.add(channel)
        return channel

    def _hello(self, channel: Channel, shown: bytes) -> None:
        self._open.discard(channel)
        for token, future in list(self._expected.items()):
            right = hmac.compare_digest(token.encode(), shown)
            if (right or not self._check_token) and not future.done():
                channel.trust(self._max_frame)
                with contextlib.suppress(asyncio.InvalidStateError):
                    future.set_result(channel)
                return
        self.refused += 1
        channel.close()
