"""Approvals step by step against a model: who agreed to what, and is it still so (HIL-2 to HIL-5).

Two approvers and an agent answer requests in any order; time passes, code and arguments of a
stored run are tampered with, tools change, grants come and go.  After every step the real thing
and the model agree for every run and call whether it may go.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pml.domain.approval import Approval, ApprovalState, AuditEvent, GrantScope, Principal
from pml.domain.run import Issued, RunProgram
from pml.domain.steering import ApprovalAnswer
from pml.domain.tools import Catalog, Tool
from pml.errors import ApprovalStateError, NotAllowedError, NotFoundError, RequestError
from pml.loop.consents import RunConsents
from tests.loop.asked import AGENT, ANN, BOB, READER, Asked, Desk, call

T = TypeVar("T")
SOURCES = {
    "r1": 'await mcp.fs.write({ path: "/tmp/a" });',
    "r2": 'await mcp.fs.write({ path: "/tmp/a" }); await mcp.fs.delete({ path: args.where });',
}
CALLS = (
    ("n1", "fs:write", {"path": "/tmp/a"}),
    ("n1", "fs:write", {"path": "/tmp/b"}),
    ("n2", "fs:delete", {"path": "/anywhere"}),
    ("?", "fs:delete", {"path": "/tmp/a"}),
)
"""By number.  The second sends what no plan said, the last comes from nowhere."""
PLANNED = {"r1": {0}, "r2": {0, 2}}
"""Which of the calls the plan of each run has."""
NAMED = {"r1": {"fs:write"}, "r2": {"fs:write", "fs:delete"}}
RUNS = st.sampled_from(sorted(SOURCES))
PEOPLE = st.sampled_from([ANN, BOB, AGENT, READER])
SCOPES = (
    (GrantScope(tool="fs:write", arguments={"path": "/tmp/*"}), {0, 1}),
    (GrantScope(tool="fs:delete", arguments={"path": "/tmp/a"}), {3}),
    (GrantScope(tool="fs:*", ttl_s=30), {0, 1, 2, 3}),
    (GrantScope(tool="fs:write", capability_id="cap_1"), set[int]()),
)
"""And which calls each covers, in runs of no capability."""


@dataclass
class Request:
    """The model of one request."""

    id: str
    run_id: str
    covers: set[int]
    versions: dict[str, int]
    program: RunProgram
    """As it was when somebody was asked."""
    expires_at_ms: int
    state: ApprovalState = ApprovalState.PENDING


@dataclass
class Model:
    """All that was agreed to."""

    requests: list[Request] = field(default_factory=list)
    grants: dict[str, tuple[set[int], int | None]] = field(default_factory=dict)
    """Calls and end, of those that were not revoked."""
    versions: dict[str, int] = field(default_factory=lambda: {"fs:write": 0, "fs:delete": 0})
    programs: dict[str, RunProgram] = field(default_factory=dict)
    """As they are stored now."""

    def may_go(self, run_id: str, number: int, now_ms: int) -> bool:
        tool, program = CALLS[number][1], self.programs[run_id]
        approved = program.source == SOURCES[run_id] and any(
            r.state is ApprovalState.GRANTED
            and r.run_id == run_id
            and r.program == program
            and number in r.covers
            and r.versions.get(tool) == self.versions[tool]
            for r in self.requests
        )
        return approved or any(
            number in covers and (end is None or now_ms < end)
            for covers, end in self.grants.values()
        )

    def asked(self, run_id: str, approval_id: str | None) -> Request | None:
        mine = [r for r in self.requests if r.run_id == run_id]
        if approval_id is not None:
            return next((r for r in mine if r.id == approval_id), None)
        waiting = [r for r in mine if r.state is ApprovalState.PENDING]
        return waiting[0] if waiting else (mine or [None])[-1]  # type: ignore[list-item]


class AskingMachine(RuleBasedStateMachine):
    """Drives `pml.loop.asking` over the twin of the store."""

    @initialize()
    def begin(self) -> None:
        self.loop = asyncio.Runner()
        self.desk, self.model, self.used = Desk(), Model(), 0
        self.runs = {
            run_id: self.done(self.desk.begin(source, run_id=run_id, where="/anywhere"))
            for run_id, source in SOURCES.items()
        }
        self.kept = self.model.programs
        self.kept.update({run_id: asked.kept for run_id, asked in self.runs.items()})

    def teardown(self) -> None:
        try:
            self.log_tells_all()
        finally:
            self.loop.close()

    def done(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run(work)

    # -- what happens ------------------------------------------------------------------

    @rule(run_id=RUNS, numbers=st.sets(st.integers(0, len(CALLS) - 1)))
    def ask(self, run_id: str, numbers: set[int]) -> None:
        """For the plan, or for some calls that are held."""
        asked = self.runs[run_id]
        if numbers:
            held = [issued(number) for number in sorted(numbers)]
            approval = self.done(
                self.desk.asking.ask_calls(asked.run, self.kept[run_id], held, self.catalog())
            )
            tools = {CALLS[number][1] for number in numbers}
        else:
            approval = self.done(
                self.desk.asking.ask_plan(
                    asked.run, self.kept[run_id], asked.plan.tools, self.catalog()
                )
            )
            tools, numbers = NAMED[run_id], PLANNED[run_id]
        self._note(approval, numbers, tools)

    def _note(self, approval: Approval, covers: set[int], tools: set[str]) -> None:
        if any(request.id == approval.id for request in self.model.requests):
            return  # the same question, still open
        for request in self.model.requests:
            if request.run_id == approval.run_id and request.state is ApprovalState.PENDING:
                request.state = ApprovalState.WITHDRAWN
        versions = {tool: self.model.versions[tool] for tool in tools}
        self.model.requests.append(
            Request(
                approval.id,
                approval.run_id,
                covers,
                versions,
                self.kept[approval.run_id],
                approval.expires_at_ms,
            )
        )

    @rule(
        run_id=RUNS,
        which=st.none() | st.integers(0, 5),
        by=PEOPLE,
        approved=st.booleans(),
        remember=st.none() | st.sampled_from(range(len(SCOPES))),
    )
    def answer(
        self,
        *,
        run_id: str,
        which: int | None,
        by: Principal,
        approved: bool,
        remember: int | None,
    ) -> None:
        known = self.model.requests
        approval_id = known[which].id if which is not None and which < len(known) else None
        scope, covers = (None, set[int]()) if remember is None else SCOPES[remember]
        request = ApprovalAnswer(
            workflow_id=run_id, approval_id=approval_id, approved=approved, remember=scope
        )
        wrong = self.expected(request, by)
        if wrong is not None:
            with pytest.raises(wrong):
                self.done(self.desk.asking.answer(request, by=by))
            return
        answered = self.done(self.desk.asking.answer(request, by=by))
        meant = self.model.asked(run_id, approval_id)
        assert meant is not None
        assert answered.id == meant.id
        meant.state = answered.state
        if scope is not None and meant.id not in self.model.grants:
            end = None if scope.ttl_s is None else self.desk.now_ms + scope.ttl_s * 1_000
            self.model.grants.setdefault(meant.id, (covers, end))

    def expected(self, request: ApprovalAnswer, by: Principal) -> type[Exception] | None:
        """The error that the answer deserves."""
        agent_may = self.desk.agents_may_approve and request.remember is None
        if not (by in (ANN, BOB) or (by is AGENT and agent_may)):
            return NotAllowedError
        meant = self.model.asked(request.workflow_id, request.approval_id)
        if meant is None:
            return NotFoundError
        if request.remember is not None:
            names = self.done(self.desk.store.approvals.get(meant.id)).tools
            fits = request.remember.tool == "fs:*" or any(
                version.tool == request.remember.tool for version in names
            )
            if not (request.approved and fits):
                return RequestError
        wanted = ApprovalState.GRANTED if request.approved else ApprovalState.REFUSED
        if meant.state is ApprovalState.PENDING and self.desk.now_ms < meant.expires_at_ms:
            return None
        return None if meant.state is wanted else ApprovalStateError

    @rule(seconds=st.sampled_from([1, 29, 30, 60]))
    def time_passes(self, seconds: int) -> None:
        self.desk.now_ms += seconds * 1_000

    @rule()
    def requests_expire(self) -> None:
        gone = self.done(self.desk.store.approvals.expire(self.desk.now_ms))
        late = [
            request
            for request in self.model.requests
            if request.state is ApprovalState.PENDING and request.expires_at_ms <= self.desk.now_ms
        ]
        assert {approval.id for approval in gone} == {request.id for request in late}
        for request in late:
            request.state = ApprovalState.EXPIRED

    @rule(tool=st.sampled_from(["fs:write", "fs:delete"]))
    def a_tool_changes(self, tool: str) -> None:
        self.model.versions[tool] += 1

    @rule(run_id=RUNS, what=st.sampled_from(["source", "arguments", "lifted"]))
    def somebody_tampers(self, run_id: str, what: str) -> None:
        """With the stored program; the plan that is shown need not tell."""
        kept = self.kept[run_id]
        changed: object = (
            kept.source + " " if what == "source" else {**getattr(kept, what), "x": '"y"'}
        )
        self.kept[run_id] = msgspec.structs.replace(kept, **{what: changed})

    @rule(run_id=RUNS)
    def the_program_is_restored(self, run_id: str) -> None:
        self.kept[run_id] = self.runs[run_id].kept

    @rule(which=st.integers(0, 3))
    def a_grant_is_revoked(self, which: int) -> None:
        standing = self.done(self.desk.store.grants.active(self.desk.now_ms))
        if which < len(standing):
            revoked = self.done(
                self.desk.store.grants.revoke(standing[which].id, by="bob", now_ms=self.desk.now_ms)
            )
            ids = [i for i, (covers, _) in self.model.grants.items() if self._is(revoked.id, i)]
            for approval_id in ids:
                self.model.grants[approval_id] = (set(), None)

    def _is(self, grant_id: str, approval_id: str) -> bool:
        return self.desk.asking.grant_id(approval_id) == grant_id

    @rule()
    def the_configuration_is_changed(self) -> None:
        self.desk.agents_may_approve = not self.desk.agents_may_approve

    # -- what must hold ------------------------------------------------------------------

    @invariant()
    def what_goes_is_what_was_agreed_to(self) -> None:
        for run_id, asked in self.runs.items():
            consents = self.done(
                self.desk.asking.consents(asked.run, self.kept[run_id], asked.plan)
            )
            for number in range(len(CALLS)):
                self._judge(consents, run_id, number)

    def _judge(self, consents: RunConsents, run_id: str, number: int) -> None:
        wanted = self.model.may_go(run_id, number, self.desk.now_ms)
        one, tool = issued(number), self.tool(CALLS[number][1])
        assert consents.covers(one, tool) == wanted, (run_id, CALLS[number])
        assert self.done(consents.use(one, tool)) == wanted
        self.used += wanted
        if wanted:
            (last,) = self.done(self.desk.store.audit.recent(1))
            assert (last.event, last.run_id, last.tool) == (AuditEvent.USED, run_id, tool.id)

    def log_tells_all(self) -> None:
        """Every use and every decision is written down once (HIL-3)."""
        log = self.done(self.desk.store.audit.recent(1_000_000))
        assert sum(entry.event is AuditEvent.USED for entry in log) == self.used
        told = [
            (entry.detail["approvalId"], entry.event.value)
            for entry in log
            if "approvalId" in entry.detail and entry.event is not AuditEvent.ASKED
        ]
        ended = [
            (request.id, request.state.value)
            for request in self.model.requests
            if request.state is not ApprovalState.PENDING
        ]
        assert sorted(told) == sorted(ended)

    def catalog(self) -> Catalog:
        return Catalog({"fs": [self.tool("fs:write"), self.tool("fs:delete")]})

    def tool(self, tool_id: str) -> Tool:
        server, _, name = tool_id.partition(":")
        version = self.model.versions[tool_id]
        return Tool(server=server, name=name, description=f"Version {version}.")


def issued(number: int) -> Issued:
    site, tool, arguments = CALLS[number]
    return call(site, tool, arguments, number=number)


TestAsking = AskingMachine.TestCase
TestAsking.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)


def test_plans_are_what_the_model_says() -> None:
    """A control: the calls that the model calls planned are in the plans."""
    for run_id, source in SOURCES.items():
        plan = Asked.of(source, {"where": "/anywhere"}, run_id=run_id).plan
        sites = {each.id: each.tool for each in plan.program.calls}
        assert sites == {CALLS[number][0]: CALLS[number][1] for number in PLANNED[run_id]}
