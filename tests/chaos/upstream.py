"""A stdio MCP server that counts: every request is in a file before it is answered.

    python -I -S tests/chaos/upstream.py COUNTER

One line of JSON per request, in one ``write`` with ``O_APPEND``, so that a kill leaves all of it
or nothing: the tool, the id that its caller made up for this one call, the process, and a serial
that the answer carries too.  Imports nothing but the standard library: it is killed often, and
has to be back at once.
"""

import heapq
import json
import os
import select
import sys
import time
import zlib
from collections.abc import Callable
from typing import Any

LONGEST_MS = 50
"""Answers take from 0 to so long, by their id: what is killed in between leaves a doubt."""
_ID = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
_ANSWER = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "serial": {"type": "string"}},
    "required": ["id", "serial"],
}
TOOLS = ("read", "put", "write", "guarded", "fail")
"""What each server offers; permissions.yaml says which effect each has."""


class Server:
    """Reads requests from stdin, and answers each when its time has come."""

    def __init__(self, counter: str) -> None:
        self._file = os.open(counter, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._due: list[tuple[float, int, bytes]] = []
        self._served = 0
        self._input = b""

    def serve(self) -> None:
        """Serve until stdin ends."""
        while True:
            wait_s = max(0.0, self._due[0][0] - time.monotonic()) if self._due else None
            readable, _, _ = select.select([0], [], [], wait_s)
            if readable and not self._read():
                return
            while self._due and self._due[0][0] <= time.monotonic():
                _write(1, heapq.heappop(self._due)[2])

    def _read(self) -> bool:
        chunk = os.read(0, 65_536)
        *lines, self._input = (self._input + chunk).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if "id" in message and "method" in message:
                self._take(message)
        return bool(chunk)

    def _take(self, message: dict[str, Any]) -> None:
        answers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "initialize": self._initialize,
            "tools/list": lambda _: {"tools": [_tool(name) for name in TOOLS]},
            "tools/call": self._call,
            "ping": lambda _: {},
        }
        answer = answers.get(message["method"])
        delay_ms = 0
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if answer is None:
            reply["error"] = {"code": -32601, "message": "no such method"}
        else:
            params = message.get("params", {})
            reply["result"] = answer(params)
            asked = params.get("arguments", {}).get("id")
            delay_ms = 0 if asked is None else zlib.crc32(asked.encode()) % (LONGEST_MS + 1)
        line = json.dumps(reply).encode() + b"\n"
        heapq.heappush(self._due, (time.monotonic() + delay_ms / 1000, self._served, line))
        self._served += 1

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "chaos", "version": "1"},
        }

    def _call(self, params: dict[str, Any]) -> dict[str, Any]:
        asked, serial = params["arguments"]["id"], os.urandom(6).hex()
        seen = {"tool": params["name"], "id": asked, "serial": serial, "pid": os.getpid()}
        _write(self._file, json.dumps(seen).encode() + b"\n")
        if params["name"] == "fail":
            return {"content": [{"type": "text", "text": f"failed {serial}"}], "isError": True}
        value = {"id": asked, "serial": serial}
        text = {"type": "text", "text": json.dumps(value)}
        return {"content": [text], "structuredContent": value, "isError": False}


def _tool(name: str) -> dict[str, Any]:
    tool = {"name": name, "description": f"{name} something by its id", "inputSchema": _ID}
    return tool if name == "fail" else {**tool, "outputSchema": _ANSWER}


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


if __name__ == "__main__":
    Server(sys.argv[1]).serve()
