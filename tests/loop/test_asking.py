"""Asking for plans and calls, answering, remembering (HIL-2 to HIL-4)."""

import json

import msgspec
import pytest

from pml.domain.approval import (
    ApprovalState,
    AuditEvent,
    Grant,
    GrantScope,
    Principal,
    ToolVersion,
)
from pml.domain.run import Run
from pml.domain.steering import ApprovalAnswer
from pml.domain.tools import Catalog, Tool
from pml.errors import ApprovalStateError, NotAllowedError, NotFoundError, RequestError
from tests.loop.asked import AGENT, ANN, BOB, CATALOG, HOURS, READER, TTL_S, Asked, Desk, call, tool

WRITE = 'await mcp.fs.write({ path: "/tmp/a", text: args.text });'
ARGS = {"path": "/tmp/a", "text": "hello"}


def yes(run: Run, approval_id: str | None = None, **fields: object) -> ApprovalAnswer:
    known = {"workflow_id": run.id, "approval_id": approval_id, "approved": True}
    return ApprovalAnswer(**(known | fields))  # type: ignore[arg-type]


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
async def asked(desk: Desk) -> Asked:
    """A program that writes once, for which somebody was asked."""
    asked = await desk.begin(WRITE, text="hello")
    await desk.asking.ask_plan(asked.run, asked.kept, asked.plan.tools, CATALOG)
    return asked


async def test_a_plan_is_asked_for_once_and_bound_to_all_that_it_says(desk: Desk) -> None:
    """HIL-2: source, arguments, tools as they are described."""
    asked = await desk.begin(WRITE, text="hello")
    approval = await desk.asking.ask_plan(asked.run, asked.kept, asked.plan.tools, CATALOG)
    assert approval.source_hash == asked.plan.program.source_hash
    assert approval.arguments_hmac == desk.store.hmac(json.dumps([[["text", '"hello"']], []]))
    versions = (ToolVersion(tool="fs:write", schema_hash=tool("fs:write").schema_hash()),)
    assert approval.tools == versions
    assert approval.expires_at_ms == desk.now_ms + TTL_S * 1_000
    again = await desk.asking.ask_plan(asked.run, asked.kept, asked.plan.tools, CATALOG)
    assert again == approval
    assert await desk.store.approvals.pending(9) == (approval,)


async def test_nothing_is_covered_before_somebody_said_yes(desk: Desk, asked: Asked) -> None:
    consents = await desk.asking.consents(asked.run, asked.kept, asked.plan)
    assert not consents.covers(call("n1", "fs:write", ARGS), tool("fs:write"))
    assert [p.tool for p in consents.needed(asked.plan, CATALOG)] == ["fs:write"]


async def test_a_yes_covers_the_plan_and_each_use_is_written_down(desk: Desk, asked: Asked) -> None:
    """HIL-3: with an HMAC of the arguments, and by which approval."""
    approval = await desk.asking.answer(yes(asked.run), by=ANN)
    consents = await desk.asking.consents(asked.run, asked.kept, asked.plan)
    planned = call("n1", "fs:write", ARGS)
    assert consents.needed(asked.plan, CATALOG) == ()
    assert consents.covers(planned, tool("fs:write"))
    assert await consents.use(planned, tool("fs:write"))
    (used, granted, *_) = await desk.store.audit.recent(9, run_id=asked.run.id)
    assert (used.event, used.actor, used.tool) == (
        AuditEvent.USED,
        f"approval {approval.id}",
        "fs:write",
    )
    assert used.arguments_hmac == desk.store.hmac(planned.arguments)
    assert used.detail == {"taskId": "n1"}
    assert (granted.event, granted.actor) == (AuditEvent.GRANTED, "ann")
    assert "hello" not in str(await desk.store.audit.recent(99))


