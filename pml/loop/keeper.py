"""Keeps this process's lease, and the runs that other processes left behind.

A process that says nothing for `Limits.lease_ttl_s` counts as dead.  What it ran is found
within a second by any other process: its books are closed as its log says, and in a server
what was merely interrupted goes on by itself.  What nobody answers in time expires.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

import structlog

from pml.domain.record import to_builtins
from pml.domain.response import ExecuteError
from pml.domain.run import Run, RunState
from pml.errors import FencedError, PmlError, RunStateError, StoreError
from pml.loop.bookkeeping import end_left_behind, end_run
from pml.loop.clean_up import clean_up
from pml.loop.fruitless import given_up
from pml.loop.places import NoPlaceError
from pml.loop.recover import recover, rescue
from pml.loop.steering import Steering
from pml.loop.unasked import overdue
from pml.loop.unclosed import close_the_unclosed
from pml.runtime.ending import Ending

EVERY_S = 1.0
"""Between two looks for orphans; each costs four small queries."""
DAY_S = 86_400.0
"""Between two times that a server deletes what is kept no longer; the first is at its start."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
"""Before a run that could not go on is tried again; doubled each time."""
_RUNS = 1_000
"""Interrupted runs that are looked at in one round."""
_WHY = {RunState.ABORTED: "refused", RunState.EXPIRED: "not answered in time"}
GRACE_MS = 2_000
"""In which whoever asks or answers does the rest themselves."""
_SHUT_DOWN = "PML was stopped while the run was under way"
_log = structlog.get_logger(__name__)


