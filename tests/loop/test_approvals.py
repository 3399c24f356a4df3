"""Plans are approved, runs go on, and nothing happens that nobody agreed to (HIL-2 to HIL-5)."""

import dataclasses
from collections import Counter

import msgspec
import pytest

from pml.domain.approval import ApprovalState, AuditEvent, GrantScope, Principal, Role
from pml.domain.permissions import Effect
from pml.domain.record import JsonText
from pml.domain.response import ExecuteRequest, ExecuteResponse
from pml.domain.run import Outcome, Returned
from pml.domain.steering import ApprovalAnswer, ContinueRequest
from pml.errors import NotAllowedError
from pml.loop.act import Act
from pml.loop.steering import Steering
from tests.loop.outside import Outside, echo

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENT = Principal(name="claude", role=Role.AGENT)
ANN = Principal(name="ann", role=Role.APPROVER)
WRITE_ALL = 'for (const p of args.paths) { await mcp.fs.write({ path: p, text: "x" }); } return 1;'
UNKNOWN = """
  await mcp.fs.write({ path: "first" });
  const t = args.tool;
  await Promise.all([mcp.fs[t]({ path: "a" }), mcp.fs[t]({ path: "b" })]);
  return "done";
"""


@pytest.fixture(autouse=True)
def files(outside: Outside) -> None:
    outside.offer("fs:read", echo, Effect.READ)
    outside.offer("fs:write", echo)
    outside.offer("fs:delete", echo)
    outside.needs_approval = {"fs:write", "fs:delete"}


async def run(steering: Steering, code: str | None, **fields: object) -> ExecuteResponse:
    request = ExecuteRequest(**({"intent": "tidy up", "code": code} | fields))  # type: ignore[arg-type]
    assert isinstance(steering.engine, Act)
    return await steering.engine.execute(request)


async def say(
    steering: Steering, asked: ExecuteResponse, *, by: Principal = ANN, **fields: object
) -> ExecuteResponse:
    assert asked.workflow_id is not None
    known = {"workflow_id": asked.workflow_id, "approved": True}
    return await steering.answer(ApprovalAnswer(**(known | fields)), by=by)  # type: ignore[arg-type]


def elsewhere(steering: Steering) -> Steering:
    """The same store and world, from another process."""
    act = steering.engine
    engine = dataclasses.replace(act, owner="there", under_way=type(act.under_way)(), unclosed={})
    return Steering(engine=engine, alive=steering.alive)


async def test_one_yes_covers_the_whole_plan_loops_included(
    steering: Steering, outside: Outside
) -> None:
    asked = await run(steering, WRITE_ALL, args={"paths": ["a", "b", "c"]})
    assert (asked.status, [p.tool for p in asked.approvals]) == ("approval_required", ["fs:write"])
    assert asked.plan is not None
    assert asked.approval_id is not None
    assert outside.requests == []
    done = await say(steering, asked)
    assert (done.status, done.result) == ("success", 1)
    assert len(outside.requests) == 3
    events = Counter(entry.event for entry in await steering.engine.store.audit.recent(99))
    assert events == {AuditEvent.ASKED: 1, AuditEvent.GRANTED: 1, AuditEvent.USED: 3}


async def test_an_approved_run_goes_on_in_another_process(
    steering: Steering, outside: Outside
) -> None:
    asked = await run(steering, WRITE_ALL, args={"paths": ["a"]})
    assert (await say(elsewhere(steering), asked)).status == "success"
    assert (await say(steering, asked)).status == "success", "the same answer again"
    assert len(outside.requests) == 1


async def test_what_needs_approval_only_since_the_question_is_asked_for_too(
    steering: Steering, outside: Outside
) -> None:
    """HIL-2: permissions are judged again, and the answer names what is asked for now."""
    outside.needs_approval = {"fs:write"}
    code = 'await mcp.fs.write({ path: "a" }); await mcp.fs.delete({ path: "b" }); return 1;'
    asked = await run(steering, code)
    outside.needs_approval = {"fs:write", "fs:delete"}
    again = await say(steering, asked)
    assert (again.status, [p.tool for p in again.approvals]) == (
        "approval_required",
        ["fs:delete"],
    )
    assert again.error is not None
    assert "fs:delete may not" in again.error.message
    assert outside.requests == []
    assert (await say(steering, again)).result == 1


