"""Pausing, continuing, aborting, replanning (EX-3, EX-5, HIL-4; design, section 5, rule 9)."""

import asyncio
import dataclasses
import json

import pytest

from pml.domain.approval import Principal, Role
from pml.domain.events import DecisionRequired, Event, LayerComplete
from pml.domain.permissions import Effect
from pml.domain.record import JsonText
from pml.domain.response import ExecuteRequest, ExecuteResponse
from pml.domain.run import Outcome, Returned, RunState
from pml.domain.steering import (
    AbortRequest,
    ContinueRequest,
    DoubtAction,
    ReplanRequest,
    Resolution,
)
from pml.errors import NotAllowedError, NotFoundError, RequestError
from pml.loop.act import Act
from pml.loop.steering import Steering
from tests.loop.outside import Outside, echo, lose

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENT = Principal(name="claude", role=Role.AGENT)
APPROVER = Principal(name="ada", role=Role.APPROVER)
THREE_LAYERS = """
  const a = await mcp.fs.write({ step: 1 });
  const [b, c] = await Promise.all([mcp.fs.write({ step: 2 }), mcp.fs.write({ step: 3 })]);
  const d = await mcp.fs.write({ step: 4 });
  return [a.step, b.step, c.step, d.step];
"""


@pytest.fixture(autouse=True)
def files(outside: Outside) -> None:
    outside.offer("fs:read", echo, Effect.READ)
    outside.offer("fs:write", echo)


def elsewhere(steering: Steering, owner: str = "there") -> Steering:
    """The same store and world, from another process."""
    act = steering.engine
    engine = dataclasses.replace(act, owner=owner, under_way=type(act.under_way)(), unclosed={})
    return Steering(engine=engine, alive=steering.alive)


async def start(steering: Steering, code: str = THREE_LAYERS, **options: object) -> ExecuteResponse:
    request = ExecuteRequest(intent="test", code=code, **options)  # type: ignore[arg-type]
    assert isinstance(steering.engine, Act)
    return await steering.engine.execute(request)


async def go_on(steering: Steering, answer: ExecuteResponse, **more: object) -> ExecuteResponse:
    assert answer.workflow_id is not None
    request = ContinueRequest(workflow_id=answer.workflow_id, **more)  # type: ignore[arg-type]
    return await steering.go_on(request, by=APPROVER)


async def test_a_validated_run_pauses_after_each_layer_and_says_what_it_brought(
    steering: Steering, outside: Outside, events: list[Event]
) -> None:
    first = await start(steering, per_layer_validation=True)
    assert (first.status, first.pending_layer, len(outside.requests)) == ("layer_complete", 1, 1)
    assert [task.task_id for task in first.layer_results] == ["n1"]
    assert first.checkpoint_id is not None
    assert first.expires_at_ms is not None
    second = await go_on(steering, first, checkpoint_id=first.checkpoint_id)
    assert (second.status, second.pending_layer, len(outside.requests)) == ("layer_complete", 2, 3)
    assert [task.task_id for task in second.layer_results] == ["n2", "n3"]
    last = await go_on(steering, second)
    assert (last.status, last.result) == ("success", [1, 2, 3, 4])
    assert len(outside.requests) == 4
    layers = [event for event in events if isinstance(event, LayerComplete)]
    assert [layer.pending_layer for layer in layers] == [1, 2]
    assert sum(isinstance(event, DecisionRequired) for event in events) == 2


async def test_a_checkpoint_that_was_continued_is_not_continued_again(
    steering: Steering, outside: Outside
) -> None:
    first = await start(steering, per_layer_validation=True)
    second = await go_on(steering, first, checkpoint_id=first.checkpoint_id)
    again = await go_on(steering, first, checkpoint_id=first.checkpoint_id)
    assert (again.status, again.checkpoint_id) == ("layer_complete", second.checkpoint_id)
    assert again.layer_results == second.layer_results
    assert len(outside.requests) == 3


