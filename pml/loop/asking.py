"""Asking a person, and what becomes of the answer (HIL-2 to HIL-4).

One request covers the whole plan of a run; what its code then calls besides is held and asked
for in one more.  What was agreed to is bound to the run's source and bound arguments, and both
are compared again before it counts.  Every call that goes because somebody agreed is in the
audit log before it is sent.
"""

import hashlib
import json
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pml.domain.approval import (
    Approval,
    ApprovalState,
    Grant,
    GrantScope,
    Principal,
    Role,
)
from pml.domain.permissions import Permission
from pml.domain.plan import Plan
from pml.domain.run import Issued, Run, RunProgram
from pml.domain.sanitising import redact_text
from pml.domain.steering import ApprovalAnswer
from pml.domain.tools import Catalog, matches
from pml.errors import NotAllowedError, NotFoundError, RequestError
from pml.loop.consents import RunConsents
from pml.runtime.consent import (
    NOTHING,
    Consents,
    of_approval,
    version_of,
)
from pml.store.ports import Store

_GRANT_OF_APPROVAL = uuid.UUID("6b1f6c0e-3f0d-4c8e-9a55-2f2f0c5f7d11")
"""Name space of grants that an answer asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Asks, and hears answers, for the runs of one store."""

    store: Store
    now_ms: Callable[[], int]
    new_id: Callable[[], str]
    ttl_s: int
    """How long an answer is waited for."""
    agents_may_approve: bool = False
    """Whether a role of agent is enough to answer (HIL-4); to remember it never is."""

    async def consents(
        self, run: Run, kept: RunProgram, plan: Plan, *, inherited: Consents = NOTHING
    ) -> RunConsents:
        """What was agreed to for a run, now; read again whenever it goes on.

        Args:
            run: the run.
            kept: its program; an approval of another source or of other arguments counts for
                nothing.
            plan: made from that program.
            inherited: what the approved plan of its caller says of it (`RunConsents.within`).

        Raises:
            StoreError: the database is lost.
        """
        approved = [
            of_approval(approval, plan)
            for approval in await self.store.approvals.of_run(run.id)
            if approval.state is ApprovalState.GRANTED and self._is_bound(approval, run, kept)
        ]
        return RunConsents(
            run=run,
            store=self.store,
            now_ms=self.now_ms,
            agreed=inherited.and_also(approved),
            grants=await self.store.grants.active(self.now_ms()),
        )

    def nothing(self, run: Run, inherited: Consents = NOTHING) -> RunConsents:
        """For a run that needs no consent, as far as its plan tells; the database is not asked."""
        return RunConsents(
            run=run, store=self.store, now_ms=self.now_ms, agreed=inherited, grants=()
        )

    async def ask_plan(
        self, run: Run, kept: RunProgram, needed: Iterable[Permission], catalog: Catalog
    ) -> Approval:
        """Ask for the whole plan of a run that has not begun.

        Args:
            run: the run; it is in the store.
            kept: its program.
            needed: the tools that need consent (`RunConsents.needed`).
            catalog: with those tools.

        Raises:
            StoreError: the database is lost.
        """
        return await self._ask(run, kept, [p.tool for p in needed], (), catalog)

    async def ask_calls(
        self, run: Run, kept: RunProgram, held: Sequence[Issued], catalog: Catalog
    ) -> Approval:
        """Ask for exactly these calls of the run's log, which nothing covers.

        Raises:
            StoreError: the database is lost.
        """
        tools = [issued.tool for issued in held]
        return await self._ask(run, kept, tools, tuple(i.call for i in held), catalog)

    async def answer(self, request: ApprovalAnswer, *, by: Principal) -> Approval:
        """Take a person's answer; the same one again changes nothing.

        Raises:
            NotAllowedError: who answers has not the role for it.
            NotFoundError: nothing was asked, or not in that run.
            RequestError: what is to be remembered is not what was asked for.
            ApprovalStateError: it was answered otherwise, withdrawn, or has expired.
            StoreError: the database is lost.
        """
        self._must_be_allowed(request, by)
        asked = await self._find(request)
        if request.remember is not None:
            _must_be_asked_for(request, asked)
        decided = await self.store.approvals.decide(
            asked.id,
            granted=request.approved,
            by=by.name,
            note=redact_text(request.note),
            now_ms=self.now_ms(),
        )
        if request.remember is not None:
            await self._remember(request.remember, decided, request.note, by)
        return decided

    @staticmethod
    def grant_id(approval_id: str) -> str:
        """Of the grant that an answer to this request makes: the same answer, the same grant."""
        return str(uuid.uuid5(_GRANT_OF_APPROVAL, approval_id))

    # -- asking ----------------------------------------------------------------------

    async def _ask(
        self,
        run: Run,
        kept: RunProgram,
        tools: Iterable[str],
        calls: tuple[int, ...],
        catalog: Catalog,
    ) -> Approval:
        now_ms = self.now_ms()
        approval = Approval(
            id=self.new_id(),
            run_id=run.id,
            source_hash=run.source_hash,
            arguments_hmac=self._arguments_hmac(kept),
            tools=tuple(version_of(tool, catalog.find(tool)) for tool in dict.fromkeys(tools)),
            calls=calls,
            asked_at_ms=now_ms,
            expires_at_ms=now_ms + self.ttl_s * 1000,
        )
        for other in await self.store.approvals.of_run(run.id):
            if _is_same_question(other, approval):
                return other
        await self.store.approvals.ask(approval, epoch=run.epoch)
        return approval

    def _is_bound(self, approval: Approval, run: Run, kept: RunProgram) -> bool:
        sent = hashlib.sha256(kept.source.encode()).hexdigest()
        return (
            approval.source_hash == run.source_hash == sent
            and approval.arguments_hmac == self._arguments_hmac(kept)
        )

    def _arguments_hmac(self, kept: RunProgram) -> str:
        bound = [sorted(kept.arguments.items()), sorted(kept.lifted.items())]
        return self.store.hmac(json.dumps(bound))

    # -- answering -------------------------------------------------------------------

    def _must_be_allowed(self, request: ApprovalAnswer, by: Principal) -> None:
        needed = Role.AGENT if self.agents_may_approve and not request.remember else Role.APPROVER
        if not by.role.may(needed):
            message = (
                f"{by.name} is {by.role}, and to answer an approval takes the role {needed}: a "
                "person answers with `pml approve`, or the configuration lets agents answer "
                "(approvals: {agents: true} in permissions.yaml), who may not remember"
            )
            raise NotAllowedError(message)

    async def _find(self, request: ApprovalAnswer) -> Approval:
        """The request that is meant, of the run or of one that it waits for."""
        run_id = request.workflow_id
        if request.approval_id is not None:
            asked = await self.store.approvals.get(request.approval_id)
            if not await self._is_within(asked.run_id, run_id):
                hint = f"run {run_id} does not wait for it"
                raise NotFoundError("approval", request.approval_id, hint)  # noqa: EM101  # a kind
            return asked
        await self.store.runs.get(run_id)
        asked_for = await self._asked_within(run_id)
        if not asked_for:
            hint = "nobody was asked for anything in this run"
            raise NotFoundError("approval", run_id, hint)  # noqa: EM101  # a kind
        waiting = [each for each in asked_for if each.state is ApprovalState.PENDING]
        return waiting[0] if waiting else asked_for[-1]

    async def _is_within(self, run_id: str, root: str) -> bool:
        while run_id != root:
            parent = (await self.store.runs.get(run_id)).parent_run_id
            if parent is None:
                return False
            run_id = parent
        return True

    async def _asked_within(self, run_id: str) -> list[Approval]:
        """All that was asked in a run and in the runs that it started, its own first."""
        found = [*await self.store.approvals.of_run(run_id)]
        for child in await self.store.runs.children(run_id):
            found += await self._asked_within(child.id)
        return found

    async def _remember(
        self, scope: GrantScope, decided: Approval, note: str, by: Principal
    ) -> None:
        grant_id = self.grant_id(decided.id)
        if any(grant.id == grant_id for grant in await self.store.grants.all()):
            return
        now_ms = self.now_ms()
        await self.store.grants.remember(
            Grant(
                id=grant_id,
                scope=scope,
                granted_at_ms=now_ms,
                granted_by=by.name,
                expires_at_ms=None if scope.ttl_s is None else now_ms + scope.ttl_s * 1000,
                note=redact_text(note),
            )
        )


def _is_same_question(other: Approval, asked: Approval) -> bool:
    return (
        other.state is ApprovalState.PENDING
        and other.expires_at_ms > asked.asked_at_ms
        and (other.calls, other.tools) == (asked.calls, asked.tools)
        and (other.source_hash, other.arguments_hmac) == (asked.source_hash, asked.arguments_hmac)
    )


def _must_be_asked_for(request: ApprovalAnswer, asked: Approval) -> None:
    scope = request.remember
    assert scope is not None
    if not request.approved:
        message = "remember: only what is approved can be remembered, and this is refused"
        raise RequestError(message)
    if not any(matches(scope.tool, version.tool) for version in asked.tools):
        names = ", ".join(version.tool for version in asked.tools)
        message = f"remember.tool: {scope.tool!r} means none of what was asked for: {names}"
        raise RequestError(message)
