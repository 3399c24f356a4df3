"""What stands before the HTTP app: who may ask, how much, how slowly (OP-3, MCP-6).

A browser lets any page send requests to a server on this machine.  It cannot hide where the
page came from, though: the page's origin stands in ``Origin``, and the name that it was
tricked into resolving to this machine (DNS rebinding) stands in ``Host``.  Both must be ours.

The body is read here, whole, with a bound on size and time, before anything is made of it.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPReceiveMessage, Receive, Scope, Send
from mcp_types import INVALID_REQUEST

from pml.domain.json_text import deeper_than
from pml.domain.limits import Limits
from pml.domain.record import to_builtins
from pml.errors import StoreError
from pml.serve.access import Keys, UnknownKeyError
from pml.serve.endpoint import BODY, GONE
from pml.serve.problems import CHALLENGE, MEDIA_TYPE, problem

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
BODY_S = 20.0
"""From the head of a request to the end of its body: 4 MB at 200 kB/s."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """What ``Host`` and ``Origin`` may say."""

    hosts: frozenset[str]
    origins: frozenset[str]

    @staticmethod
    def at(
        host: str, port: int, *, hosts: Iterable[str] = (), origins: Iterable[str] = ()
    ) -> "Allowed":
        """What a client of ``host:port`` says, and what else is named."""
        bare = f"[{host}]" if ":" in host else host
        names = {*LOOPBACK, bare.lower()}
        own = {f"{name}:{port}" for name in names} | (names if port == 80 else set())  # noqa: PLR2004
        return Allowed(
            frozenset(own | {name.lower() for name in hosts}),
            frozenset({f"http://{name}" for name in own} | {name.lower() for name in origins}),
        )


class Refusal(Exception):  # noqa: N818  # an answer, not a failure
    """Why a request is not let through."""

    def __init__(
        self, status: int, message: str, headers: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers


class Guard:
    """An ASGI app around the app that it guards.

    It also tells when the client has left: the scope's `GONE` event is set then, and when
    `stop` is called.
    """

    def __init__(
        self, app: ASGIApp, *, allowed: Allowed, keys: Keys, limits: Limits, body_s: float = BODY_S
    ) -> None:
        self._app = app
        self._allowed = allowed
        self._keys = keys
        self._limits = limits
        self._body_s = body_s
        self._watching: set[asyncio.Task[None]] = set()

    def stop(self) -> None:
        """End every answer that is still being given, as if its client had left."""
        for task in self._watching:
            task.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        try:
            headers = _headers(scope)
            self._check_origin(headers)
            await self._admit(headers, scope)
            body = await self._body(headers, receive)
        except Refusal as refusal:
            await _refuse(refusal, send, as_problem=scope["path"].startswith("/api"))
            return
        if body is None:
            return  # the client left before it had said what it wants
        gone = asyncio.Event()
        scope[GONE] = gone  # type: ignore[literal-required]
        scope[BODY] = body  # type: ignore[literal-required]
        messages = [_request(body)]

        async def replay() -> HTTPReceiveMessage:
            if messages:
                return messages.pop()
            await self._until_gone(receive)
            gone.set()
            return {"type": "http.disconnect"}

        await self._app(scope, replay, send)

    def _check_origin(self, headers: dict[str, str]) -> None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if host.lower() not in self._allowed.hosts:
            raise Refusal(403, f"Host: found {host[:200]!r}; expected {_any(self._allowed.hosts)}")
        if origin is not None and origin.lower() not in self._allowed.origins:
            expected = _any(self._allowed.origins)
            raise Refusal(403, f"Origin: found {origin[:200]!r}; expected none or {expected}")

    async def _admit(self, headers: dict[str, str], scope: Scope) -> None:
        try:
            await self._keys.admit(headers.get("authorization"), scope)
        except UnknownKeyError as exc:
            raise Refusal(401, str(exc), CHALLENGE) from None
        except StoreError as exc:
            raise Refusal(503, f"the key could not be looked up: {exc}") from exc

    async def _body(self, headers: dict[str, str], receive: Receive) -> bytes | None:
        declared = headers.get("content-length", "")
        if declared.isdecimal() and int(declared) > self._limits.request_bytes:
            raise self._too_large()
        try:
            async with asyncio.timeout(self._body_s):
                body = await self._read(receive)
        except TimeoutError:
            message = f"the body did not arrive within {self._body_s:g} s: send it at once"
            raise Refusal(408, message) from None
        if body and deeper_than(body.decode(errors="replace"), self._limits.nesting):
            message = (
                f"the body is nested deeper than {self._limits.nesting} levels (nesting): "
                "make it flatter"
            )
            raise Refusal(400, message)
        return body

    async def _read(self, receive: Receive) -> bytes | None:
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return None
            body += message["body"]
            if len(body) > self._limits.request_bytes:
                raise self._too_large()
            if not message["more_body"]:
                return bytes(body)

    def _too_large(self) -> Refusal:
        limit = self._limits.request_bytes
        return Refusal(
            413,
            f"the body is larger than {limit:,} bytes (request_bytes): pass a path or an id "
            "instead of data",
        )

    async def _until_gone(self, receive: Receive) -> None:
        """Return when the client has left or the server stops."""
        left = asyncio.create_task(_disconnected(receive))
        self._watching.add(left)
        try:
            await asyncio.wait({left})
        finally:
            left.cancel()
            self._watching.discard(left)


async def _disconnected(receive: Receive) -> None:
    with suppress(OSError):
        while (await receive())["type"] == "http.request":
            pass


def _headers(scope: Scope) -> dict[str, str]:
    """The headers by name; of a name that stands there twice, all values, which match nothing."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _any(names: Iterable[str]) -> str:
    return " or ".join(sorted(names))


def _request(body: bytes) -> HTTPReceiveMessage:
    return {"type": "http.request", "body": body, "more_body": False}


async def _refuse(refusal: Refusal, send: Send, *, as_problem: bool) -> None:
    error = {"code": INVALID_REQUEST, "message": refusal.message}
    told: object = {"jsonrpc": "2.0", "id": None, "error": error}
    if as_problem:
        told = to_builtins(problem(refusal.status, refusal.message))
    body = json.dumps(told).encode()
    kind = MEDIA_TYPE if as_problem else "application/json"
    await send(
        {
            "type": "http.response.start",
            "status": refusal.status,
            "headers": [
                (b"content-type", kind.encode()),
                (b"content-length", str(len(body)).encode()),
                (b"connection", b"close"),  # what is left of the body is not read
                *((name.encode(), value.encode()) for name, value in refusal.headers.items()),
            ],
        }
    )
    await send({"type": "http.response.body", "body": body, "more_body": False})