async def test_a_no_covers_nothing(desk: Desk, asked: Asked) -> None:
    refused = await desk.asking.answer(yes(asked.run, approved=False, note="not now"), by=ANN)
    assert (refused.state, refused.note) == (ApprovalState.REFUSED, "not now")
    consents = await desk.asking.consents(asked.run, asked.kept, asked.plan)
    assert not consents.covers(call("n1", "fs:write", ARGS), tool("fs:write"))
    assert not await consents.use(call("n1", "fs:write", ARGS), tool("fs:write"))
    events = [entry.event for entry in await desk.store.audit.recent(9)]
    assert events == [AuditEvent.REFUSED, AuditEvent.ASKED]


async def test_changed_code_and_changed_arguments_make_an_approval_worthless(
    desk: Desk, asked: Asked
) -> None:
    """HIL-2: bound to the raw source and the bound arguments, never to a canonical form."""
    await desk.asking.answer(yes(asked.run), by=ANN)
    spaced = Asked.of(WRITE + " ", {"text": "hello"}, run_id=asked.run.id)
    other = Asked.of(WRITE, {"text": "goodbye"}, run_id=asked.run.id)
    lifted = msgspec.structs.replace(asked.kept, lifted={"path": '"/etc/passwd"'})
    for run, kept, plan in (
        (spaced.run, spaced.kept, spaced.plan),
        (asked.run, spaced.kept, asked.plan),
        (asked.run, other.kept, other.plan),
        (asked.run, lifted, asked.plan),
    ):
        consents = await desk.asking.consents(run, kept, plan)
        assert not consents.covers(call("n1", "fs:write", ARGS), tool("fs:write"))


async def test_an_approval_is_of_one_run(desk: Desk, asked: Asked) -> None:
    """The same program sent again is asked for again."""
    await desk.asking.answer(yes(asked.run), by=ANN)
    again = await desk.begin(WRITE, run_id="r2", text="hello")
    consents = await desk.asking.consents(again.run, again.kept, again.plan)
    assert not consents.covers(call("n1", "fs:write", ARGS), tool("fs:write"))


async def test_a_tool_that_changed_has_to_be_asked_for_again(desk: Desk, asked: Asked) -> None:
    await desk.asking.answer(yes(asked.run), by=ANN)
    consents = await desk.asking.consents(asked.run, asked.kept, asked.plan)
    changed = Catalog({"fs": [Tool(server="fs", name="write", description="Sends.")]})
    assert [p.tool for p in consents.needed(asked.plan, changed)] == ["fs:write"]
    assert not consents.covers(call("n1", "fs:write", ARGS), tool("fs:write", changed))


async def test_held_calls_are_asked_for_by_number_and_only_they_go(
    desk: Desk, asked: Asked
) -> None:
    """HIL-2: what the plan could not promise ends in one request for exactly what is held."""
    await desk.asking.answer(yes(asked.run), by=ANN)
    held = [call("?", "fs:delete", number=1), call("?", "net:post", number=3)]
    approval = await desk.asking.ask_calls(asked.run, asked.kept, held, CATALOG)
    assert approval.calls == (1, 3)
    await desk.asking.answer(yes(asked.run), by=ANN)
    consents = await desk.asking.consents(asked.run, asked.kept, asked.plan)
    assert all(consents.covers(each, tool(each.tool)) for each in held)
    assert consents.covers(call("n1", "fs:write", ARGS), tool("fs:write")), "the plan still holds"
    assert not consents.covers(call("?", "fs:delete", number=2), tool("fs:delete"))
    assert not consents.covers(call("?", "net:post", number=1), tool("fs:delete"))


# -- who answers, and when -----------------------------------------------------------------------


@pytest.mark.parametrize("by", [AGENT, READER])
async def test_who_is_no_approver_may_not_answer(desk: Desk, asked: Asked, by: Principal) -> None:
    """HIL-4: the agent that asked cannot answer for a person."""
    with pytest.raises(NotAllowedError, match=r"takes the role approver.*pml approve"):
        await desk.asking.answer(yes(asked.run), by=by)
    (waiting,) = await desk.store.approvals.pending(9)
    assert waiting.state is ApprovalState.PENDING