async def test_two_who_continue_at_once_get_the_same_end(
    steering: Steering, outside: Outside
) -> None:
    first = await start(steering, per_layer_validation=True)
    answers = await asyncio.gather(*(go_on(steering, first) for _ in range(3)))
    assert {answer.checkpoint_id for answer in answers} == {answers[0].checkpoint_id}
    assert len(outside.requests) == 3


async def test_a_paused_run_goes_on_in_another_process(
    steering: Steering, outside: Outside
) -> None:
    first = await start(steering, per_layer_validation=True)
    second = await go_on(elsewhere(steering), first)
    last = await go_on(steering, second)
    assert (last.status, last.result) == ("success", [1, 2, 3, 4])
    assert len(outside.requests) == 4


async def test_an_unknown_checkpoint_is_refused(steering: Steering) -> None:
    first = await start(steering, per_layer_validation=True)
    with pytest.raises(NotFoundError, match="checkpoint"):
        await go_on(steering, first, checkpoint_id="nothing")


async def test_a_paused_run_can_be_aborted_and_that_is_its_end(
    steering: Steering, outside: Outside
) -> None:
    first = await start(steering, per_layer_validation=True)
    assert first.workflow_id is not None
    request = AbortRequest(workflow_id=first.workflow_id, reason="wrong plan")
    for _ in range(2):
        answer = await steering.abort(request, by=AGENT)
        assert answer.status == "aborted"
        assert answer.error is not None
        assert "wrong plan" in answer.error.message
    assert (await go_on(steering, first)).status == "aborted"
    assert len(outside.requests) == 1
    (trace,) = await steering.engine.store.traces.of_run(first.workflow_id)
    assert (trace.state, len(trace.task_results)) == (RunState.ABORTED, 3)


async def test_a_run_under_way_can_be_aborted(steering: Steering, outside: Outside) -> None:
    async def hang(_tool: str, _arguments: JsonText) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError

    outside.offer("fs:slow", hang, Effect.READ)
    running = asyncio.create_task(start(steering, "await mcp.fs.slow({})"))
    await outside.called.wait()
    (run,) = await steering.engine.store.runs.recent(1)
    answer = await steering.abort(AbortRequest(workflow_id=run.id), by=AGENT)
    assert answer.status == "aborted"
    assert (await running).status == "aborted"


async def test_a_write_in_doubt_is_decided_by_a_person(
    steering: Steering, outside: Outside
) -> None:
    outside.answers["fs:write"] = lose
    code = "try { return (await mcp.fs.write({ n: 1 })).n; } catch (e) { return e.code; }"
    for action, given, result in (
        (DoubtAction.RESULT, {"result": {"n": 7}}, 7),
        (DoubtAction.SKIP, {}, "skipped"),
    ):
        stopped = await start(steering, code)
        assert (stopped.status, [t.task_id for t in stopped.in_doubt]) == ("in_doubt", ["n1"])
        one = Resolution(task_id="n1", action=action, **given)  # type: ignore[arg-type]
        answer = await go_on(steering, stopped, resolutions=(one,))
        assert (answer.status, answer.result) == ("success", result)
    assert len(outside.requests) == 2


async def test_a_retry_is_sent_once_however_often_it_is_asked_for(
    steering: Steering, outside: Outside
) -> None:
    outside.answers["fs:write"] = lose
    stopped = await start(steering, "return (await mcp.fs.write({ n: 1 })).n;")
    retry = (Resolution(task_id="n1", action=DoubtAction.RETRY),)
    named = {"resolutions": retry, "checkpoint_id": stopped.checkpoint_id}
    assert stopped.checkpoint_id is not None
    again = await go_on(steering, stopped, **named)
    assert (again.status, len(outside.requests)) == ("in_doubt", 2)
    repeated = await go_on(steering, stopped, **named)
    assert (repeated.status, len(outside.requests)) == ("in_doubt", 2)
    outside.answers["fs:write"] = echo
    last = await go_on(steering, again, resolutions=retry, checkpoint_id=again.checkpoint_id)
    assert (last.status, last.result, len(outside.requests)) == ("success", 1, 3)


