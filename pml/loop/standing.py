"""How a run stands: the answer to who asks again, after a restart too."""

from dataclasses import dataclass, replace

import msgspec

from pml.analysis.plan import plan_of
from pml.domain.approval import Approval, ApprovalState
from pml.domain.permissions import Permission
from pml.domain.plan import Plan
from pml.domain.record import JsonText
from pml.domain.response import ExecuteError, ExecuteResponse, TaskSummary
from pml.domain.run import Run, RunState
from pml.domain.structure import StaticStructure
from pml.errors import NotFoundError
from pml.loop.answer import Waiting, answer, approval_error, held_calls
from pml.loop.bookkeeping import UNREADABLE
from pml.loop.close import History, latest_trace, read_history, trace_of
from pml.loop.doubts import doubts_below
from pml.loop.ids import doubt_id
from pml.loop.library import Library
from pml.loop.means import Means
from pml.loop.nested import permissions_of
from pml.loop.surroundings import Refusal, surroundings_of
from pml.runtime.ending import Ending, ending_of, paused
from pml.runtime.recorder import RESULT_TASK

_EMPTY = StaticStructure(nodes=(), edges=(), complete=True)
_CODES = {
    RunState.RUNNING: "under_way",
    RunState.ERROR: "failed",
}
"""Of states whose word says less than their code."""
_UNDER_WAY = "the run is under way: its end comes to whoever started it; ask again later"
_INTERRUPTED = (
    "the run was interrupted and nothing of it is lost: continue it (pml_continue, "
    "`pml continue`), or abort or replan it; do not send it again"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standings:
    """Says how runs of one store stand."""

    means: Means
    library: Library

    async def __call__(self, run_id: str) -> ExecuteResponse:
        """How the run stands now.

        Raises:
            NotFoundError: there is none.
            StoreError: the database is lost.
        """
        run = await self.means.store.runs.get(run_id)
        if run.state is RunState.RUNNING:
            error = ExecuteError(code="under_way", message=_UNDER_WAY)
            return ExecuteResponse(status=RunState.ERROR, workflow_id=run.id, error=error)
        try:
            history = await read_history(self.means.store, run)
        except UNREADABLE as exc:
            return await self._remembered(run, exc)
        trace = trace_of(history, run.state, limits=self.means.limits, reason=run.reason)
        response = answer(
            self._ending(history),
            trace,
            history.structure,
            wall_ms=trace.duration_ms,
            limits=self.means.limits,
            waiting=await self._waiting(history) if run.state.waits else None,
        )
        if run.state is RunState.APPROVAL_REQUIRED:
            return await self._with_approvals(response, history)
        return response

    async def _remembered(self, run: Run, why: Exception) -> ExecuteResponse:
        """Of a run whose log is gone, or cannot be read."""
        store, limits = self.means.store, self.means.limits
        ending = Ending(state=run.state, error=_error(run))
        try:
            trace = await latest_trace(store, run, limits=limits)
        except UNREADABLE:
            return ExecuteResponse(
                status=RunState.ERROR, workflow_id=run.id, error=_error(run, why)
            )
        warnings: tuple[str, ...] = ()
        if run.state is RunState.SUCCESS:
            try:
                ending = replace(ending, result=await self._result(run))
            except NotFoundError as exc:
                warnings = (str(exc),)
        return answer(
            ending, trace, _EMPTY, wall_ms=trace.duration_ms, limits=limits, warnings=warnings
        )

    async def _result(self, run: Run) -> JsonText:
        """What the program returned, as far as it is kept: without secrets.

        Raises:
            NotFoundError: it has expired.
        """
        page = await self.means.store.task_results.page(
            run.id,
            RESULT_TASK,
            offset=0,
            limit=self.means.limits.result_bytes,
            now_ms=self.means.entropy.now_ms(),
        )
        return page.text

    def _ending(self, history: History) -> Ending:
        """As it was when the run stopped."""
        run, ledger = history.run, history.ledger
        if ledger.settled is not None and run.state in (RunState.SUCCESS, RunState.ERROR):
            return replace(ending_of(ledger.settled), state=run.state)
        if run.state is RunState.PAUSED and ledger.pending is not None:
            return paused(ledger)
        return Ending(state=run.state, error=_error(run))

    async def _waiting(self, history: History) -> Waiting:
        run, ledger = history.run, history.ledger
        doubts: tuple[TaskSummary, ...] = ()
        if run.state is RunState.IN_DOUBT:
            doubts = await doubts_below(self.means.store, run.id, ledger)
        return Waiting(
            expires_at_ms=run.expires_at_ms or 0,
            checkpoint_id=doubt_id(run.id, len(ledger.records))
            if run.state is RunState.IN_DOUBT
            else None,
            doubts=doubts,
        )

    async def _with_approvals(self, response: ExecuteResponse, history: History) -> ExecuteResponse:
        """With what somebody is asked to agree to: in this run, or in one that it called."""
        run = history.run
        pending = await pending_approval(self.means, run.id)
        if pending is None:
            return response
        asked = history
        if pending.run_id != run.id:
            asked = await read_history(
                self.means.store, await self.means.store.runs.get(pending.run_id)
            )
        names = {version.tool for version in pending.tools}
        plan, permissions = await self._plan(asked)
        approvals = tuple(each for each in permissions if each.tool in names)
        approvals = approvals or tuple(Permission(tool=name) for name in sorted(names))
        # what is asked for may be more than at first: permissions.yaml has changed since
        begun = run.started_at_ms is not None
        return msgspec.structs.replace(
            response,
            error=response.error if begun else approval_error(approvals),
            approval_id=pending.id,
            held=held_calls(asked.ledger, pending.calls),
            approvals=approvals,
            expires_at_ms=pending.expires_at_ms,
            plan=plan,
        )

    async def _plan(self, history: History) -> tuple[Plan | None, tuple[Permission, ...]]:
        """What the program would do, with what it would meet now."""
        try:
            around = await surroundings_of(history.structure, self.library)
        except NotFoundError:
            return None, ()
        if isinstance(around, Refusal):
            return None, ()
        kept = history.kept
        permissions = permissions_of(
            history.structure, around.callees, around.catalog, self.means.permissions
        )
        plan = plan_of(
            history.structure,
            source_hash=history.run.source_hash,
            arguments={**kept.arguments, **kept.lifted},
            tools=permissions,
            callees=around.callees,
        )
        return plan, permissions


async def pending_approval(means: Means, run_id: str) -> Approval | None:
    """What somebody is asked in a run, or in one that it called; its own first."""
    for approval in await means.store.approvals.of_run(run_id):
        if approval.state is ApprovalState.PENDING:
            return approval
    for child in await means.store.runs.children(run_id):
        if child.state is RunState.APPROVAL_REQUIRED:
            return await pending_approval(means, child.id)
    return None


def _error(run: Run, why: Exception | None = None) -> ExecuteError | None:
    """Why a run did not succeed."""
    if run.state in (RunState.SUCCESS, RunState.PAUSED):
        return None
    message = run.reason or f"the run is {run.state}"
    if run.state is RunState.INTERRUPTED:
        message = f"{run.reason}: {_INTERRUPTED}" if run.reason else _INTERRUPTED
    if why is not None:
        message = f"{message} ({why})"
    return ExecuteError(code=_CODES.get(run.state, run.state), message=message)
