"""The short way gives the answers of the SDK, and takes only what is regular (MCP-5, MCP-6)."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

from pml.serve.quick import _sound_meta
from tests.serve.stand_in import Served, served
from tests.serve.wire import MODERN, Client, Reply, Wire, call_body, post


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    async with served() as server:
        yield server


@pytest.fixture
def seen_by_sdk(server: Served) -> list[str]:
    """The methods of the requests that the SDK dispatched."""
    seen: list[str] = []

    async def note(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        seen.append(ctx.method)
        return await call_next(ctx)

    server.app.endpoint.server.middleware.append(note)
    return seen


async def both(server: Served, message: dict[str, Any]) -> tuple[Reply, Reply]:
    """The answers to the message as it is, and with a member that only the SDK takes."""
    client = await Client(server.port, MODERN).open()
    short = await client.send(json.dumps(message).encode())
    return short, await client.send(json.dumps(message | {"more": 1}).encode())


@pytest.mark.parametrize("id_", [0, -1, 2**60, "", "seven"])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("pml_discover", {"intent": "read a file"}),
        ("pml_discover", {"intent": "é\U0001f600 \u2028", "limit": 1, "detail": "brief"}),
        ("pml_discover", {"intent": ""}),
        ("pml_discover", {}),
        ("pml_discover", {"intent": "x", "more": [{}]}),
        ("pml_discover", {"intent": "lost"}),
        ("pml_get_task_result", {"workflow_id": "w", "task_id": "n1"}),
    ],
)
async def test_both_ways_give_the_same_answer(
    server: Served, seen_by_sdk: list[str], name: str, arguments: dict[str, Any], id_: int | str
) -> None:
    message = json.loads(call_body(name, arguments)) | {"id": id_}
    short, whole = await both(server, message)
    assert (short.status, short.last) == (whole.status, whole.last)
    assert short.headers["content-type"] == whole.headers["content-type"]
    assert seen_by_sdk == ["tools/call"]


@pytest.mark.parametrize(
    "accept",
    [
        "application/json",
        "application/jsonx, text/event-stream",
        "text/event-stream",
        "application/json;q=0.5, TEXT/*",
        "*/*",
        "application/*, text/event-stream",
        "text/html\r\naccept: */*",
        "*/*\r\naccept: text/html",
        "",
    ],
)
async def test_what_a_client_has_to_accept_is_the_same_both_ways(
    server: Served, accept: str
) -> None:
    client = await Client(server.port, MODERN, {"accept": accept}).open()
    message = json.loads(call_body("pml_discover", {"intent": "x"}))
    short = await client.send(json.dumps(message).encode())
    whole = await client.send(json.dumps(message | {"more": 1}).encode())
    assert (short.status, short.messages) == (whole.status, whole.messages)


async def test_metadata_of_any_size_are_answered_and_only_small_ones_remembered(
    server: Served, seen_by_sdk: list[str]
) -> None:
    message = json.loads(call_body("pml_discover", {"intent": "x"}))
    message["params"]["_meta"] = {"example.com/large": "x" * 100_000}
    client = await Client(server.port, MODERN).open()
    remembered = _sound_meta.cache_info().currsize
    assert (await client.send(json.dumps(message).encode())).status == 200
    assert _sound_meta.cache_info().currsize == remembered
    assert seen_by_sdk == ["tools/call"]


async def test_arguments_may_be_left_out(server: Served) -> None:
    short, whole = await both(server, json.loads(call_body("pml_discover", None)))
    assert (short.status, short.last) == (whole.status, whole.last)


@pytest.mark.parametrize(
    ("change", "headers"),
    [
        ({"jsonrpc": "1.0"}, {}),
        ({"id": None}, {}),
        ({"id": True}, {}),
        ({"id": 1.5}, {}),
        ({"method": "tools/list"}, {}),
        ({"params": {"name": "pml_execute", "arguments": {}}}, {}),
        ({"params": {"name": "pml_discover", "arguments": [1]}}, {}),
        ({"params": {"name": "pml_discover", "_meta": {"progressToken": [1]}}}, {}),
        ({"params": {"name": "pml_discover", "_meta": {}, "requestState": "x"}}, {}),
        ({}, {"mcp-name": "pml_execute"}),
        ({}, {"mcp-method": "tools/list"}),
        ({}, {"mcp-protocol-version": "2027-01-01"}),
        ({}, {"content-type": "text/plain"}),
        ({}, {"accept": "text/html"}),
    ],
)
async def test_what_is_not_regular_is_left_to_the_sdk(
    server: Served, change: dict[str, Any], headers: dict[str, str]
) -> None:
    client = await Client(server.port, MODERN).open()
    message = json.loads(call_body("pml_discover", {"intent": "x"})) | change
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message["params"]["_meta"] = meta | message["params"].get("_meta", {})
    names = {"mcp-method": "tools/call", "mcp-name": "pml_discover"}
    wire = await Wire.to(server.port)
    body = json.dumps(message).encode()
    await wire.write(post(server.port, body, client.headers | names | headers))
    reply = await wire.read_reply()
    await wire.close()
    assert reply.status in {400, 404, 406}
