"""The tools of before answer on the path of those that replace them, hidden (MCP-4)."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
import structlog

from pml.domain.dag import DagTask
from pml.domain.limits import Limits
from pml.serve.deprecated import deprecated_tools
from tests.serve.stand_in import Served, served
from tests.serve.wire import LEGACY, Client, call_body, rpc

NAMES = (
    "pml_execute_dag",
    "pml_execute_code",
    "pml_search_tools",
    "pml_search_capabilities",
    "pml_find_capabilities",
)
WORKFLOW = {
    "tasks": [
        {"id": "read", "tool": "fs:read", "args": {"path": "config.json"}},
        {"id": "parse", "tool": "json:parse", "args": {"json": "$OUTPUT[read]"}},
    ]
}
READ = DagTask(id="read", tool="fs:read", arguments={"path": "config.json"})
PARSE = DagTask(id="parse", tool="json:parse", arguments={"json": "$OUTPUT[read]"})


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Served]:
    async with served() as up:
        yield up


async def call(server: Served, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    client = await Client(server.port, LEGACY).open()
    reply: dict[str, Any] = (await client.send(call_body(name, arguments))).last
    return reply


async def listed(server: Served) -> dict[str, str]:
    client = await Client(server.port, LEGACY).open()
    found = (await client.send(rpc("tools/list", {}))).last["result"]["tools"]
    return {tool["name"]: tool["description"] for tool in found}


async def test_they_are_listed_only_where_somebody_asks(server: Served) -> None:
    assert set(await listed(server)) & set(NAMES) == set()
    async with served(deprecated=True) as asked:
        descriptions = await listed(asked)
    for name in NAMES:
        assert descriptions[name].startswith("[DEPRECATED] Use pml_")


async def test_the_workflow_of_the_old_documents_runs(server: Served) -> None:
    reply = await call(server, "pml_execute_dag", {"workflow": WORKFLOW})
    (request,) = server.bench.act.requests
    assert request.dag is not None
    assert request.dag.tasks == (READ, PARSE)
    assert request.intent == "run fs:read, json:parse"
    (warning,) = reply["result"]["structuredContent"]["warnings"]
    assert warning.startswith("[DEPRECATED] pml_execute_dag goes away: use pml_execute")


async def test_code_runs_with_its_context(server: Served) -> None:
    arguments = {"code": "return args.x;", "context": {"x": 1}, "options": {"timeout": 5}}
    reply = await call(server, "pml_execute_code", arguments)
    (request,) = server.bench.act.requests
    assert (request.code, request.timeout_ms) == ("return args.x;", 5)
    assert request.intent == "run return args.x;"
    assert reply["result"]["structuredContent"]["result"] == {"x": 1}


@pytest.mark.parametrize("name", NAMES[2:])
@pytest.mark.parametrize("field", ["query", "intent"])
async def test_searches_find(server: Served, name: str, field: str) -> None:
    found = (await call(server, name, {field: "read a file", "limit": 2}))["result"]
    assert len(found["structuredContent"]["results"]) == 2
    (note,) = found["structuredContent"]["notes"]
    assert note.startswith(f"[DEPRECATED] {name} goes away: use pml_discover")


@pytest.mark.parametrize("name", NAMES)
async def test_a_use_is_logged(server: Served, name: str) -> None:
    arguments = {"query": "x"} if "code" not in name and "dag" not in name else {}
    with structlog.testing.capture_logs() as logs:
        await call(server, name, arguments)
    (log,) = [entry for entry in logs if entry["event"] == "deprecated_tool"]
    assert (log["tool"], log["log_level"]) == (name, "warning")
    assert log["instead"].startswith("pml_")


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("pml_execute_dag", {}, "workflow: expected an object with tasks, got nothing"),
        ("pml_execute_dag", {"tasks": []}, "arguments.tasks: expected at least one task"),
        (
            "pml_execute_dag",
            {"workflow": {"tasks": [{"id": "a", "tool": "read"}]}},
            "workflow.tasks[0].tool: expected server:tool",
        ),
        (
            "pml_execute_dag",
            {"workflow": WORKFLOW, "tasks": []},
            "tasks: means the same as workflow.tasks: give one of them",
        ),
        ("pml_execute_code", {"intent": "x"}, "code: expected TypeScript, got nothing"),
        ("pml_search_tools", {}, "query: expected a sentence that says what is wanted"),
        ("pml_find_capabilities", {"limit": 0}, "limit: expected a whole number from 1 to 100"),
        ("pml_search_tools", {"quary": "x"}, "quary: no such field; did you mean 'query'"),
    ],
)
async def test_bad_input_names_the_field(
    server: Served, name: str, arguments: dict[str, Any], message: str
) -> None:
    error = (await call(server, name, arguments))["error"]
    assert (error["code"], error["message"].startswith(message)) == (-32602, True)
    assert server.bench.act.requests == []


def test_all_five_are_there_and_short() -> None:
    tools = deprecated_tools(Limits())
    assert tuple(tools) == NAMES
    for name, tool in tools.items():
        assert tool.definition.name == name
        assert len(json.dumps(tool.definition.input_schema)) < 600
