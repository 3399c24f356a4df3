"""Bounds on the head of a request: its size, and how long it may take (OP-3).

uvicorn waits for ever for the rest of a head, and with httptools for any amount of it, so a
client that dribbles would hold a connection for nothing.  The body has its bounds in
`pml.serve.guard`, which needs the head first.
"""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_S = 20.0
"""From the first byte, or from connecting, to the empty line."""
HEAD_BYTES = 65_536


class BoundedHeads(HttpToolsProtocol):
    """uvicorn's protocol; a connection whose head breaks a bound is closed."""

    head_s = HEAD_S
    _timer: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first head."""
        super().connection_made(transport)
        self._begin_head()

    def data_received(self, data: bytes) -> None:
        """Count what comes before a head is complete."""
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > HEAD_BYTES:
            self.transport.close()

    def on_message_begin(self) -> None:
        """A head begins; what is left of a chunk counts for it."""
        super().on_message_begin()
        self._begin_head()

    def on_headers_complete(self) -> None:
        """The head is there in time."""
        self._end_head()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more to wait for."""
        self._end_head()
        super().connection_lost(exc)

    def _begin_head(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.head_s, self._too_slow)
        self._in_head = True

    def _end_head(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._in_head, self._head_bytes = False, 0

    def _too_slow(self) -> None:
        self._timer = None
        self.transport.close()
