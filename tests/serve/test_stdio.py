"""The stdio side over real pipes (MCP-5, MCP-6, EX-9)."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from pml.domain.limits import Limits
from pml.serve.endpoint import Endpoint
from pml.serve.stdio import serve_pipes
from tests.serve.stand_in import StandIn
from tests.serve.wire import LEGACY, MODERN, call_body, rpc

HOLD = {"intent": "hold on", "code": "hold"}


@dataclass
class Pipes:
    """The client's end of a server on two pipes."""

    bench: StandIn
    serving: "asyncio.Task[None]"
    sink: int
    reader: asyncio.StreamReader
    revision: str = MODERN

    async def write(self, line: bytes) -> None:
        await asyncio.to_thread(os.write, self.sink, line + b"\n")

    async def read(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(await self.reader.readline())
        return message

    async def open(self, revision: str) -> None:
        self.revision = revision
        if revision == LEGACY:
            info = {"name": "test", "version": "1"}
            params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": info}
            await self.write(rpc("initialize", params, 0))
            assert (await self.read())["result"]["protocolVersion"] == LEGACY
            await self.write(rpc("notifications/initialized", {}, None))

    async def send(self, body: bytes) -> None:
        message = json.loads(body)
        if self.revision == MODERN:
            params = message.setdefault("params", {})
            params["_meta"] = params.get("_meta", {}) | {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
            }
        await self.write(json.dumps(message).encode())

    async def still_serves(self) -> bool:
        await self.send(call_body("pml_execute", {"intent": "x", "code": "1"}, id_=99))
        answer = await self.read()
        status = answer["result"]["structuredContent"]["status"]
        return (answer["id"], status) == (99, "success")


@pytest.fixture
async def pipes() -> AsyncIterator[Pipes]:
    from_client, sink = os.pipe()
    source, to_client = os.pipe()
    bench, limits = StandIn(), Limits(request_bytes=100_000)
    endpoint = Endpoint(bench, limits=limits)
    serving = asyncio.create_task(serve_pipes(endpoint, from_client, to_client, limits))
    reader = asyncio.StreamReader(limit=1_000_000)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(source, "rb")
    )
    pipes = Pipes(bench, serving, sink, reader)
    yield pipes
    if pipes.sink >= 0:
        os.close(pipes.sink)
    await serving
    await endpoint.close()
    transport.close()
    os.close(from_client)
    os.close(to_client)


@pytest.fixture(params=[MODERN, LEGACY])
async def client(pipes: Pipes, request: pytest.FixtureRequest) -> Pipes:
    await pipes.open(request.param)
    return pipes


async def test_tools_are_listed_and_called(client: Pipes) -> None:
    await client.send(rpc("tools/list", {}, 1))
    names = [tool["name"] for tool in (await client.read())["result"]["tools"]]
    assert names[:3] == ["pml_discover", "pml_execute", "pml_get_task_result"]
    assert await client.still_serves()


async def test_events_become_progress_before_the_answer(client: Pipes) -> None:
    body = call_body("pml_execute", {"intent": "x", "code": "1"}, progress="p")
    await client.send(body)
    first, second, answer = [await client.read() for _ in range(3)]
    assert [m["params"]["message"] for m in (first, second)] == [
        "n1 fs.read started",
        "n1 fs.read done in 12 ms",
    ]
    assert answer["result"]["isError"] is False


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        (b"hello", -32700, "no JSON"),
        (b"\xff\xfe", -32700, "no JSON"),
        (b"[" * 300 + b"]" * 300, -32700, "deeper than 200"),
        (b'{"a":' * 10_000, -32700, "deeper"),
        (b'"' + b"x" * 100_001 + b'"', -32600, "100,003 bytes"),
        (b"7", -32600, "expected one JSON-RPC 2.0 message"),
        (b"[]", -32600, "expected one JSON-RPC 2.0 message"),
        (b'{"jsonrpc":"1.0","id":1,"method":"x"}', -32600, "jsonrpc"),
    ],
)
async def test_what_is_no_message_is_answered_and_the_next_one_served(
    client: Pipes, line: bytes, code: int, said: str
) -> None:
    await client.write(line)
    answer = await client.read()
    assert (answer["error"]["code"], answer.get("id")) == (code, None)
    assert said in answer["error"]["message"]
    assert await client.still_serves()


async def test_a_bad_argument_is_an_error_that_names_it(client: Pipes) -> None:
    await client.send(call_body("pml_execute", {"intent": 7}))
    error = (await client.read())["error"]
    assert (error["code"], error["message"].partition(":")[0]) == (-32602, "intent")


async def test_a_cancelled_request_cancels_its_run_and_stays_unanswered(client: Pipes) -> None:
    await client.send(call_body("pml_execute", HOLD, id_=5))
    await client.bench.act.started.wait()
    await client.send(rpc("notifications/cancelled", {"requestId": 5}, None))
    await client.bench.act.cancelled.wait()
    assert await client.still_serves()


async def test_a_client_that_leaves_takes_its_run_with_it(client: Pipes) -> None:
    await client.send(call_body("pml_execute", HOLD, id_=5))
    await client.bench.act.started.wait()
    os.close(client.sink)
    client.sink = -1
    await client.serving
    assert client.bench.act.cancelled.is_set()


def test_what_others_print_does_not_reach_the_wire() -> None:
    script = """
import os, subprocess
from pml.serve.stdio import _wire
with _wire() as (source, sink):
    print("a library prints", flush=True)
    os.write(1, b"so does one in C\\n")
    subprocess.run(["echo", "and a child"], check=True)
    os.write(sink, b"protocol: " + os.read(source, 100))
    print("read", os.read(0, 10))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], input=b"hello", capture_output=True, check=True
    )
    assert done.stdout == b"protocol: hello"
    assert done.stderr.splitlines() == [
        b"a library prints",
        b"so does one in C",
        b"and a child",
        b"read b''",
    ]
