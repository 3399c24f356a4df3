"""Writing down how runs stand that nobody runs: recovered, aborted, expired, left behind."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import structlog

from pml.domain.limits import Limits
from pml.domain.run import Run, RunState
from pml.errors import FencedError, LedgerKeyError, LogOrderError, NotFoundError, RunStateError
from pml.loop.close import History, close, read_history, trace_of
from pml.store.ports import Store

UNREADABLE = (LedgerKeyError, LogOrderError, NotFoundError, msgspec.DecodeError)
"""What reading a run's program and log may raise, apart from a lost database."""
_HANDED_ON = frozenset({RunState.ABORTED, RunState.EXPIRED})
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bookkeeping:
    """What it takes to write down how a run stands."""

    store: Store
    owner: str
    """Names this process in the runs that it takes over."""
    now_ms: Callable[[], int]
    limits: Limits

    async def write(self, history: History, state: RunState, reason: str) -> None:
        """Write down how a run ended or waits, with what its log says of it; as `close`.

        Raises:
            RunStateError: somebody moved it meanwhile.
            FencedError: somebody took it over meanwhile.
            StoreError: the database is lost.
        """
        trace = await asyncio.to_thread(trace_of, history, state, limits=self.limits, reason=reason)
        await close(
            self.store,
            history,
            trace,
            reason=reason,
            now_ms=self.now_ms(),
            limits=self.limits,
        )

    async def move(self, run: Run, state: RunState, reason: str) -> None:
        """Write down how a run stands whose log cannot be read.

        Raises:
            RunStateError: somebody moved it meanwhile.
            FencedError: somebody took it over meanwhile.
            StoreError: the database is lost.
        """
        now_ms = self.now_ms()
        await self.store.runs.move(
            run.id,
            state,
            reason=reason,
            now_ms=now_ms,
            epoch=run.epoch,
            expires_at_ms=now_ms + self.limits.waiting_ttl_s * 1000,
        )


async def end_run(books: Bookkeeping, run: Run, state: RunState, reason: str) -> None:
    """End a run that waits, or whose process is gone, and the runs that it called.

    Raises:
        RunStateError: somebody moved it meanwhile.
        FencedError: somebody took it over meanwhile.
        StoreError: the database is lost.
    """
    if run.state is RunState.RUNNING:
        run = await books.store.runs.claim(run, owner=books.owner, now_ms=books.now_ms())
    try:
        history = await read_history(books.store, run)
    except UNREADABLE as exc:
        _log.warning("run_not_readable", run=run.id, reason=str(exc))
        await books.move(run, state, reason)
    else:
        await books.write(history, state, reason)
    await books.store.approvals.withdraw(run.id, now_ms=books.now_ms())
    await end_children(books, run.id, state)


async def end_children(books: Bookkeeping, run_id: str, state: RunState) -> None:
    """End what a run that ended has left behind of runs that it called.

    Raises:
        StoreError: the database is lost.
    """
    for child in await books.store.runs.children(run_id):
        if not child.state.final:
            await _end_with_caller(books, child, state)


async def end_left_behind(books: Bookkeeping) -> None:
    """End the runs whose caller has ended without them.

    Whoever ends a run ends what it called right after it, and may die between the two, or find
    that another process, which recovers the same orphans, has just moved what was called.

    Raises:
        StoreError: the database is lost.
    """
    for child in await books.store.runs.left_behind():
        assert child.parent_run_id is not None
        caller = await books.store.runs.get(child.parent_run_id)
        await _end_with_caller(books, child, caller.state)


async def _end_with_caller(books: Bookkeeping, child: Run, state: RunState) -> None:
    theirs = state if state in _HANDED_ON else RunState.CANCELLED
    try:
        await end_run(books, child, theirs, f"the run that called it is {state}")
    except (RunStateError, FencedError):
        _log.info("child_run_moved_meanwhile", run=child.id)