async def test_a_no_ends_the_run_and_nothing_has_run(steering: Steering, outside: Outside) -> None:
    asked = await run(steering, WRITE_ALL, args={"paths": ["a"]})
    ended = await say(steering, asked, approved=False, note="not on a Sunday")
    assert ended.status == "aborted"
    assert ended.error is not None
    assert "refused by ann: not on a Sunday" in ended.error.message
    assert outside.requests == []


async def test_the_agent_that_asked_cannot_answer(steering: Steering, outside: Outside) -> None:
    asked = await run(steering, WRITE_ALL, args={"paths": ["a"]})
    with pytest.raises(NotAllowedError, match="takes the role approver"):
        await say(steering, asked, by=AGENT)
    assert outside.requests == []


async def test_what_the_plan_could_not_name_is_asked_for_when_it_comes(
    steering: Steering, outside: Outside
) -> None:
    """One request for exactly the calls that are held; what ran is not run again."""
    asked = await run(steering, UNKNOWN, args={"tool": "delete"})
    assert {p.tool for p in asked.approvals} == {"*", "fs:write"}
    again = await say(steering, asked)
    assert again.status == "approval_required"
    assert again.approval_id not in (None, asked.approval_id)
    assert [p.tool for p in again.approvals] == ["fs:delete"]
    assert [tool for tool, _ in outside.requests] == ["fs:write"]
    assert again.workflow_id is not None
    held = (await steering.engine.store.approvals.of_run(again.workflow_id))[-1]
    assert held.calls == (1, 2)
    shown = [(call.task_id, call.tool, call.arguments) for call in again.held]
    assert shown == [("n2", "fs:delete", {"path": "a"}), ("n3", "fs:delete", {"path": "b"})]
    assert (await steering.status(again.workflow_id)).held == again.held
    done = await say(steering, again)
    assert (done.status, done.result) == ("success", "done")
    assert [tool for tool, _ in outside.requests] == ["fs:write", "fs:delete", "fs:delete"]


async def test_an_unknown_tool_that_needs_no_approval_just_runs(steering: Steering) -> None:
    asked = await run(steering, UNKNOWN, args={"tool": "read"})
    assert (await say(steering, asked)).status == "success"


async def test_a_planned_capability_is_covered_by_its_callers_plan(
    steering: Steering, outside: Outside
) -> None:
    """EX-10, rule 13: one question for both; the child's own calls are judged by the same plan."""
    outside.needs_approval = set()
    inner = await run(steering, 'return await mcp.fs.write({ path: "a" });', intent="inner")
    assert inner.capability_id is not None
    name = (await steering.engine.store.capabilities.get(inner.capability_id)).name
    outside.needs_approval = {"fs:write"}
    outside.requests.clear()
    asked = await run(
        steering,
        f"const r = await capabilities.{name}({{}}); await mcp.fs.read({{}}); return r.path;",
    )
    assert [p.tool for p in asked.approvals] == ["fs:write"]
    done = await say(steering, asked)
    assert (done.status, done.result) == ("success", "a"), done.error
    assert [tool for tool, _ in outside.requests] == ["fs:write", "fs:read"]
    used = [e for e in await steering.engine.store.audit.recent(9) if e.event is AuditEvent.USED]
    assert [entry.actor for entry in used] == [f"approval {asked.approval_id}"]
    assert used[0].run_id != asked.workflow_id, "the child's run"


