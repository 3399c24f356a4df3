"""A wire to an HTTP server of MCP, for tests of the protocol itself: what is written is chosen."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

MODERN = "2026-07-28"


LEGACY = "2025-11-25"


@dataclass(frozen=True)
class Reply:
    """One HTTP answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The JSON-RPC messages in it, whether it is JSON or an event stream."""
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            lines = self.body.decode().splitlines()
            data = [line[5:].strip() for line in lines if line.startswith("data:")]
            return [json.loads(said) for said in data if said]  # a first one may be empty
        return [json.loads(self.body)] if self.body else []

    @property
    def last(self) -> dict[str, Any]:
        """The answer to the request."""
        return self.messages[-1]


class Wire:
    """One HTTP connection on which the test writes whatever it wants."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @staticmethod
    async def to(port: int) -> "Wire":
        return Wire(*await asyncio.open_connection("127.0.0.1", port))

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def read_reply(self) -> Reply:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        pairs = [line.split(": ", 1) for line in head[1:] if line]
        headers = {name.lower(): value for name, value in pairs}
        status = int(head[0].split()[1])
        if headers.get("transfer-encoding") == "chunked":
            return Reply(status, headers, await self._chunks())
        length = int(headers.get("content-length", "0"))
        return Reply(status, headers, await self._reader.readexactly(length))

    async def _chunks(self) -> bytes:
        body = b""
        while size := int(await self._reader.readline(), 16):
            body += (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readline()
        return body

    async def read_event(self) -> dict[str, str]:
        """The next server-sent event by field; the head of the answer is skipped."""
        fields: dict[str, str] = {}
        while True:
            line = (await self._reader.readline()).decode().rstrip("\r\n")
            name, colon, value = line.partition(":")
            if colon and name in {"id", "event", "data", "retry"}:
                fields[name] = value.removeprefix(" ")
            elif not line and "data" in fields:
                return fields

    async def read_message(self) -> dict[str, Any]:
        """The next JSON-RPC message of an event stream."""
        while not (data := (await self.read_event())["data"]):
            pass
        message: dict[str, Any] = json.loads(data)
        return message

    async def rest(self) -> bytes:
        return await self._reader.read()

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


def post(port: int, body: bytes, headers: dict[str, str] | None = None) -> bytes:
    """The text of a POST to ``/mcp``."""
    lines = {
        "host": f"127.0.0.1:{port}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "content-length": str(len(body)),
    } | (headers or {})
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body


def call_body(name: str, arguments: object, *, id_: int = 1, progress: str | None = None) -> bytes:
    """A call of a tool, in the older revision."""
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    if progress is not None:
        params["_meta"] = {"progressToken": progress}
    return rpc("tools/call", params, id_)


def rpc(method: str, params: object, id_: int | None = 1) -> bytes:
    """One JSON-RPC message; a notification without an id."""
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(message if id_ is None else message | {"id": id_}).encode()


@dataclass
class Client:
    """Speaks one revision to one port, each request on a connection of its own."""

    port: int
    revision: str
    headers: dict[str, str] = field(default_factory=dict)
    capabilities: dict[str, Any] = field(default_factory=dict)

    async def resume(self, event_id: str) -> Wire:
        """Take up the stream of an event again (older revision)."""
        lines = self.headers | {
            "host": f"127.0.0.1:{self.port}",
            "accept": "text/event-stream",
            "last-event-id": event_id,
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        wire = await Wire.to(self.port)
        await wire.write(f"GET /mcp HTTP/1.1\r\n{head}\r\n".encode())
        return wire

    async def open(self) -> "Client":
        self.headers["mcp-protocol-version"] = self.revision
        if self.revision == LEGACY:
            info = {"name": "test", "version": "1"}
            params = {
                "protocolVersion": LEGACY,
                "capabilities": self.capabilities,
                "clientInfo": info,
            }
            reply = await self.send(rpc("initialize", params))
            self.headers["mcp-session-id"] = reply.headers["mcp-session-id"]
            assert (await self.send(rpc("notifications/initialized", {}, None))).status == 202
        return self

    def text(self, body: bytes) -> bytes:
        """The request as it goes over the wire, with what the revision asks for."""
        if self.revision == LEGACY:
            return post(self.port, body, self.headers)
        message = json.loads(body)
        params = message.setdefault("params", {})
        params["_meta"] = params.get("_meta", {}) | {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
        }
        headers = self.headers | {"mcp-method": message["method"]}
        if isinstance(params.get("name"), str):
            headers["mcp-name"] = params["name"]
        return post(self.port, json.dumps(message).encode(), headers)

    async def begin(self, body: bytes) -> Wire:
        """Send a request, and leave its answer on the wire."""
        wire = await Wire.to(self.port)
        await wire.write(self.text(body))
        return wire

    async def send(self, body: bytes) -> Reply:
        wire = await self.begin(body)
        reply = await wire.read_reply()
        await wire.close()
        return reply

    async def call(
        self, name: str, arguments: object, *, id_: int = 1, progress: str | None = None
    ) -> Reply:
        return await self.send(call_body(name, arguments, id_=id_, progress=progress))


async def still_serves(client: Client) -> bool:
    reply = await client.call("pml_execute", {"intent": "x", "code": "1"})
    return bool(reply.last["result"]["structuredContent"]["status"] == "success")
