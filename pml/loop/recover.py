"""Runs whose process died: what their log says of them (EX-3).

A run that had settled gets the end that its log holds.  One with a write that was sent and
never answered is in doubt.  Any other is interrupted, and nothing of it is lost.
"""

from collections.abc import Callable

import msgspec
import structlog

from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.run import Failed, Run, RunState
from pml.errors import FencedError, LedgerKeyError, LogOrderError, NotFoundError, RunStateError
from pml.loop.close import close, read_history, trace_of
from pml.store.ports import Store

_log = structlog.get_logger(__name__)


async def recover(
    store: Store, *, owner: str, alive: Callable[[str], bool], now_ms: int, limits: Limits
) -> tuple[Run, ...]:
    """Close the books of every running run whose owner is gone; returns those runs.

    Each is claimed for ``owner`` first, so that nobody writes to it while its log is read.
    """
    orphans = await store.runs.orphans(alive)
    for run in orphans:
        try:
            claimed = await store.runs.claim(run, owner=owner, now_ms=now_ms)
            await _close_orphan(store, claimed, now_ms=now_ms, limits=limits)
        except (RunStateError, FencedError):
            continue  # another process recovers it
    return orphans


async def _close_orphan(store: Store, run: Run, *, now_ms: int, limits: Limits) -> None:
    try:
        history = await read_history(store, run)
    except (LedgerKeyError, LogOrderError, NotFoundError, msgspec.DecodeError) as exc:
        # one run that cannot be read must not keep anybody from all the others
        _log.warning("run_not_readable", run=run.id, reason=str(exc))
        reason = f"PML died while it was under way, and its log cannot be read: {exc}"
        await store.runs.move(
            run.id, RunState.IN_DOUBT, reason=reason, now_ms=now_ms, epoch=run.epoch
        )
        return
    state, reason = verdict(history.ledger)
    await close(
        store.runs,
        store.traces,
        history,
        trace_of(history, state, limits=limits, reason=reason),
        reason=reason,
        now_ms=now_ms,
        limits=limits,
    )


def verdict(ledger: Ledger) -> tuple[RunState, str]:
    """The state of a run that nobody runs any more, and why."""
    if ledger.in_doubt:
        tasks = ", ".join(f"{c.issued.task_id} ({c.issued.tool})" for c in ledger.in_doubt)
        return RunState.IN_DOUBT, f"PML died while {tasks} was under way: check its effect"
    if ledger.settled is None:
        return RunState.INTERRUPTED, "PML died while the run was under way"
    outcome = ledger.settled.outcome
    if isinstance(outcome, Failed):
        return RunState.ERROR, outcome.message
    return RunState.SUCCESS, ""