async def test_an_agent_answers_where_the_configuration_says_so_and_never_remembers(
    asked: Asked, desk: Desk
) -> None:
    desk.agents_may_approve = True
    remember = GrantScope(tool="fs:write")
    with pytest.raises(NotAllowedError):
        await desk.asking.answer(yes(asked.run, remember=remember), by=AGENT)
    with pytest.raises(NotAllowedError):
        await desk.asking.answer(yes(asked.run), by=READER)
    assert (await desk.asking.answer(yes(asked.run), by=AGENT)).decided_by == "claude"


async def test_of_two_answers_the_first_holds_and_the_same_again_is_no_error(
    desk: Desk, asked: Asked
) -> None:
    first = await desk.asking.answer(yes(asked.run), by=ANN)
    assert await desk.asking.answer(yes(asked.run), by=BOB) == first
    with pytest.raises(ApprovalStateError):
        await desk.asking.answer(yes(asked.run, approved=False), by=BOB)


async def test_an_answer_that_comes_too_late_counts_for_nothing(desk: Desk, asked: Asked) -> None:
    desk.now_ms += TTL_S * 1_000
    with pytest.raises(ApprovalStateError, match="expired"):
        await desk.asking.answer(yes(asked.run), by=ANN)
    consents = await desk.asking.consents(asked.run, asked.kept, asked.plan)
    assert not consents.covers(call("n1", "fs:write", ARGS), tool("fs:write"))
    fresh = await desk.asking.ask_plan(asked.run, asked.kept, asked.plan.tools, CATALOG)
    assert (await desk.asking.answer(yes(asked.run), by=ANN)).id == fresh.id


async def test_a_request_is_found_by_its_id_only_in_its_own_run(desk: Desk, asked: Asked) -> None:
    other = await desk.begin(WRITE, run_id="r2", text="hello")
    (waiting,) = await desk.store.approvals.pending(9)
    with pytest.raises(NotFoundError, match="run r2 does not wait for it"):
        await desk.asking.answer(yes(other.run, waiting.id), by=ANN)
    with pytest.raises(NotFoundError, match="nobody was asked"):
        await desk.asking.answer(yes(other.run), by=ANN)
    with pytest.raises(NotFoundError):
        await desk.asking.answer(ApprovalAnswer(workflow_id="none", approved=True), by=ANN)
    assert (await desk.asking.answer(yes(asked.run, waiting.id), by=ANN)).id == waiting.id


@pytest.mark.parametrize("named", [True, False])
async def test_who_answers_for_a_run_answers_for_the_runs_that_it_waits_for(
    desk: Desk, asked: Asked, *, named: bool
) -> None:
    """EX-10: only the root is known to people; what is held may be deep in it."""
    await desk.asking.answer(yes(asked.run), by=ANN)
    child = await desk.begin("await mcp.fs.delete({});", run_id="r2", parent=asked.run)
    grandchild = await desk.begin("await mcp.net.post({});", run_id="r3", parent=child.run)
    deep = await desk.asking.ask_plan(
        grandchild.run, grandchild.kept, grandchild.plan.tools, CATALOG
    )
    answered = await desk.asking.answer(yes(asked.run, deep.id if named else None), by=ANN)
    assert (answered.id, answered.run_id) == (deep.id, "r3")


# -- remembering ---------------------------------------------------------------------------------


