"""Runs that end as interrupted again and again: resuming them comes to an end (EX-3, OP-4).

A program may be what kills its server or its sandbox, each time at the same place.  How often
a run was taken over since its log last got further is in the store, so it outlives whatever
the run kills.
"""

from contextlib import suppress

import structlog

from pml.domain.run import Run, RunState
from pml.errors import FencedError, RunStateError
from pml.loop.bookkeeping import UNREADABLE, Bookkeeping, end_run
from pml.loop.close import read_history
from pml.loop.doubts import doubts_of

TRIES = 10
"""Times that a run goes on by itself without getting further."""
_CLAIMS = 2 * TRIES
"""Each time it is claimed by whoever finds it and by whoever goes on with it."""
_CLAIMS_WITH_CHILDREN = 10 * _CLAIMS
"""While a run that it called gets further; bounded too, for it may not get as far as that."""
_log = structlog.get_logger(__name__)


async def given_up(books: Bookkeeping, run: Run) -> bool:
    """Whether an interrupted run goes on by itself no more; then it is ended here.

    With a write in doubt below it, it waits for a decision instead.

    Raises:
        StoreError: the database is lost.
    """
    if not await _is_fruitless(books, run):
        return False
    with suppress(RunStateError, FencedError):  # somebody goes on with it: let them
        reason = (
            f"the run was interrupted {TRIES} times without getting any further, so it is not "
            "tried again: it may be what ends its sandbox or its server, by the memory it takes "
            "or by what it calls. `pml trace` shows how far it came; do less in one run"
        )
        if await _doubt_below(books, run):
            await books.move(run, RunState.IN_DOUBT, reason)
        else:
            claimed = await books.store.runs.claim(run, owner=books.owner, now_ms=books.now_ms())
            await end_run(books, claimed, RunState.ERROR, reason)
        _log.warning("run_given_up", run=run.id)
    return True


async def _is_fruitless(books: Bookkeeping, run: Run) -> bool:
    idle = await _idle(books, run)
    if idle < _CLAIMS:
        return False
    children = [c for c in await books.store.runs.children(run.id) if not c.state.final]
    below = min([await _idle(books, child) for child in children], default=idle)
    return below >= _CLAIMS or idle >= _CLAIMS_WITH_CHILDREN


async def _idle(books: Bookkeeping, run: Run) -> int:
    """How often it was claimed since it got further."""
    return run.epoch - await books.store.run_log.progressed(run.id)


async def _doubt_below(books: Bookkeeping, run: Run) -> bool:
    try:
        history = await read_history(books.store, run)
    except UNREADABLE:
        return False
    return bool(await doubts_of(books.store, run.id, history.ledger))
