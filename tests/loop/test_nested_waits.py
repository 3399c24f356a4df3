"""Runs that code calls, where they wait: the run that called them waits with them (EX-10)."""

import asyncio

import pytest

from pml.domain.approval import Principal, Role
from pml.domain.capability import Capability
from pml.domain.events import CapabilityEnd, CapabilityStart, Event
from pml.domain.permissions import Effect
from pml.domain.record import JsonText
from pml.domain.response import ExecuteRequest, ExecuteResponse
from pml.domain.run import Failed, Outcome, Returned, RunState
from pml.domain.steering import (
    AbortRequest,
    ApprovalAnswer,
    ContinueRequest,
    DoubtAction,
    Resolution,
)
from pml.errors import RequestError
from pml.loop.act import Act
from pml.loop.ids import child_run_id
from pml.loop.steering import Steering
from tests.loop.outside import Outside, echo, lose

pytestmark = pytest.mark.asyncio(loop_scope="module")

ADA = Principal(name="ada", role=Role.APPROVER)
WRITE = "return (await mcp.fs.write({ n: args.n ?? 1 })).n;"


@pytest.fixture(autouse=True)
def files(outside: Outside) -> None:
    outside.offer("fs:read", echo, Effect.READ)
    outside.offer("fs:write", echo)


async def run(act: Act, code: str, intent: str = "test", **more: object) -> ExecuteResponse:
    return await act.execute(ExecuteRequest(intent=intent, code=code, **more))  # type: ignore[arg-type]


async def learn(act: Act, code: str, intent: str) -> Capability:
    answer = await run(act, code, intent)
    assert answer.capability_id is not None, answer.error
    return await act.store.capabilities.get(answer.capability_id)


async def a_doubt_two_levels_down(act: Act, outside: Outside) -> ExecuteResponse:
    inner = await learn(act, WRITE, "write notes")
    middle = await learn(act, f"return await capabilities.{inner.name}({{ n: 2 }});", "middle")
    outside.answers["fs:write"] = lose
    return await run(act, f"return [await capabilities.{middle.name}({{}})];")


async def test_a_write_in_doubt_below_is_named_by_its_path_and_decided_at_the_root(
    act: Act, steering: Steering, outside: Outside
) -> None:
    stopped = await a_doubt_two_levels_down(act, outside)
    assert (stopped.status, [t.task_id for t in stopped.in_doubt]) == ("in_doubt", ["n1/n1/n1"])
    assert stopped.workflow_id is not None
    known = await steering.status(stopped.workflow_id)
    assert ([t.task_id for t in known.in_doubt], known.checkpoint_id) == (
        ["n1/n1/n1"],
        stopped.checkpoint_id,
    )
    decided = Resolution(task_id="n1/n1/n1", action=DoubtAction.RESULT, result={"n": 5})
    request = ContinueRequest(workflow_id=stopped.workflow_id, resolutions=(decided,))
    answer = await steering.go_on(request, by=ADA)
    assert (answer.status, answer.result) == ("success", [5])
    sent = len(outside.requests)
    assert (await steering.go_on(request, by=ADA)).result == [5]
    assert len(outside.requests) == sent


async def test_a_run_stopped_on_its_way_tells_at_once_of_doubts_below(
    act: Act, steering: Steering, outside: Outside
) -> None:
    """EX-3: what has to be decided is in the answer that says so, not only in the next one."""

    async def hang(_tool: str, _arguments: JsonText) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError

    inner = await learn(act, WRITE, "write notes")
    outside.answers["fs:write"] = hang
    outside.called.clear()
    running = asyncio.create_task(run(act, f"return await capabilities.{inner.name}({{}});"))
    await outside.called.wait()
    (root,) = [
        r
        for r in await act.store.runs.recent(5)
        if r.state is RunState.RUNNING and not r.parent_run_id
    ]
    await steering.abort(AbortRequest(workflow_id=root.id), by=ADA)
    stopped = await running
    assert (stopped.status, [t.task_id for t in stopped.in_doubt]) == ("in_doubt", ["n1/n1"])


async def test_only_the_root_is_steered(act: Act, steering: Steering, outside: Outside) -> None:
    stopped = await a_doubt_two_levels_down(act, outside)
    assert stopped.workflow_id is not None
    child = child_run_id(stopped.workflow_id, 0)
    for refused in (
        steering.go_on(ContinueRequest(workflow_id=child), by=ADA),
        steering.abort(AbortRequest(workflow_id=child), by=ADA),
    ):
        with pytest.raises(RequestError, match=stopped.workflow_id):
            await refused


async def test_what_a_run_called_ends_with_it(
    act: Act, steering: Steering, outside: Outside
) -> None:
    stopped = await a_doubt_two_levels_down(act, outside)
    assert stopped.workflow_id is not None
    await steering.abort(AbortRequest(workflow_id=stopped.workflow_id), by=ADA)
    child = child_run_id(stopped.workflow_id, 0)
    for run_id in (stopped.workflow_id, child, child_run_id(child, 0)):
        assert (await act.store.runs.get(run_id)).state is RunState.ABORTED