async def test_a_child_that_waits_for_consent_makes_its_caller_wait(
    steering: Steering, outside: Outside
) -> None:
    """People know the root alone; they answer there, and the child goes on where it stood."""
    outside.needs_approval = set()
    code = 'await mcp.fs.read({}); await mcp.fs.delete({ path: "a" }); return "done";'
    inner = await run(steering, code, intent="inner")
    assert inner.capability_id is not None
    name = (await steering.engine.store.capabilities.get(inner.capability_id)).name
    outside.requests.clear()

    async def stricter(_tool: str, _arguments: JsonText) -> Outcome:
        outside.needs_approval = {"fs:delete"}
        return Returned(value="1")

    outside.answers["fs:read"] = stricter
    asked = await run(steering, f"return await capabilities.{name}({{}});")
    assert asked.status == "approval_required"
    assert [tool for tool, _ in outside.requests] == ["fs:read"]
    assert asked.workflow_id is not None
    assert await steering.engine.store.approvals.of_run(asked.workflow_id) == ()
    assert [(call.tool, call.arguments) for call in asked.held] == [("fs:delete", {"path": "a"})]
    assert (await steering.status(asked.workflow_id)).held == asked.held
    done = await say(elsewhere(steering), asked, approval_id=asked.approval_id)
    assert (done.status, done.result) == ("success", "done"), done.error
    assert [tool for tool, _ in outside.requests] == ["fs:read", "fs:delete"]


# -- remembering ---------------------------------------------------------------------------------


async def test_what_was_remembered_is_not_asked_for_again_until_it_is_revoked(
    steering: Steering, outside: Outside
) -> None:
    asked = await run(steering, 'await mcp.fs.write({ path: "/tmp/a" });')
    scope = GrantScope(tool="fs:write", arguments={"path": "/tmp/*"})
    assert (await say(steering, asked, remember=scope)).status == "success"
    assert (await run(steering, 'await mcp.fs.write({ path: "/tmp/b" });')).status == "success"
    outside_of_it = await run(steering, 'await mcp.fs.write({ path: "/etc/b" });')
    assert outside_of_it.status == "approval_required"
    (grant,) = await steering.engine.store.grants.all()
    await steering.engine.store.grants.revoke(grant.id, by="ann", now_ms=1_700_000_000_500)
    assert (
        await run(steering, 'await mcp.fs.write({ path: "/tmp/c" });')
    ).status == "approval_required"
    assert len(outside.requests) == 2


async def test_a_grant_that_is_revoked_under_a_run_stops_it_at_the_next_call(
    steering: Steering, outside: Outside
) -> None:
    """The call is held and asked for; what ran before is not undone, nor repeated."""
    asked = await run(steering, 'await mcp.fs.write({ path: "a" });')
    await say(steering, asked, remember=GrantScope(tool="fs:*"))
    store = steering.engine.store

    async def revoke(_tool: str, _arguments: JsonText) -> Outcome:
        (grant,) = await store.grants.all()
        await store.grants.revoke(grant.id, by="ann", now_ms=1_700_000_000_500)
        return Returned(value="1")

    outside.answers["fs:read"] = revoke
    outside.requests.clear()
    held = await run(
        steering,
        'await mcp.fs.write({ path: "b" }); await mcp.fs.read({});'
        ' await mcp.fs.write({ path: "c" }); return 2;',
    )
    assert held.status == "approval_required"
    assert [tool for tool, _ in outside.requests] == ["fs:write", "fs:read"]
    assert (await say(steering, held)).result == 2
    assert [tool for tool, _ in outside.requests] == ["fs:write", "fs:read", "fs:write"]


# -- what changed between question and answer ----------------------------------------------------


