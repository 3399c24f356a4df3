"""Runs in approval_required that wait for nobody (HIL-4, OP-4).

A process can die between storing such a run and asking, or between the answer and what follows
from it.  Then no request is pending, and nobody would ever answer: what was decided, if anything
was, says what becomes of the run.
"""

from pml.domain.approval import Approval, ApprovalState
from pml.domain.run import Run, RunState
from pml.store.ports import Store

_FOLLOWS = {
    ApprovalState.REFUSED: RunState.ABORTED,
    ApprovalState.EXPIRED: RunState.EXPIRED,
}


async def overdue(store: Store, run: Run) -> RunState | None:
    """What a run is to become that waits for nobody; None: it waits for somebody.

    ``running`` means that it goes on: to ask again, or with what was granted.

    Raises:
        StoreError: the database is lost.
    """
    if run.state is not RunState.APPROVAL_REQUIRED:
        return None
    asked = await _asked_within(store, run.id)
    if any(approval.state is ApprovalState.PENDING for approval in asked):
        return None
    last = max(asked, key=lambda each: each.asked_at_ms, default=None)
    return RunState.RUNNING if last is None else _FOLLOWS.get(last.state, RunState.RUNNING)


async def never_asked(store: Store, run: Run) -> bool:
    """Whether a run waits for approval that nobody was ever asked for.

    Raises:
        StoreError: the database is lost.
    """
    waits = run.state is RunState.APPROVAL_REQUIRED
    return waits and not await _asked_within(store, run.id)


async def _asked_within(store: Store, run_id: str) -> list[Approval]:
    """All that was asked in a run and in the runs that it called."""
    found = [*await store.approvals.of_run(run_id)]
    for child in await store.runs.children(run_id):
        found += await _asked_within(store, child.id)
    return found
