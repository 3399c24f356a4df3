"""Dry runs: the program runs, the world stays as it is, and nothing is learned (EX-6)."""

import dataclasses
import json
from typing import Any

import pytest

from pml.domain.approval import Principal, Role
from pml.domain.capability import Capability
from pml.domain.dag import read_dag
from pml.domain.permissions import Effect
from pml.domain.record import JsonText
from pml.domain.response import ExecuteRequest, ExecuteResponse
from pml.domain.run import Outcome, Returned
from pml.domain.steering import ContinueRequest
from pml.domain.tools import Tool
from pml.loop.act import Act
from pml.loop.steering import Steering
from tests.loop.outside import Outside, echo

pytestmark = pytest.mark.asyncio(loop_scope="module")

COPY = """\
const notes = await mcp.fs.read({ path: "notes.txt" });
const first = await mcp.fs.write({ path: "a", content: notes.path });
const second = await mcp.fs.write({ path: "b", content: "x" });
const put = await mcp.kv.put({ key: "k" });
return [notes, first, second, put];
"""
DEFAULT = {"success": True, "mocked": True}


@pytest.fixture(autouse=True)
def tools(outside: Outside) -> None:
    outside.offer("fs:read", echo, Effect.READ)
    outside.offer("fs:write", echo)
    outside.offer("kv:put", echo, Effect.IDEMPOTENT)


async def run(act: Act, code: str | None = COPY, **more: Any) -> ExecuteResponse:  # noqa: ANN401
    return await act.execute(ExecuteRequest(intent="copy my notes", code=code, **more))


async def dry(
    act: Act, code: str | None = COPY, mocks: dict[str, Any] | None = None
) -> ExecuteResponse:
    return await run(act, code, dry_run=True, dry_run_mocks=mocks or {})


def reached(outside: Outside) -> list[str]:
    return [tool for tool, _ in outside.requests]


async def test_only_tools_that_read_are_reached(act: Act, outside: Outside) -> None:
    answer = await dry(act)
    assert answer.error is None
    assert answer.result == [{"path": "notes.txt"}, DEFAULT, DEFAULT, DEFAULT]
    assert reached(outside) == ["fs:read"]
    assert [task.mocked for task in answer.tasks] == [False, True, True, True]
    (trace,) = await act.store.traces.of_run(answer.workflow_id or "")
    assert trace.dry_run
    assert [task.mocked for task in trace.task_results] == [False, True, True, True]
    assert (await act.store.runs.get(answer.workflow_id or "")).dry_run


async def test_mocks_of_the_request_answer_call_by_call(act: Act, outside: Outside) -> None:
    answer = await dry(
        act, COPY, {"fs:write": [1, {"n": 2}], "*:p?t": None, "fs:read": {"path": "m"}}
    )
    assert answer.result == [{"path": "m"}, 1, {"n": 2}, None]
    assert outside.requests == []


async def test_a_mock_has_the_schema_of_the_tool(act: Act, outside: Outside) -> None:
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    shaped = Tool(server="gh", name="open", output_schema=schema)
    outside.tools_by_server["gh"] = (shaped,)
    answer = await dry(act, "return (await mcp.gh.open({})).id + 1;")
    assert answer.result == 2
    assert outside.requests == []


async def test_nothing_is_learned_and_nothing_is_kept(act: Act, outside: Outside) -> None:
    await dry(act)
    assert await act.store.capabilities.recent(10, hidden=True) == ()
    assert await act.store.tool_dependencies.all() == ()
    assert outside.tools_by_server["fs"][0].observed_schema is None


async def test_a_known_capability_learns_nothing_from_a_dry_run(act: Act, outside: Outside) -> None:
    await run(act)
    outside.requests.clear()
    (before,) = await act.store.capabilities.recent(10)
    answer = await dry(act, code=None)
    assert (answer.mode, answer.status) == ("speculation", "success")
    assert reached(outside) == ["fs:read"]
    again = await dry(act)
    assert again.status == "success"
    assert await act.store.capabilities.recent(10) == (before,)


async def test_what_is_only_mocked_needs_no_approval(act: Act, outside: Outside) -> None:
    outside.needs_approval |= {"fs:write", "kv:put"}
    assert (await dry(act)).status == "success"
    assert (await run(act)).status == "approval_required"
    outside.needs_approval.add("fs:read")
    asked = await dry(act)
    assert asked.status == "approval_required"
    assert [permission.tool for permission in asked.approvals] == ["fs:read"]
    assert reached(outside) == ["fs:read"]


async def test_capabilities_run_dry_too(act: Act, outside: Outside) -> None:
    inner = await learn(act, "return await mcp.fs.write({ path: 'a' });", "write it")
    outer = await learn(act, f"return [await capabilities.{inner.name}()];", "write it twice")
    outside.requests.clear()
    answer = await dry(act, f"return await capabilities.{outer.name}();")
    assert answer.error is None
    assert answer.result == [DEFAULT]
    assert outside.requests == []
    traces = await act.store.traces.recent(3)
    assert [trace.dry_run for trace in traces] == [True] * 3
    mocked = await dry(act, f"return await capabilities.{outer.name}();", {"fs:*": 7})
    assert mocked.result == [7]
    assert (await act.store.capabilities.get(inner.id)).usage_count == 2


