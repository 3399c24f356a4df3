"""Bounds on what stands around the body of a request, and one request at a time (OP-3).

uvicorn waits for ever for the rest of a head, and with httptools for any amount of it, so a
client that dribbles would hold a connection for nothing; the trailers of a chunked body are
headers to it, without any bound.  The body has its bounds in `pml.serve.guard`, which needs
the head first.

Two things of HTTP are declined, as RFC 9110 and 9112 allow.  A request to go on in another
protocol (``Upgrade``, RFC 9110, 7.8) is taken as if it were not there, while the parser would
take the body for the other protocol.  A request that is sent before the one before it is
answered (pipelining, RFC 9112, 9.3.2) is not read: the connection is closed after that
answer.  uvicorn would queue it, and then notice no more that the client has left.
"""

import asyncio

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_S = 5.0
"""From the first byte, or from connecting, to the empty line; who sends half a head holds one of
the places for connections that long."""
HEAD_BYTES = 65_536
"""Of a head, and of whatever else comes without a byte of body: trailers, chunk extensions."""


class BoundedHeads(HttpToolsProtocol):
    """uvicorn's protocol; a connection on which a bound is broken is closed."""

    head_s = HEAD_S
    _timer: asyncio.TimerHandle | None = None
    _bodiless_bytes = 0
    _in_head = True
    _deaf = False
    """Whether what comes is not read any more: a second request before the first answer."""
    _head_to_repeat = b""
    """That of a request that offers an upgrade, without the offer."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first head; at the limit, somebody who waits makes room."""
        super().connection_made(transport)
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            self._make_room()
        self._begin_head()

    def _make_room(self) -> None:
        """Close the connection that would be closed first for saying nothing."""
        others = (other for other in self.connections if isinstance(other, BoundedHeads))
        waiting = [(until, id(other), other) for other in others if (until := other.waits_until())]
        if waiting:
            min(waiting)[2].transport.close()

    def waits_until(self) -> float | None:
        """When this connection is closed unless its client says more; None: it is being served."""
        handle = self._timer or self.timeout_keep_alive_task
        return None if handle is None or self.transport.is_closing() else handle.when()

    def data_received(self, data: bytes) -> None:
        """Parse it, and count what is no body."""
        if self._deaf:
            return
        self._unset_keepalive_if_required()
        self._bodiless_bytes += len(data)
        try:
            self._parse(data)
        except httptools.HttpParserError:
            if not self._deaf:
                self.send_400_response("Invalid HTTP request received.")
            return
        if self._bodiless_bytes > HEAD_BYTES:
            self.transport.close()

    def _parse(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as exc:
            if not self._deaf:
                self._parse(self._head_to_repeat + data[exc.args[0] :])

    def on_message_begin(self) -> None:
        """A head begins; what is left of a chunk counts for it."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._deaf, self.cycle.keep_alive = True, False
            return
        super().on_message_begin()
        self._begin_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; a trailer is none, whatever its name."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is there in time."""
        if self._deaf:
            return
        self._end_head()
        if self.parser.should_upgrade():
            self._head_to_repeat = self._without_offer()
        else:
            super().on_headers_complete()

    def _without_offer(self) -> bytes:
        method = self.parser.get_method()
        if method == b"CONNECT":  # wants a tunnel, whatever the headers say
            message = "not a proxy"
            raise httptools.HttpParserError(message)
        version = self.parser.get_http_version().encode()
        lines = [method + b" " + self.url + b" HTTP/" + version]
        lines += [name + b": " + value for name, value in self.headers if name != b"upgrade"]
        return b"\r\n".join([*lines, b"", b""])

    def on_body(self, body: bytes) -> None:
        """A piece of the body; `pml.serve.guard` counts it."""
        if not self._deaf:
            self._bodiless_bytes = 0
            super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is there, unless it is still to be repeated."""
        if not self._deaf and not self.parser.should_upgrade():
            super().on_message_complete()

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
        self._in_head, self._bodiless_bytes = False, 0

    def _too_slow(self) -> None:
        self._timer = None
        self.transport.close()