class Keeper:
    """Tends the runs of one store for as long as it is entered.

    Invariant: after it is left, nothing that it began is under way, and the lease is given up.
    """

    def __init__(self, steering: Steering, *, resumes: bool) -> None:
        """Set up.

        Args:
            steering: of the store.
            resumes: whether interrupted runs go on by themselves: in servers only.
        """
        self._steering = steering
        self._engine = steering.engine
        self._resumes = resumes
        self._tasks: set[asyncio.Task[None]] = set()
        self._resuming: dict[str, asyncio.Task[None]] = {}
        self._not_before: dict[str, tuple[float, float]] = {}
        """When a run that could not go on is tried again, and how long it waited before."""

    async def __aenter__(self) -> Self:
        """Take the lease.

        Raises:
            StoreError: the database is lost.
        """
        await self._renew()
        ttl_s = self._engine.limits.lease_ttl_s
        works = [(self._renew, ttl_s / 3), (self.tend, EVERY_S)]
        if self._resumes:
            works.append((self._clean_up, DAY_S))
        for work, every_s in works:
            self._tasks.add(asyncio.create_task(_each(work, every_s)))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop what was resumed, so that another process goes on with it, and end the lease."""
        for task in self._tasks:
            task.cancel()
        for run_id in self._resuming:
            if (stint := self._engine.under_way.find(run_id)) is not None:
                error_ = ExecuteError(code="interrupted", message=_SHUT_DOWN)
                stint.stop(Ending(state=RunState.INTERRUPTED, error=error_))
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self.idle()
        with contextlib.suppress(StoreError):  # the process is gone soon, and others see that
            await self._engine.store.leases.release(self._engine.owner)

    async def tend(self) -> None:
        """One round: recover orphans, end what was left behind or not answered, resume the rest.

        Raises:
            StoreError: the database is lost.
        """
        engine = self._engine
        await close_the_unclosed(engine)
        await recover(engine.bookkeeping, alive=self._steering.alive)
        await self._compare()
        await end_left_behind(engine.bookkeeping)
        await self._expire()
        await self._see_to_the_unasked()
        if self._resumes:
            for run in await engine.store.runs.recent(_RUNS, RunState.INTERRUPTED):
                if not await given_up(engine.bookkeeping, run):
                    self._resume(run)

    async def idle(self) -> None:
        """Return when nothing that was resumed is under way."""
        while self._resuming:
            await asyncio.wait(self._resuming.values())

    async def _renew(self) -> None:
        engine = self._engine
        await engine.store.leases.renew(engine.owner, ttl_s=engine.limits.lease_ttl_s)

    async def _clean_up(self) -> None:
        """Delete what is kept no longer (ST-7)."""
        engine = self._engine
        gone = await clean_up(engine.store, engine.limits, now_ms=engine.entropy.now_ms())
        _log.info("cleaned_up", **to_builtins(gone))

    async def _compare(self) -> None:
        """Make this process and the store agree on what it runs.

        What another process took over, while this one could not say a word, is stopped here;
        what is said to run here and does not (the answer to a claim was lost) is put in order.
        """
        engine = self._engine
        running = {run.id: run for run in await engine.store.runs.recent(_RUNS, RunState.RUNNING)}
        for stint in engine.under_way:
            if stint.epoch is None:
                continue  # whether it gets the run is decided when it claims it
            run = running.get(stint.run_id) or await engine.store.runs.get(stint.run_id)
            if run.epoch != stint.epoch:
                error = ExecuteError(code="interrupted", message="another process took it over")
                stint.stop(Ending(state=RunState.INTERRUPTED, error=error))
        for run in running.values():
            lost = run.owner == engine.owner and engine.under_way.find(run.id) is None
            if lost and run.id not in engine.unclosed:
                await rescue(engine.bookkeeping, run)

    async def _expire(self) -> None:
        engine, now_ms = self._engine, self._engine.entropy.now_ms()
        await engine.store.approvals.expire(now_ms)
        for run in await engine.store.runs.expired(now_ms):
            if run.parent_run_id is not None:
                continue  # it ends with the run that called it
            with contextlib.suppress(RunStateError, FencedError):  # it was answered just now
                reason = f"nobody answered in time; it was {run.state}"
                await end_run(engine.bookkeeping, run, RunState.EXPIRED, reason)

    async def _see_to_the_unasked(self) -> None:
        """Runs whose process died before it could ask, or before it could do as was answered."""
        engine, before_ms = self._engine, self._engine.entropy.now_ms() - GRACE_MS
        asked = {approval.run_id for approval in await engine.store.approvals.pending(_RUNS)}
        for run in await engine.store.runs.recent(_RUNS, RunState.APPROVAL_REQUIRED):
            if run.parent_run_id is not None or run.id in asked or run.updated_at_ms > before_ms:
                continue
            becomes = await overdue(engine.store, run)
            if becomes is RunState.RUNNING and self._resumes:
                self._resume(run)
            elif becomes is not None and becomes.final:
                with contextlib.suppress(RunStateError, FencedError):
                    await end_run(
                        engine.bookkeeping, run, becomes, f"its approval was {_WHY[becomes]}"
                    )

    def _resume(self, run: Run) -> None:
        """Let a run go on by itself, unless it was tried just now."""
        not_before, _ = self._not_before.get(run.id, (0.0, 0.0))
        if (
            run.parent_run_id is not None
            or run.id in self._resuming
            or time.monotonic() < not_before
        ):
            return
        task = asyncio.create_task(self._go_on(run))
        self._resuming[run.id] = task
        task.add_done_callback(lambda _: self._resuming.pop(run.id))

    async def _go_on(self, run: Run) -> None:
        try:
            response = await self._steering.resume_interrupted(run)
            failed = None if response.error is None else response.error.code
            _log.info("run_resumed", run=run.id, status=response.status, error=failed)
        except (PmlError, NoPlaceError) as exc:
            _log.warning("run_not_resumed", run=run.id, reason=str(exc))
        _, waited_s = self._not_before.pop(run.id, (0.0, 0.0))
        pause_s = min(max(waited_s * 2, FIRST_PAUSE_S), LONGEST_PAUSE_S)
        self._not_before[run.id] = (time.monotonic() + pause_s, pause_s)
        while len(self._not_before) > _RUNS:
            self._not_before.pop(next(iter(self._not_before)))


async def _each(work: Callable[[], Awaitable[None]], every_s: float) -> None:
    """Do ``work`` again and again; a lost database is waited for.

    A driver may lose the one cancellation that it is sent (`asyncio.wait_for` of Python 3.11
    does where the answer comes at the same moment), so each round asks whether there was one.
    """
    task = asyncio.current_task()
    assert task is not None
    while True:
        try:
            await work()
        except StoreError as exc:
            _log.warning("runs_not_tended", reason=str(exc))
        except Exception:  # noqa: BLE001  # a round that failed must not be the last
            _log.exception("runs_not_tended")
        if task.cancelling():
            raise asyncio.CancelledError
        await asyncio.sleep(every_s)
