"""Capabilities called by code run through the same path, as runs of their own (EX-10)."""

import asyncio
import json

import pytest

from pml.domain.capability import Capability
from pml.domain.permissions import Effect
from pml.domain.record import JsonText, to_builtins
from pml.domain.response import ExecuteRequest, ExecuteResponse
from pml.domain.run import Failed, Outcome, Returned, RunState
from pml.loop.act import Act
from tests.loop.outside import Outside, echo, lose

pytestmark = pytest.mark.asyncio(loop_scope="module")

READ = 'return await mcp.fs.read({ path: "notes.txt" });'


@pytest.fixture(autouse=True)
def files(outside: Outside) -> None:
    outside.offer("fs:read", echo, Effect.READ)
    outside.offer("fs:write", echo)


async def run(act: Act, code: str, intent: str = "test", **args: object) -> ExecuteResponse:
    return await act.execute(ExecuteRequest(intent=intent, code=code, args=args))


async def learn(act: Act, code: str, intent: str) -> Capability:
    answer = await run(act, code, intent)
    assert answer.capability_id is not None, answer.error
    return await act.store.capabilities.get(answer.capability_id)


async def test_code_calls_a_capability_with_its_own_arguments(act: Act, outside: Outside) -> None:
    inner = await learn(act, READ, "read notes")
    answer = await run(
        act, f'return (await capabilities.{inner.name}({{ path: "b.txt" }})).path + "!";'
    )
    assert (answer.status, answer.result) == ("success", "b.txt!")
    assert outside.requests[-1] == ("fs:read", '{"path":"b.txt"}')


async def test_its_trace_names_the_trace_of_the_caller_and_counts_as_usage(act: Act) -> None:
    inner = await learn(act, READ, "read notes")
    answer = await run(act, f"return await capabilities.{inner.name}({{}});")
    children = [t for t in await act.store.traces.recent(10) if t.parent_trace_id]
    (child,) = children
    assert child.parent_trace_id == answer.workflow_id
    assert child.capability_id == inner.id
    assert (await act.store.capabilities.get(inner.id)).usage_count == 2


async def test_the_version_is_pinned_when_another_takes_the_name(act: Act) -> None:
    first = await learn(act, READ, "read notes")
    outer = await learn(act, f"return await capabilities.{first.name}({{}});", "get it")
    await act.store.capabilities.rename(first.id, "old_notes", now_ms=1)
    second = await learn(act, 'return await mcp.fs.write({ path: "w" });', "write notes")
    await act.store.capabilities.rename(second.id, first.name, now_ms=2)
    answer = await act.execute(ExecuteRequest(intent="get it"))
    assert (answer.status, answer.mode) == ("success", "speculation")
    assert answer.capability_id == outer.id
    assert answer.result == {"path": "notes.txt"}


async def test_an_unknown_capability_is_an_error_that_names_the_nearest(act: Act) -> None:
    await learn(act, READ, "read notes")
    answer = await run(act, "return await capabilities.read_note({});")
    assert answer.error is not None
    assert answer.error.code == "unknown-capability"


async def test_its_tools_need_the_same_approval_as_the_callers_own(
    act: Act, outside: Outside
) -> None:
    inner = await learn(act, READ, "read notes")
    outside.needs_approval.add("fs:read")
    answer = await run(act, f"return await capabilities.{inner.name}({{}});")
    assert answer.status == RunState.APPROVAL_REQUIRED
    assert [p.tool for p in answer.approvals] == ["fs:read"]
    assert len(outside.requests) == 1


async def test_its_error_is_catchable_in_the_caller(act: Act, outside: Outside) -> None:
    async def refuse(_tool: str, _arguments: JsonText) -> Outcome:
        return Failed(code="tool_error", message="no such file")

    inner = await learn(act, READ, "read notes")
    outside.answers["fs:read"] = refuse
    answer = await run(
        act,
        f"try {{ await capabilities.{inner.name}({{}}); }}"
        " catch (e) { return [e instanceof ToolError, e.message]; }",
    )
    assert answer.status == "success"
    is_tool_error, message = to_builtins(answer.result)
    assert is_tool_error is True
    assert "no such file" in message