async def test_a_remembered_yes_covers_the_next_run_until_it_is_revoked(
    desk: Desk, asked: Asked
) -> None:
    """HIL-3: revocation is seen at the next call, not at the next run."""
    scope = GrantScope(tool="fs:*", arguments={"path": "/tmp/*"})
    await desk.asking.answer(yes(asked.run, remember=scope), by=ANN)
    next_run = await desk.begin(WRITE, run_id="r2", text="other")
    consents = await desk.asking.consents(next_run.run, next_run.kept, next_run.plan)
    assert consents.needed(next_run.plan, CATALOG) == ()
    write = call("n1", "fs:write", {"path": "/tmp/a", "text": "other"})
    assert await consents.use(write, tool("fs:write"))
    (grant,) = await desk.store.grants.all()
    assert (await desk.store.audit.recent(1))[0].actor == f"grant {grant.id}"
    await desk.store.grants.revoke(grant.id, by="bob", now_ms=desk.now_ms)
    assert not await consents.use(write, tool("fs:write"))
    assert not consents.covers(write, tool("fs:write"))


async def test_a_grant_that_expires_covers_nothing_from_then_on(desk: Desk, asked: Asked) -> None:
    scope = GrantScope(tool="fs:write", ttl_s=HOURS)
    await desk.asking.answer(yes(asked.run, remember=scope), by=ANN)
    next_run = await desk.begin(WRITE, run_id="r2", text="other")
    consents = await desk.asking.consents(next_run.run, next_run.kept, next_run.plan)
    desk.now_ms += HOURS * 1_000 - 1
    assert consents.covers(call("n1", "fs:write"), tool("fs:write"))
    desk.now_ms += 1
    assert not consents.covers(call("n1", "fs:write"), tool("fs:write"))
    assert not await consents.use(call("n1", "fs:write"), tool("fs:write"))


async def test_the_same_answer_sent_twice_is_remembered_once(desk: Desk, asked: Asked) -> None:
    answer = yes(asked.run, remember=GrantScope(tool="fs:write"))
    await desk.asking.answer(answer, by=ANN)
    await desk.asking.answer(answer, by=ANN)
    assert len(await desk.store.grants.all()) == 1


async def test_what_was_not_asked_for_cannot_be_remembered(desk: Desk, asked: Asked) -> None:
    with pytest.raises(RequestError, match="means none of what was asked for: fs:write"):
        await desk.asking.answer(yes(asked.run, remember=GrantScope(tool="net:*")), by=ANN)
    with pytest.raises(RequestError, match="only what is approved"):
        await desk.asking.answer(
            yes(asked.run, approved=False, remember=GrantScope(tool="fs:write")), by=ANN
        )
    assert await desk.store.grants.all() == ()
    assert len(await desk.store.approvals.pending(9)) == 1


@pytest.mark.parametrize(
    ("source", "needed"),
    [
        ('await mcp.fs.write({ path: "/tmp/a" });', []),
        ('await mcp.fs.write({ path: "/etc/a" });', ["fs:write"]),
        ("await mcp.fs.write({ path: args.where });", []),
        ('await mcp.fs.write({ path: args.where + "b" });', ["fs:write"]),
        ("await mcp.fs.write({ text: args.where });", ["fs:write"]),
        (
            'await mcp.fs.write({ path: "/tmp/a" }); await mcp.fs.write({ path: "/etc/a" });',
            ["fs:write"],
        ),
        ('await mcp.fs.write({ path: "/tmp/a" }); await mcp.net.post({});', ["net:post"]),
        ("const t = args.where; await mcp.fs[t]({});", ["*"]),
    ],
)
async def test_somebody_is_asked_unless_grants_are_certain_to_cover_every_call(
    desk: Desk, source: str, needed: list[str]
) -> None:
    grant = Grant(
        id="g1",
        scope=GrantScope(tool="fs:write", arguments={"path": "/tmp/*"}),
        granted_at_ms=0,
        granted_by="ann",
    )
    await desk.store.grants.remember(grant)
    asked = await desk.begin(source, where="/tmp/a")
    consents = await desk.asking.consents(asked.run, asked.kept, asked.plan)
    assert [p.tool for p in consents.needed(asked.plan, CATALOG)] == needed