async def test_without_a_decision_for_each_write_a_run_stays_in_doubt(
    steering: Steering, outside: Outside
) -> None:
    outside.answers["fs:write"] = lose
    code = "return await Promise.all([1, 2].map((n) => mcp.fs.write({ n })));"
    stopped = await start(steering, code)
    one = Resolution(task_id="n1", action=DoubtAction.SKIP)
    for given in ((), (one,)):
        answer = await go_on(steering, stopped, resolutions=given)
        assert answer.status == "in_doubt"
        assert answer.error is not None
        assert "n1_2" in answer.error.message
    assert stopped.workflow_id is not None
    assert (await steering.engine.store.runs.get(stopped.workflow_id)).epoch == 0


@pytest.mark.parametrize(
    "fields",
    [
        {"action": DoubtAction.RESULT, "result": "half a pair: \ud800"},
        {"action": DoubtAction.RESULT, "result": json.loads("[" * 240 + "]" * 240)},
        {"action": DoubtAction.RESULT, "result": "x" * 10_000_001},
        {"action": DoubtAction.RESULT, "result": object()},
        {"action": DoubtAction.SKIP, "message": "half a pair: \ud800"},
    ],
    ids=["half a pair", "deep", "large", "no JSON", "message"],
)
async def test_what_no_tool_could_return_is_no_result_either(
    steering: Steering, outside: Outside, fields: dict[str, object]
) -> None:
    """EX-3: refused before anything changes, so that a proper answer still counts."""
    outside.answers["fs:write"] = lose
    stopped = await start(steering, "return (await mcp.fs.write({ n: 1 })).n;")
    bad = Resolution(task_id="n1", **fields)  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="n1"):
        await go_on(steering, stopped, resolutions=(bad,))
    assert stopped.workflow_id is not None
    assert (await steering.engine.store.runs.get(stopped.workflow_id)).epoch == 0
    good = Resolution(task_id="n1", action=DoubtAction.RESULT, result={"n": 7})
    assert (await go_on(steering, stopped, resolutions=(good,))).result == 7


async def test_only_approvers_decide_about_doubts(steering: Steering, outside: Outside) -> None:
    outside.answers["fs:write"] = lose
    stopped = await start(steering, "return await mcp.fs.write({});")
    assert stopped.workflow_id is not None
    request = ContinueRequest(
        workflow_id=stopped.workflow_id,
        resolutions=(Resolution(task_id="n1", action=DoubtAction.RETRY),),
    )
    with pytest.raises(NotAllowedError, match="approver"):
        await steering.go_on(request, by=AGENT)


async def test_a_resolution_of_what_is_not_in_doubt_lets_no_layer_go(
    steering: Steering, outside: Outside
) -> None:
    """EX-3: as an answer would that is sent twice, when the run has come to its next stop."""
    first = await start(steering, per_layer_validation=True)
    one = Resolution(task_id="n1", action=DoubtAction.SKIP)
    answer = await go_on(steering, first, resolutions=(one,))
    assert (answer.status, answer.pending_layer) == ("layer_complete", 1)
    assert answer.warnings == ("resolutions: not in doubt: n1; nothing was done",)
    assert len(outside.requests) == 1


async def test_calls_that_were_held_when_a_run_was_aborted_are_told_as_not_sent(
    steering: Steering,
) -> None:
    first = await start(steering, per_layer_validation=True)
    assert first.workflow_id is not None
    ended = await steering.abort(AbortRequest(workflow_id=first.workflow_id), by=AGENT)
    assert [task.error for task in ended.tasks if not task.success] == [
        "never sent: the run stopped before"
    ] * 2
    assert ended.tool_failures == ()


