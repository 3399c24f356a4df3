"""The streamable HTTP transport: the SDK's, over an HTTP layer that contains every fault.

In the SDK one network error ends the session with all its requests, an answer of any size
is read into memory, and an error status loses its reason.  So this layer lets nothing
through but sound messages of bounded size: whatever else happens to a request becomes a
JSON-RPC error that answers it.
"""

import re
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Final

import httpx2
import msgspec
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from pml.runtime.upstream.faults import FaultKind, Faults

CONNECT_TIMEOUT_S: Final = 10.0
"""For TCP and TLS: a host that does not answer by then is down."""
READ_TIMEOUT_S: Final = 600.0
"""Between two pieces of an answer; calls have their own, shorter, bound."""
_ERROR_BODY_BYTES: Final = 64_000
_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_NOT_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.UnsupportedProtocol,
    httpx2.ProxyError,
)
_REFUSALS = frozenset({408, 429, 503}) | frozenset(range(400, 408)) | {410, 411, 413, 415, 421, 422}
"""Statuses that say that the request was not acted on; others leave it open."""


class _Envelope(msgspec.Struct):
    id: int | str | None = None
    method: str | None = None


class ContainedTransport(httpx2.AsyncBaseTransport):
    """Passes requests on and answers in the server's place where it gave no sound answer."""

    def __init__(
        self, inner: httpx2.AsyncBaseTransport, *, faults: Faults, message_bytes: int
    ) -> None:
        self._inner = inner
        self._faults = faults
        self._limit = message_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The server's answer, or one that says what is wrong."""
        message = _message_of(request)
        if message is None:
            return await self._inner.handle_async_request(request)
        try:
            response = await self._inner.handle_async_request(request)
        except httpx2.TransportError as exc:
            kind = FaultKind.NOT_SENT if isinstance(exc, _NOT_SENT) else FaultKind.LOST
            return self._answer(request, message.id, kind, _describe(exc))
        if response.status_code >= HTTPStatus.BAD_REQUEST:
            return await self._refusal(request, response, message.id)
        if message.id is None or response.is_redirect:
            return response
        return await self._answered(request, response, message.id)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()

    async def _answered(
        self, request: httpx2.Request, response: httpx2.Response, request_id: int | str
    ) -> httpx2.Response:
        if "content-encoding" in response.headers:  # we asked for none: it could hide any size
            await response.aclose()
            return self._answer(request, request_id, FaultKind.UNREADABLE, "it is compressed")
        kind_of = response.headers.get("content-type", "").lower()
        if kind_of.startswith("application/json"):
            return await self._checked(request, response, request_id)
        if kind_of.startswith("text/event-stream"):
            guarded = _GuardedEvents(response, request_id, self._faults, self._limit)
            return httpx2.Response(
                response.status_code, headers=response.headers, stream=guarded, request=request
            )
        await response.aclose()
        if response.status_code == HTTPStatus.ACCEPTED:
            text = "the server accepted the request and gave no answer"
            return self._answer(request, request_id, FaultKind.LOST, text)
        text = f"its content type is {kind_of!r}"
        return self._answer(request, request_id, FaultKind.UNREADABLE, text)

    async def _checked(
        self, request: httpx2.Request, response: httpx2.Response, request_id: int | str
    ) -> httpx2.Response:
        """A JSON answer that is whole, small enough and sound."""
        try:
            body, size = await _bounded(response, self._limit)
        except httpx2.TransportError as exc:
            return self._answer(request, request_id, FaultKind.LOST, _describe(exc))
        if size > self._limit:
            size = int(response.headers.get("content-length", size))
            error = self._faults.too_large(request_id, size)
            return _json_response(request, error.model_dump_json(exclude_unset=True).encode())
        fault = _fault_in(body)
        if fault is not None:
            error = self._faults.unreadable(request_id, fault)
            return _json_response(request, error.model_dump_json(exclude_unset=True).encode())
        return httpx2.Response(
            response.status_code, headers=response.headers, content=body, request=request
        )

    async def _refusal(
        self, request: httpx2.Request, response: httpx2.Response, request_id: int | str | None
    ) -> httpx2.Response:
        """An error status: the server's own JSON-RPC error if it sent one, else ours."""
        try:
            body, _ = await _bounded(response, _ERROR_BODY_BYTES)
        except httpx2.TransportError:
            body = b""
        status = response.status_code
        gone = "mcp-session-id" in request.headers and (
            status == HTTPStatus.NOT_FOUND  # what the protocol says; some servers answer 400
            or (status == HTTPStatus.BAD_REQUEST and b"session" in body.lower())
        )
        if not gone and _is_error(body):
            return httpx2.Response(
                status, headers={"content-type": "application/json"}, content=body, request=request
            )
        phrase = HTTPStatus(status).phrase if status in list(HTTPStatus) else "unknown status"
        said = body[:200].decode(errors="replace").strip()
        text = f"HTTP {status} {phrase}" + (f": {said}" if said else "")
        kind = FaultKind.REFUSED if status in _REFUSALS else FaultKind.LOST
        return self._answer(request, request_id, FaultKind.SESSION_GONE if gone else kind, text)

    def _answer(
        self, request: httpx2.Request, request_id: int | str | None, kind: FaultKind, text: str
    ) -> httpx2.Response:
        if request_id is None:  # a notification: nobody waits, and an error would end the session
            return httpx2.Response(HTTPStatus.ACCEPTED, request=request)
        error = (
            self._faults.unreadable(request_id, text)
            if kind is FaultKind.UNREADABLE
            else self._faults.make(request_id, kind, text)
        )
        return _json_response(request, error.model_dump_json(exclude_unset=True).encode())


