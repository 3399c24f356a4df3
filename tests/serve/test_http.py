"""The HTTP side on a real socket, with runs that the test holds (MCP-5, MCP-6, OP-3, EX-9)."""

import asyncio
import gc
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pml.errors import ConfigError
from pml.serve.compose import Settings
from pml.serve.http import serve_http
from tests.serve.stand_in import FAILURES, HOLD, Served, served
from tests.serve.wire import LEGACY, MODERN, Client, Wire, call_body, rpc, still_serves


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    async with served() as server:
        yield server


@pytest.fixture(params=[MODERN, LEGACY])
async def client(server: Served, request: pytest.FixtureRequest) -> Client:
    return await Client(server.port, request.param).open()


async def test_a_call_is_answered_with_text_and_structure(client: Client) -> None:
    arguments = {"intent": "x", "code": "1", "options": {"args": {"a": 1}}}
    result = (await client.call("pml_execute", arguments)).last["result"]
    expected = {"status": "success", "workflowId": "r", "result": {"a": 1}}
    assert result["structuredContent"] == expected
    assert json.loads(result["content"][0]["text"]) == expected
    assert not result["isError"]


async def test_a_large_result_is_not_sent_whole(client: Client) -> None:
    arguments = {"intent": "x", "code": "1", "context": {"a": "x" * 100_000}}
    reply = await client.call("pml_execute", arguments)
    content = reply.last["result"]["structuredContent"]
    assert content["resultPreview"] == '{"a": "' + "x" * 1_993
    assert ("result" in content, content["resultChars"]) == (False, 100_009)
    assert len(reply.body) < 10_000


async def test_a_run_that_ended_badly_is_an_error_result(client: Client) -> None:
    result = (await client.call("pml_execute", {"intent": "x", "code": "fail"})).last["result"]
    assert result["isError"] is True


async def test_a_discovery_is_a_list_that_can_be_read(client: Client) -> None:
    result = (await client.call("pml_discover", {"intent": "read", "limit": 2})).last["result"]
    assert result["content"][0]["text"].splitlines() == [
        "mcp.fs.read(args: { path: string }): Promise<string>  // tool, 0.50: Read a file.",
        "mcp.fs.read(args: { path: string }): Promise<string>  // tool, 0.50: Read a file.",
        "... 100 in all; the next begin at offset 10",
    ]


async def test_events_become_progress_that_only_grows(client: Client) -> None:
    reply = await client.call("pml_execute", {"intent": "x", "code": "1"}, progress="p")
    notes = [m["params"] for m in reply.messages if m.get("method") == "notifications/progress"]
    assert [(n["progressToken"], n["progress"], n["message"]) for n in notes] == [
        ("p", 1, "n1 fs.read started"),
        ("p", 2, "n1 fs.read done in 12 ms"),
    ]
    assert "result" in reply.last


@pytest.mark.parametrize("code", list(FAILURES))
async def test_an_error_is_the_same_for_who_watches(client: Client, code: str) -> None:
    arguments = {"intent": "x", "code": code}
    alone = (await client.call("pml_execute", arguments)).last["error"]
    watched = (await client.call("pml_execute", arguments, progress="p")).last["error"]
    assert alone == watched
    assert ("inside PML" in alone["message"]) == (code == "slip")


@pytest.mark.parametrize("progress", [None, "p"])
async def test_who_waits_is_told_that_the_server_stops(
    server: Served, client: Client, progress: str | None
) -> None:
    wire = await client.begin(call_body("pml_execute", HOLD, progress=progress))
    await server.bench.act.started.wait()
    await server.app.endpoint.close()
    error = (await wire.read_reply()).last["error"]
    assert (error["code"], error["message"]) == (-32603, "the run was cancelled")
    await wire.close()


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        (call_body("pml_execute", {"code": "1"}), -32602, "intent: expected"),
        (call_body("pml_execute", {"intent": "x" * 10_001}), -32602, "at most 10,000"),
        (call_body("pml_execute", {"intent": 7}), -32602, "got 7"),
        (call_body("pml_exeute", {}), -32602, "did you mean 'pml_execute'"),
        (call_body("pml_discover", {"intent": "lost"}), -32603, "the database was lost"),
        (call_body("pml_execute", {"intent": "x", "code": "slip"}), -32603, "inside PML"),
        (
            call_body("pml_get_task_result", {"workflow_id": "w", "task_id": "n9"}),
            -32602,
            "no result 'n9' of 'w': it is unknown",
        ),
        (call_body("pml_execute", [1]), -32602, ""),
        (call_body("pml_execute", {"intent": "\ud800"}), None, ""),
        (rpc("tools/explode", {}), -32601, "Method not found"),
    ],
)
async def test_bad_requests_are_answered_with_an_error_that_names_the_field(
    client: Client, body: bytes, code: int | None, said: str
) -> None:
    error = (await client.send(body)).last["error"]
    assert code in {None, error["code"]}
    assert said in error["message"]
    assert await still_serves(client)