async def test_a_finished_child_is_not_run_again_when_its_caller_goes_on(
    act: Act, steering: Steering, outside: Outside
) -> None:
    inner = await learn(act, WRITE, "write notes")
    code = f"""
      const a = await capabilities.{inner.name}({{ n: 3 }});
      const b = await mcp.fs.write({{ n: 4 }});
      return [a, b.n];
    """
    paused = await run(act, code, per_layer_validation=True)
    assert (paused.status, paused.workflow_id is None) == ("layer_complete", False)
    assert paused.workflow_id is not None
    answer = await steering.go_on(ContinueRequest(workflow_id=paused.workflow_id), by=ADA)
    assert answer.result == [3, 4]
    assert [arguments for _, arguments in outside.requests[1:]] == ['{"n":3}', '{"n":4}']


async def test_an_approval_that_only_a_child_needs_is_asked_for_at_the_root(
    act: Act, steering: Steering, outside: Outside
) -> None:
    """Its tool got stricter while the caller was under way, so no plan covers it."""
    inner = await learn(act, WRITE, "write notes")

    async def stricter(_tool: str, arguments: JsonText) -> Outcome:
        outside.needs_approval.add("fs:write")
        return Returned(value=arguments)

    outside.answers["fs:read"] = stricter
    code = f"await mcp.fs.read({{}}); return await capabilities.{inner.name}({{ n: 3 }});"
    stopped = await run(act, code)
    assert (stopped.status, [p.tool for p in stopped.approvals]) == (
        "approval_required",
        ["fs:write"],
    )
    assert stopped.workflow_id is not None
    assert stopped.approval_id is not None
    known = await steering.status(stopped.workflow_id)
    assert known.approval_id == stopped.approval_id
    answer = await steering.answer(
        ApprovalAnswer(workflow_id=stopped.workflow_id, approved=True), by=ADA
    )
    assert (answer.status, answer.result) == ("success", 3)
    assert [tool for tool, _ in outside.requests].count("fs:write") == 2


async def test_a_plan_that_was_approved_covers_what_it_calls(
    act: Act, steering: Steering, outside: Outside
) -> None:
    inner = await learn(act, WRITE, "write notes")
    outside.needs_approval.add("fs:write")
    stopped = await run(act, f"return await capabilities.{inner.name}({{ n: 3 }});")
    assert stopped.status == "approval_required"
    assert stopped.workflow_id is not None
    request = ApprovalAnswer(workflow_id=stopped.workflow_id, approved=True)
    answer = await steering.answer(request, by=ADA)
    assert (answer.status, answer.result) == ("success", 3), answer.error
    assert (await steering.answer(request, by=ADA)).result == 3
    assert len(outside.requests) == 2


async def test_a_refused_plan_never_runs(act: Act, steering: Steering, outside: Outside) -> None:
    outside.needs_approval.add("fs:write")
    stopped = await run(act, "return await mcp.fs.write({});")
    assert stopped.workflow_id is not None
    request = ApprovalAnswer(
        workflow_id=stopped.workflow_id, approved=False, note="not on a Friday"
    )
    answer = await steering.answer(request, by=ADA)
    assert answer.status == "aborted"
    assert answer.error is not None
    assert "Friday" in answer.error.message
    assert outside.requests == []


async def test_events_tell_when_a_capability_begins_and_what_it_returned(
    act: Act, events: list[Event]
) -> None:
    """EX-9."""
    inner = await learn(act, WRITE, "write notes")
    answer = await run(act, f"return await capabilities.{inner.name}({{ n: 3 }});")
    assert answer.workflow_id is not None
    (start,) = [event for event in events if isinstance(event, CapabilityStart)]
    (end,) = [event for event in events if isinstance(event, CapabilityEnd)]
    assert (start.run_id, start.task_id, start.capability_id) == (
        answer.workflow_id,
        "n1",
        inner.id,
    )
    assert start.child_run_id == child_run_id(answer.workflow_id, 0)
    assert (end.success, end.result) == (True, "3")


async def test_calls_between_capabilities_are_counted_as_edges(act: Act) -> None:
    inner = await learn(act, WRITE, "write notes")
    outer = await learn(
        act,
        f"return [await capabilities.{inner.name}({{}}), await capabilities.{inner.name}({{}})]",
        "twice",
    )
    (edge,) = await act.store.capabilities.dependencies()
    assert (edge.source, edge.target, edge.type, edge.count) == (
        outer.id,
        inner.id,
        "contains",
        2,
    )


async def test_a_child_that_fails_is_an_error_in_its_caller(act: Act, outside: Outside) -> None:
    async def refuse(_tool: str, _arguments: JsonText) -> Outcome:
        return Failed(code="tool_error", message="no such file")

    inner = await learn(act, WRITE, "write notes")
    outside.answers["fs:write"] = refuse
    code = f"try {{ await capabilities.{inner.name}({{}}); }} catch (e) {{ return e.code; }}"
    assert (await run(act, code)).result == "tool_error"


async def test_aborting_the_root_stops_what_it_called(
    act: Act, steering: Steering, outside: Outside
) -> None:
    async def hang(_tool: str, _arguments: JsonText) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError

    inner = await learn(act, "return (await mcp.fs.read({ n: 1 })).n;", "read notes")
    outside.answers["fs:read"] = hang
    outside.called.clear()
    running = asyncio.create_task(run(act, f"await capabilities.{inner.name}({{}});"))
    await outside.called.wait()
    (root,) = [
        r
        for r in await act.store.runs.recent(5)
        if r.state is RunState.RUNNING and not r.parent_run_id
    ]
    answer = await steering.abort(AbortRequest(workflow_id=root.id), by=ADA)
    assert answer.status == "aborted"
    assert (await running).status == "aborted"
    child = await act.store.runs.get(child_run_id(root.id, 0))
    assert child.state is RunState.CANCELLED