async def test_a_write_in_doubt_inside_freezes_the_caller(act: Act, outside: Outside) -> None:
    inner = await learn(act, 'return await mcp.fs.write({ path: "a" });', "write notes")
    outside.answers["fs:write"] = lose
    answer = await run(
        act, f"try {{ await capabilities.{inner.name}({{}}); }} catch {{ return 1; }}"
    )
    assert answer.status == RunState.IN_DOUBT


async def test_capabilities_side_by_side_and_many_levels_do_not_wait_for_each_other(
    act: Act,
) -> None:
    inner = await learn(act, READ, "level zero")
    for level in range(1, 9):
        code = f"return await capabilities.{inner.name}({{}});".replace(
            "return", f"const v{level} ="
        )
        code += f" return [{level}, v{level}];"
        inner = await learn(act, code, f"level {level} of many")
    many = ", ".join(f"capabilities.{inner.name}({{}})" for _ in range(2))
    answer = await asyncio.wait_for(run(act, f"return await Promise.all([{many}]);"), 60)
    assert answer.error is not None
    assert answer.error.code == "too_deep"


async def test_arguments_of_a_capability_are_checked_before_it_runs(
    act: Act, outside: Outside
) -> None:
    inner = await learn(act, READ, "read notes")
    answer = await run(act, f"return await capabilities.{inner.name}({{ pth: 1 }});")
    assert answer.status == "error"
    assert answer.error is not None
    assert "pth" in answer.error.message
    assert len(outside.requests) == 1


@pytest.mark.parametrize("argument", ["null", "[1]", "5", '"tmp"', "true"])
async def test_what_is_no_object_of_arguments_is_refused(
    act: Act, outside: Outside, argument: str
) -> None:
    inner = await learn(act, 'return await mcp.fs.write({ path: "tmp" });', "write notes")
    code = f"const given = JSON.parse({json.dumps(argument)}); "
    answer = await run(act, code + f"return await capabilities.{inner.name}(given);")
    assert answer.status == "error"
    assert len(outside.requests) == 1


async def test_a_fan_of_nested_runs_takes_turns(act: Act, outside: Outside) -> None:
    """No deadlock, and at no time more runs than there are places."""
    under_way, most = 0, 0

    async def count(_tool: str, arguments: JsonText) -> Outcome:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        for _ in range(50):  # others get their turn
            await asyncio.sleep(0)
        under_way -= 1
        return Returned(value=arguments)

    outside.answers["fs:read"] = count
    inner = await learn(act, READ, "read notes")
    fan = f"return await Promise.all([1, 2, 3, 4].map(() => capabilities.{inner.name}({{}})));"
    middle = await learn(act, fan, "read notes often")
    answer = await run(act, fan.replace(inner.name, middle.name).replace("[1", "[0, 1"))
    assert answer.status == "success", answer.error
    assert most <= act.limits.nested_runs


async def test_a_deprecated_callee_keeps_its_caller_from_running_by_itself(
    act: Act, outside: Outside
) -> None:
    async def refuse(_tool: str, _arguments: JsonText) -> Outcome:
        return Failed(code="tool_error", message="no")

    inner = await learn(act, READ, "read notes")
    code = f"try {{ return await capabilities.{inner.name}({{}}); }} catch {{ return 0; }}"
    await learn(act, code, "read them anyway")
    outside.answers["fs:read"] = refuse
    for _ in range(12):
        await run(act, code, "read them anyway")
    answer = await act.execute(ExecuteRequest(intent="read them anyway"))
    assert answer.status == "suggestions"
    assert answer.suggestions is not None
    assert "not proved itself" in answer.suggestions.why
