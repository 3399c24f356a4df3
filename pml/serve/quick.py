"""A shorter way to the tools that answer at once: the SDK's answers at a third of its cost.

The SDK validates and converts each message several times, which for a discovery takes longer
than the search (docs/decisions/0005).  Here a request of the newer revision that is regular
in every respect is answered directly; whatever is not goes to the SDK, so that there is one
judge of what is wrong.  Both ways give the same JSON (tests/serve/test_quick.py).
"""

from functools import lru_cache
from typing import Any, Literal

import msgspec
from litestar.types import Scope, Send
from mcp.server import Server
from mcp.server.streamable_http import check_accept_headers
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundModernRoute,
    classify_inbound_request,
    find_duplicated_routing_header,
)
from mcp_types import SERVER_INFO_META_KEY
from mcp_types.methods import validate_client_request
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from starlette.requests import Request

from pml.serve.definitions import QUICK
from pml.serve.endpoint import BODY, Endpoint
from pml.serve.message_span import message_span

_METAS = 256
"""Clients send the same metadata with each request; those of so many are remembered."""
_REMEMBERED_BYTES = 10_000
"""Of one of them; the SDK takes what is longer."""


_TRACE = ("traceparent", "tracestate", "baggage")
_TRACED = b'"traceparent"'


class _Params(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    meta: msgspec.Raw = msgspec.field(name="_meta")
    arguments: dict[str, Any] = {}

    @property
    def trace(self) -> dict[str, Any]:
        """What the metadata say of the trace that the request belongs to."""
        if _TRACED not in bytes(self.meta):
            return {}
        meta: dict[str, Any] = msgspec.json.decode(self.meta)
        return {name: meta[name] for name in _TRACE if name in meta}


class _Call(msgspec.Struct, forbid_unknown_fields=True):
    jsonrpc: Literal["2.0"]
    id: int | str
    method: Literal["tools/call"]
    params: _Params


_decoder = msgspec.json.Decoder(_Call)


class QuickCalls:
    """Answers what it can."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._stamp = {SERVER_INFO_META_KEY: _stamp(endpoint.server)}

    async def answered(self, scope: Scope, send: Send) -> bool:
        """Whether the request was regular, and has been answered."""
        call = _read(scope)
        if call is None:
            return False
        status = 200
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": call.id}
        try:
            with message_span(
                call.params.name, call.id, call.params.trace, protocol=_version(scope)
            ) as answered:
                answer = await self._endpoint.answer(call.params.name, call.params.arguments)
                answered(answer)
        except MCPError as exc:
            status = ERROR_CODE_HTTP_STATUS.get(exc.code, 200)
            error = {"code": exc.code, "message": exc.message, "data": exc.data}
            message["error"] = {name: value for name, value in error.items() if value is not None}
        else:
            message["result"] = {
                "content": [{"type": "text", "text": answer.text}],
                "structuredContent": answer.record,
                "isError": answer.is_error,
                "resultType": "complete",
                "_meta": self._stamp,
            }
        await _send(status, msgspec.json.encode(message), send)
        return True


def _read(scope: Scope) -> _Call | None:
    """The call, if everything about it is as it should be."""
    pairs = [(k.decode("latin-1").lower(), v.decode("latin-1")) for k, v in scope["headers"]]
    headers = dict(reversed(pairs))  # of a name that stands there twice, the SDK takes the first
    if (
        headers.get("mcp-protocol-version") not in MODERN_PROTOCOL_VERSIONS
        or headers.get("mcp-name") not in QUICK
        or scope.get("method") != "POST"
        or not headers.get("content-type", "").startswith("application/json")
        or len(headers.get("accept", "")) > _REMEMBERED_BYTES
        or not _acceptable(headers.get("accept", ""))
        or find_duplicated_routing_header(pairs) is not None
    ):
        return None
    try:
        call = _decoder.decode(scope[BODY])  # type: ignore[literal-required]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    text = _untraced(bytes(call.params.meta))
    meta = _sound_meta(text) if len(text) <= _REMEMBERED_BYTES else None
    body = {"method": call.method, "params": {"name": call.params.name, "_meta": meta}}
    if meta is None or not isinstance(
        classify_inbound_request(body, headers=headers), InboundModernRoute
    ):
        return None
    return call


def _untraced(meta: bytes) -> bytes:
    """The metadata without a sound trace, which is another one in each request."""
    if _TRACED not in meta:
        return meta
    found = msgspec.json.decode(meta)
    if not isinstance(found, dict):
        return meta
    kept = {n: v for n, v in found.items() if n not in _TRACE or not isinstance(v, str)}
    return msgspec.json.encode(kept)


@lru_cache(maxsize=_METAS)
def _acceptable(accept: str) -> bool:
    """Whether the SDK answers who takes this: both JSON and event streams."""
    scope = {"type": "http", "headers": [(b"accept", accept.encode("latin-1"))]}
    return all(check_accept_headers(Request(scope)))


@lru_cache(maxsize=_METAS)
def _sound_meta(text: bytes) -> dict[str, Any] | None:
    """The metadata of a request, if the SDK takes it."""
    meta = msgspec.json.decode(text)
    try:
        version = meta["io.modelcontextprotocol/protocolVersion"]
        validate_client_request("tools/call", version, {"name": "x", "_meta": meta})
    except (ValidationError, KeyError, TypeError):
        return None
    assert isinstance(meta, dict)
    return meta


def _version(scope: Scope) -> str:
    """The protocol revision, of a request that was read."""
    return next(
        v.decode("latin-1") for k, v in scope["headers"] if k.lower() == b"mcp-protocol-version"
    )


def _stamp(server: Server[Any]) -> dict[str, Any]:
    return server.server_info_stamp


async def _send(status: int, body: bytes, send: Send) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