class _GuardedEvents(httpx2.AsyncByteStream):
    """Server-sent events that are sound and small enough; a fault ends them with an answer."""

    def __init__(
        self, response: httpx2.Response, request_id: int | str, faults: Faults, limit: int
    ) -> None:
        self._response = response
        self._id = request_id
        self._faults = faults
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        buffer = bytearray()
        searched = 0
        async for chunk in self._response.aiter_raw():
            buffer += chunk
            while (end := _EVENT_END.search(buffer, max(0, searched - 3))) is not None:
                event = bytes(buffer[: end.end()])
                del buffer[: end.end()]
                searched = 0
                data = b"\n".join(_data_lines(event))
                fault = _fault_in(data) if data.strip() else None
                if fault is not None:
                    yield self._last(self._faults.unreadable(self._id, fault).model_dump_json())
                    return
                yield event
            searched = len(buffer)
            if searched > self._limit:
                yield self._last(self._faults.too_large(self._id, searched).model_dump_json())
                return
        if buffer:
            yield bytes(buffer)

    async def aclose(self) -> None:
        await self._response.aclose()

    @staticmethod
    def _last(message: str) -> bytes:
        return b"event: message\ndata: " + message.encode() + b"\n\n"


def http_client(
    headers: dict[str, str], *, faults: Faults, message_bytes: int
) -> httpx2.AsyncClient:
    """A client whose every answer is contained; neither proxies nor ``.netrc`` are consulted."""
    inner = httpx2.AsyncHTTPTransport(limits=httpx2.Limits(max_connections=256))
    return httpx2.AsyncClient(
        headers=headers | {"accept-encoding": "identity"},
        timeout=httpx2.Timeout(CONNECT_TIMEOUT_S, read=READ_TIMEOUT_S),
        transport=ContainedTransport(inner, faults=faults, message_bytes=message_bytes),
        trust_env=False,
    )


def _message_of(request: httpx2.Request) -> _Envelope | None:
    """Id and method of a posted message; None for what is no message."""
    if request.method != "POST":
        return None
    return msgspec.json.decode(request.content, type=_Envelope)


async def _bounded(response: httpx2.Response, limit: int) -> tuple[bytes, int]:
    """The body, and its size; past ``limit`` both say only that it is too large."""
    parts: list[bytes] = []
    size = 0
    try:
        async for chunk in response.aiter_raw():
            size += len(chunk)
            if size > limit:
                return b"", size
            parts.append(chunk)
    finally:
        await response.aclose()
    return b"".join(parts), size


def _data_lines(event: bytes) -> list[bytes]:
    lines = re.split(rb"\r\n|\n|\r", event)
    return [line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]


def _fault_in(body: bytes) -> str | None:
    try:
        jsonrpc_message_adapter.validate_json(body, by_name=False)
    except ValidationError as exc:
        return str(exc.errors()[0]["msg"])
    return None


def _is_error(body: bytes) -> bool:
    try:
        return "error" in msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except msgspec.MsgspecError:
        return False


def _json_response(request: httpx2.Request, body: bytes) -> httpx2.Response:
    return httpx2.Response(
        HTTPStatus.OK, headers={"content-type": "application/json"}, content=body, request=request
    )


def _describe(exc: Exception) -> str:
    return f"{type(exc).__name__}: {exc}" if str(exc) else type(exc).__name__
