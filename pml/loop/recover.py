"""Runs whose process died: what their log says of them (EX-3).

A run that had settled gets the end that its log holds.  One with a write that was sent and
never answered is in doubt.  One that had paused is paused.  Any other is interrupted, and
nothing of it is lost.
"""

from collections.abc import Callable
from dataclasses import replace

import msgspec
import structlog

from pml.domain.ledger import Ledger
from pml.domain.response import ExecuteError
from pml.domain.run import Run, RunState
from pml.errors import FencedError, RunStateError
from pml.loop.bookkeeping import UNREADABLE, Bookkeeping
from pml.loop.close import read_history
from pml.runtime.ending import Ending, ending_of, paused, reason_of

Alive = Callable[[str], bool]
"""Whether a process lives, as far as this machine can tell."""
_log = structlog.get_logger(__name__)


async def recover(books: Bookkeeping, *, alive: Alive) -> tuple[Run, ...]:
    """Close the books of every running run whose owner is gone; returns those runs.

    Raises:
        StoreError: the database is lost.
    """
    orphans = await books.store.runs.orphans(alive)
    return tuple([run for run in orphans if await rescue(books, run)])


async def rescue(books: Bookkeeping, run: Run) -> bool:
    """Take a running run over and write down how it was left; False: somebody was faster.

    It is claimed first, so that nobody writes to it while its log is read.

    Raises:
        StoreError: the database is lost.
    """
    try:
        claimed = await books.store.runs.claim(run, owner=books.owner, now_ms=books.now_ms())
        await _write(books, claimed)
    except (RunStateError, FencedError):
        return False
    return True


async def _write(books: Bookkeeping, run: Run) -> None:
    try:
        history = await read_history(books.store, run)
    except UNREADABLE as exc:
        # one run that cannot be read must not keep anybody from all the others
        _log.warning("run_not_readable", run=run.id, reason=str(exc))
        reason = f"PML died while it was under way, and its log cannot be read: {exc}"
        await books.move(run, RunState.IN_DOUBT, reason)
        return
    ending = verdict(history.ledger)
    history = replace(history, run=msgspec.structs.replace(run, state=ending.state))
    await books.write(history, ending.state, reason_of(ending))


def verdict(ledger: Ledger) -> Ending:
    """How a run stands that nobody runs any more, and why."""
    if ledger.in_doubt:
        tasks = ", ".join(f"{c.issued.task_id} ({c.issued.tool})" for c in ledger.in_doubt)
        return _ending(RunState.IN_DOUBT, f"PML died while {tasks} was under way: check its effect")
    if ledger.pending is not None:
        return paused(ledger)
    if ledger.settled is not None and not ledger.open_calls:
        return ending_of(ledger.settled)
    return _ending(RunState.INTERRUPTED, "PML died while the run was under way")


def _ending(state: RunState, message: str) -> Ending:
    return Ending(state=state, error=ExecuteError(code=state, message=message))