async def test_a_client_that_leaves_takes_its_run_with_it(server: Served, client: Client) -> None:
    wire = await client.begin(call_body("pml_execute", HOLD, id_=5))
    await server.bench.act.started.wait()
    await wire.close()
    await server.bench.act.cancelled.wait()
    assert await still_serves(client)


async def test_a_cancelled_request_cancels_its_run(server: Served) -> None:
    """The older revision; in the newer one a client cancels by closing the stream."""
    client = await Client(server.port, LEGACY).open()
    wire = await client.begin(call_body("pml_execute", HOLD, id_=5))
    await server.bench.act.started.wait()
    await client.send(rpc("notifications/cancelled", {"requestId": 5}, None))
    await server.bench.act.cancelled.wait()
    await wire.close()
    assert await still_serves(client)


@pytest.mark.parametrize("revision", [MODERN, LEGACY])
async def test_stopping_closes_runs_first_and_waits_for_nobody(revision: str) -> None:
    async with served() as server:
        client = await Client(server.port, revision).open()
        wire = await client.begin(call_body("pml_execute", HOLD, id_=5))
        idle = await Wire.to(server.port)
        await server.bench.act.started.wait()
    assert server.bench.act.cancelled.is_set()
    await idle.close()
    await wire.close()


async def test_an_abandoned_session_makes_room_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pml.serve.http.MAX_SESSIONS", 1)
    monkeypatch.setattr("pml.serve.http.SESSION_S", 0.05)
    info = {"name": "test", "version": "1"}
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": info}
    async with served() as server:
        await Client(server.port, LEGACY).open()
        another = Client(server.port, LEGACY)
        while (await another.send(rpc("initialize", params))).status != 200:
            pass


async def test_two_hundred_clients_are_served_at_once(server: Served) -> None:
    async def one(number: int) -> object:
        client = await Client(server.port, (MODERN, LEGACY)[number % 2]).open()
        arguments = {"intent": "x", "code": "1", "context": {"n": number}}
        reply = await client.call("pml_execute", arguments)
        return reply.last["result"]["structuredContent"]["result"]["n"]

    assert await asyncio.gather(*map(one, range(200))) == list(range(200))


async def test_clients_that_leave_in_the_middle_leave_nothing_behind(server: Served) -> None:
    client = await Client(server.port, MODERN).open()
    text = client.text(call_body("pml_execute", HOLD))
    for cut in range(1, len(text), 40):
        wire = await Wire.to(server.port)
        await wire.write(text[:cut])
        await wire.close()
    assert await still_serves(client)
    gc.collect()
    tasks = {task.get_coro().__qualname__ for task in asyncio.all_tasks()}  # type: ignore[union-attr]
    assert not [name for name in tasks if "execute" in name]


async def test_an_address_for_others_has_to_be_allowed_and_the_refusal_says_how(
    tmp_path: Path,
) -> None:
    settings = Settings(data_dir=tmp_path / "absent")
    with pytest.raises(ConfigError, match="allow remote clients with --allow-remote"):
        await serve_http(settings, host="0.0.0.0", port=0, announce=print)
    assert not settings.data_dir.exists()


async def test_health_tells_version_and_servers(server: Served) -> None:
    wire = await Wire.to(server.port)
    await wire.write(f"GET /health HTTP/1.1\r\nhost: 127.0.0.1:{server.port}\r\n\r\n".encode())
    reply = await wire.read_reply()
    await wire.close()
    assert json.loads(reply.body) == {"status": "ok", "version": "0.1.0", "servers": []}