async def test_resolutions_of_no_task_are_refused(steering: Steering, outside: Outside) -> None:
    outside.answers["fs:write"] = lose
    stopped = await start(steering, "return await mcp.fs.write({});")
    with pytest.raises(RequestError, match="n9"):
        await go_on(
            steering, stopped, resolutions=(Resolution(task_id="n9", action=DoubtAction.SKIP),)
        )
    with pytest.raises(RequestError, match="result"):
        await go_on(
            steering, stopped, resolutions=(Resolution(task_id="n1", action=DoubtAction.RESULT),)
        )


async def test_a_replanned_run_sees_what_is_finished_and_the_old_one_ends(
    steering: Steering, outside: Outside
) -> None:
    first = await start(steering, per_layer_validation=True)
    assert first.workflow_id is not None
    request = ReplanRequest(
        workflow_id=first.workflow_id,
        code="return [context.n1.step, (await mcp.fs.read({ step: 9 })).step, args.more];",
        args={"more": 5},
        per_layer_validation=False,
    )
    answer = await steering.replan(request, by=AGENT)
    assert (answer.status, answer.result) == ("success", [1, 9, 5])
    assert answer.diagnostics == ()
    again = await steering.replan(request, by=AGENT)
    assert (again.workflow_id, again.status) == (answer.workflow_id, "success")
    assert "replanned before" in again.warnings[-1]
    assert len(outside.requests) == 2
    old = await steering.engine.store.runs.get(first.workflow_id)
    assert (old.state, str(answer.workflow_id) in old.reason) == (RunState.ABORTED, True)
    assert answer.workflow_id is not None
    new = await steering.engine.store.runs.get(answer.workflow_id)
    assert new.replaces_run_id == old.id


async def test_a_replan_that_is_asked_for_three_times_at_once_begins_one_run(
    steering: Steering, outside: Outside
) -> None:
    first = await start(steering, per_layer_validation=True)
    assert first.workflow_id is not None
    code = "return (await mcp.fs.write({ step: 9 })).step;"
    request = ReplanRequest(workflow_id=first.workflow_id, code=code, per_layer_validation=False)
    askers = (steering, steering, elsewhere(steering))
    answers = await asyncio.gather(*(each.replan(request, by=AGENT) for each in askers))
    known = {answer.workflow_id for answer in answers} - {first.workflow_id}
    assert len(known) == 1
    assert [arguments for _, arguments in outside.requests] == ['{"step":1}', '{"step":9}']
    assert "success" in {answer.status for answer in answers}


async def test_calls_that_wait_have_not_failed(steering: Steering) -> None:
    first = await start(steering, per_layer_validation=True)
    held = [task for task in first.tasks if not task.success]
    assert [task.task_id for task in held] == ["n2", "n3"]
    assert all("held" in str(task.error) for task in held)
    assert first.tool_failures == ()


async def test_a_run_stopped_on_its_way_for_approval_shows_its_plan(
    steering: Steering, outside: Outside
) -> None:
    async def stricter(_tool: str, arguments: JsonText) -> Outcome:
        outside.needs_approval.add("fs:write")
        return Returned(value=arguments)

    outside.answers["fs:read"] = stricter
    stopped = await start(steering, "await mcp.fs.read({}); await mcp.fs.write({ step: 1 });")
    assert (stopped.status, stopped.plan is None) == ("approval_required", False)
    assert stopped.approval_id is not None


async def test_refused_code_leaves_the_old_run_waiting(steering: Steering) -> None:
    first = await start(steering, per_layer_validation=True)
    assert first.workflow_id is not None
    request = ReplanRequest(workflow_id=first.workflow_id, code="return await mcp.fs.nope({});")
    answer = await steering.replan(request, by=AGENT)
    assert (answer.status, answer.workflow_id) == ("error", None)
    assert (await steering.status(first.workflow_id)).status == "layer_complete"
