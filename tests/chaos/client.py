"""An agent over HTTP, one connection per request, which may break at any byte."""

import asyncio
import json
from typing import Any

from tests.serve.wire import MODERN, Client, call_body

ANSWER_S = 300.0
"""More than any run takes; a request that lasts longer hangs, which is a failure by itself."""


class BrokenError(Exception):
    """No whole answer came: the server died, or its connection did."""


class RefusedError(Exception):
    """The server answered with a protocol error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(str(error))
        self.code: int = error["code"]
        self.said: str = error["message"]


async def call(url: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The structured answer of one tool call.

    Raises:
        BrokenError: none came.
        RefusedError: the request was refused, or failed inside PML.
        TimeoutError: none came, and the connection stands.
    """
    client = Client(int(url.rpartition(":")[2]), MODERN)
    await client.open()
    try:
        async with asyncio.timeout(ANSWER_S):
            reply = await client.send(call_body(tool, arguments))
        message = reply.last
    except (OSError, EOFError, ValueError, IndexError) as error:
        raise BrokenError(str(error)) from error
    if "error" in message:
        raise RefusedError(message["error"])
    found: dict[str, Any] = message["result"]["structuredContent"]
    return found


def told(answer: dict[str, Any]) -> str:
    """An answer for a log."""
    return json.dumps(answer)[:2_000]