async def test_an_approval_of_a_tool_that_changed_since_covers_nothing(
    steering: Steering, outside: Outside
) -> None:
    """HIL-5: quarantined first; accepted, it has to be asked for as it is now."""
    store = steering.engine.store
    await store.tool_schemas.replace("fs", outside.tools_by_server["fs"])
    asked = await run(steering, 'await mcp.fs.write({ path: "a" });')
    outside.tools_by_server["fs"] = tuple(
        msgspec.structs.replace(tool, description="Sends, too.") if tool.name == "write" else tool
        for tool in outside.tools_by_server["fs"]
    )
    await store.tool_schemas.replace("fs", outside.tools_by_server["fs"])
    steering.engine.library.outdated()
    refused = await say(steering, asked)
    assert refused.error is not None
    assert refused.error.code == "quarantined"
    (held,) = await store.tool_schemas.quarantined()
    shown = held.now.schema_hash()
    await store.tool_schemas.accept("fs:write", schema_hash=shown, by="ann", now_ms=1)
    steering.engine.library.outdated()
    again = await say(steering, asked)
    assert again.status == "approval_required"
    assert again.approval_id != asked.approval_id
    assert outside.requests == []
    assert (await say(steering, again, approval_id=again.approval_id)).status == "success"


async def test_a_tool_that_becomes_strict_under_a_run_is_asked_for(
    steering: Steering, outside: Outside
) -> None:
    """HIL-1: permissions are judged at every call, whatever held when the run began."""
    outside.needs_approval = set()

    async def stricter(_tool: str, _arguments: JsonText) -> Outcome:
        outside.needs_approval = {"fs:write"}
        return Returned(value="1")

    outside.answers["fs:read"] = stricter
    held = await run(steering, 'await mcp.fs.read({}); await mcp.fs.write({ path: "a" });')
    assert held.status == "approval_required"
    assert [tool for tool, _ in outside.requests] == ["fs:read"]
    assert (await say(steering, held)).status == "success"


# -- every path passes the same judge ------------------------------------------------------------


async def test_a_dry_run_asks_for_what_really_runs_and_for_nothing_else(
    steering: Steering, outside: Outside
) -> None:
    """EX-6: a mock does nothing to the world."""
    mocked = await run(steering, 'return await mcp.fs.write({ path: "a" });', dry_run=True)
    assert mocked.status == "success", mocked.error
    outside.needs_approval = {"fs:read"}
    asked = await run(
        steering, "await mcp.fs.write({}); return await mcp.fs.read({});", dry_run=True
    )
    assert [p.tool for p in asked.approvals] == ["fs:read"]
    assert outside.requests == []
    assert (await say(steering, asked)).status == "success"
    assert [tool for tool, _ in outside.requests] == ["fs:read"]


async def test_an_intent_alone_runs_nothing_that_has_to_be_asked_for(
    steering: Steering, outside: Outside
) -> None:
    """MCP-2: known procedures run only where nothing waits for approval."""
    outside.needs_approval = set()
    await run(steering, 'return await mcp.fs.write({ path: "a" });')
    outside.needs_approval = {"fs:write"}
    outside.requests.clear()
    answer = await run(steering, None)
    assert answer.status in ("suggestions", "approval_required")
    assert outside.requests == []


async def test_a_validated_run_is_approved_once_and_then_continued(
    steering: Steering, outside: Outside
) -> None:
    """EX-5: consent and checkpoints are two things; each held layer is judged when it goes."""
    code = 'await mcp.fs.write({ path: "a" }); await mcp.fs.delete({ path: "a" }); return 1;'
    asked = await run(steering, code, per_layer_validation=True)
    assert asked.status == "approval_required"
    paused = await say(steering, asked)
    assert paused.status == "layer_complete"
    assert paused.workflow_id is not None
    request = ContinueRequest(workflow_id=paused.workflow_id, checkpoint_id=paused.checkpoint_id)
    assert (await steering.go_on(request, by=AGENT)).status == "success"
    assert [tool for tool, _ in outside.requests] == ["fs:write", "fs:delete"]


async def test_a_request_that_nobody_answers_expires_with_its_run(
    steering: Steering, outside: Outside
) -> None:
    asked = await run(steering, 'await mcp.fs.write({ path: "a" });')
    assert asked.expires_at_ms is not None
    assert asked.workflow_id is not None
    (gone,) = await steering.engine.store.approvals.expire(asked.expires_at_ms)
    assert (gone.run_id, gone.state) == (asked.workflow_id, ApprovalState.EXPIRED)
    assert outside.requests == []