async def learn(act: Act, code: str, intent: str) -> Capability:
    answer = await act.execute(ExecuteRequest(intent=intent, code=code))
    assert answer.capability_id is not None, answer.error
    return await act.store.capabilities.get(answer.capability_id)


async def test_a_workflow_runs_dry(act: Act, outside: Outside) -> None:
    tasks = [
        {"id": "w", "tool": "fs:write", "args": {"path": "a"}},
        {"id": "r", "tool": "fs:read", "args": {"path": "$OUTPUT[w].mocked"}},
        {"id": "c", "type": "code_execution", "code": "return [$OUTPUT[r], args];"},
    ]
    dag = read_dag({"workflow": {"tasks": tasks}})
    answer = await run(act, None, dag=dag, dry_run=True)
    assert answer.result == {"w": DEFAULT, "r": {"path": True}, "c": [{"path": True}, {}]}
    assert reached(outside) == ["fs:read"]


async def test_branches_go_as_mocks_say(act: Act, outside: Outside) -> None:
    code = 'if ((await mcp.fs.write({})).ok) return "yes"; return await mcp.fs.write({ no: 1 });'
    assert (await dry(act, code, {"fs:write": [{"ok": True}]})).result == "yes"
    assert (await dry(act, code, {"fs:write": [{"ok": False}, "no"]})).result == "no"
    assert outside.requests == []


async def test_the_server_of_what_is_mocked_may_be_down(act: Act, outside: Outside) -> None:
    async def trip(_tool: str, _arguments: JsonText) -> Outcome:
        outside.down.add("kv")
        return Returned(value="1")

    outside.offer("fs:trip", trip, Effect.READ)
    answer = await dry(act, "await mcp.fs.trip({}); return await mcp.kv.put({ key: 1 });")
    assert answer.result == DEFAULT
    assert reached(outside) == ["fs:trip"]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"dry_run_mocks": {"fs:write": 1}}, "dryRunMocks: expected only together with dryRun"),
        (
            {"dry_run": True, "dry_run_mocks": {"write": 1}},
            "dryRunMocks.write: expected server:tool",
        ),
        ({"dry_run": True, "dry_run_mocks": {"fs:write": []}}, "dryRunMocks.fs:write: expected a"),
    ],
)
async def test_mocks_that_mean_nothing_are_refused(
    act: Act, outside: Outside, request_: dict[str, Any], message: str
) -> None:
    answer = await run(act, **request_)
    assert answer.error is not None
    assert (answer.error.code, answer.error.message[: len(message)]) == ("bad_request", message)
    assert outside.requests == []


async def test_a_result_that_contradicts_its_schema_is_told_where_it_is_real(
    act: Act, outside: Outside
) -> None:
    schema = {"type": "object", "required": ["id"]}
    outside.tools_by_server["fs"] = (Tool(server="fs", name="read", output_schema=schema),)
    answer = await run(act, "return await mcp.fs.read({ path: 'a' });")
    assert answer.result == {"path": "a"}
    (warning,) = answer.warnings
    assert "n1 (fs:read) returned what its server's output schema does not allow" in warning
    assert (await dry(act, "return 1;")).warnings == ()


async def test_a_mock_of_nothing_that_is_called_is_told(act: Act) -> None:
    answer = await dry(act, COPY, {"fs:wrote": 1, "kv:*": 2, "s:x": 3})
    wrote, other = answer.diagnostics
    assert (wrote.code, other.code) == ("idle-mock", "idle-mock")
    said = "dryRunMocks.fs:wrote: the program calls no such tool; did you mean 'fs:write'"
    assert wrote.message.startswith(said)
    assert other.message.startswith("dryRunMocks.s:x: the program calls no such tool")


async def test_mocks_are_kept_with_the_run_for_whoever_goes_on_with_it(act: Act) -> None:
    answer = await dry(act, COPY, {"fs:write": [1, 2]})
    program = await act.store.runs.program(answer.workflow_id or "")
    assert {name: json.loads(text) for name, text in program.mocks.items()} == {"fs:write": [1, 2]}


async def test_a_dry_run_that_paused_goes_on_dry_in_another_process(
    act: Act, outside: Outside
) -> None:
    """EX-5, EX-6: the next mock of a list comes, the write still reaches nobody."""
    code = "return [await mcp.fs.write({}), await mcp.fs.write({}), await mcp.fs.read({ p: 1 })];"
    paused = await run(
        act,
        code,
        dry_run=True,
        dry_run_mocks={"fs:write": ["first", "second"]},
        per_layer_validation=True,
    )
    assert paused.status == "layer_complete"
    other = dataclasses.replace(act, owner="there", under_way=type(act.under_way)(), unclosed={})
    steering = Steering(engine=other, alive=lambda _: True)
    by = Principal(name="ada", role=Role.APPROVER)
    while paused.status == "layer_complete":
        request = ContinueRequest(workflow_id=paused.workflow_id or "")
        paused = await steering.go_on(request, by=by)
    assert paused.result == ["first", "second", {"p": 1}]
    assert reached(outside) == ["fs:read"]
    assert [task.mocked for task in paused.tasks] == [True, True, False]
