"""The books of one stint: how the run stands when it stops is written down, told and answered."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial

import msgspec
import structlog

from pml.domain import events
from pml.domain.approval import Approval
from pml.domain.ledger import Ledger
from pml.domain.program import Diagnostic
from pml.domain.response import ExecuteResponse, TaskSummary
from pml.domain.run import Issued, Run, RunState
from pml.domain.trace import ExecutionTrace
from pml.errors import FencedError, RunStateError, StoreError
from pml.loop.answer import Waiting, answer, held_calls, options
from pml.loop.children import settle_children
from pml.loop.close import History, close, trace_of
from pml.loop.doubts import doubts_below
from pml.loop.finished import finished
from pml.loop.ids import doubt_id
from pml.loop.means import Means
from pml.loop.observed import learn_results
from pml.loop.stints import Stint
from pml.loop.surroundings import Surroundings
from pml.runtime.ending import (
    NOT_CLOSED,
    STORE_UNAVAILABLE,
    Ending,
    not_closed,
    reason_of,
    store_lost,
)
from pml.runtime.log_writer import LogWriter

COMES_BACK_S = 1.0
"""A crashed embedded server is back in less."""
Asks = Callable[[Run, tuple[Issued, ...]], Awaitable[Approval]]
"""Asks for the approval of calls of a run."""
_log = structlog.get_logger(__name__)


@dataclass(slots=True, kw_only=True)
class Books:
    """Of one run that is this process's own."""

    means: Means
    history: History
    around: Surroundings
    stint: Stint
    writer: LogWriter
    ask: Asks
    diagnostics: tuple[Diagnostic, ...] = ()
    warnings: tuple[str, ...] = ()
    _started: float = field(default_factory=time.perf_counter)
    _ran_ms: int = field(init=False)
    """In earlier stints."""
    _doubts: tuple[TaskSummary, ...] = ()
    """Writes in doubt of runs that it called."""

    def __post_init__(self) -> None:
        started_ms = self.run.started_at_ms or 0
        self._ran_ms = max(self.ledger.last_ms - started_ms, 0) if self.ledger.records else 0

    @property
    def run(self) -> Run:
        """As it was when the stint began."""
        return self.history.run

    @property
    def ledger(self) -> Ledger:
        """The run's log."""
        return self.history.ledger

    async def end(self, ending: Ending) -> ExecuteResponse:
        """Write down how the run stands, tell those who watch, and answer.

        Raises:
            RunStateError: somebody ended it meanwhile.
            FencedError: somebody took it over.
        """
        approval: Approval | None = None
        try:
            ending = await finished(self._with_children(ending))
            approval = await finished(self._asked(ending))
            trace = await finished(self._close_again(ending, approval))
        except StoreError as exc:
            ending, trace = await self._unkept(store_lost(exc, self.ledger))
            self.means.unclosed[self.run.id] = partial(self._close, ending, None)
        self._say(ending)
        return self._answer(ending, trace, approval)

    async def stopped(self) -> ExecuteResponse:
        """Close a run that was cancelled, or stopped from outside.

        Raises:
            CancelledError: it was cancelled; it is closed.
            RunStateError: it was stopped, and somebody has ended it.
            FencedError: it was stopped, and somebody has taken it over.
        """
        stop, ending = self.stint.stopped, self.stint.end
        if self.ledger.in_doubt:
            ending = replace(ending, state=RunState.IN_DOUBT)
        trace: ExecutionTrace | None = None
        try:
            ending = await finished(self._with_children(ending))
            trace = await finished(self._close(ending, None))
        except (FencedError, RunStateError):
            if stop is not None:
                raise
        except Exception as exc:  # noqa: BLE001  # must not replace the cancellation
            _log.exception("stopped_run_not_closed", run=self.run.id)
            self.means.unclosed[self.run.id] = partial(self._close, ending, None)
            if isinstance(exc, StoreError):
                told = store_lost(exc, self.ledger)
            else:
                told = not_closed(exc, self.ledger)
            ending, trace = await self._unkept(told)
        self._say(ending)
        if stop is None:
            raise asyncio.CancelledError
        assert trace is not None
        return self._answer(ending, trace, None)

    async def _unkept(self, ending: Ending) -> tuple[Ending, ExecutionTrace]:
        """What is told where how the run stands could not be kept."""
        return ending, await finished(asyncio.to_thread(self._kept_trace, ending))

    async def _with_children(self, ending: Ending) -> Ending:
        if not ending.state.final or not self.ledger.open_calls:
            approvals = (
                permission for _, child in ending.children for permission in child.approvals
            )
            ending = replace(ending, approvals=(*ending.approvals, *approvals))
        else:
            books = self.means.bookkeeping
            ending = await settle_children(books, self.run, self.ledger, ending)
        if ending.state is RunState.IN_DOUBT:
            self._doubts = await doubts_below(self.means.store, self.run.id, self.ledger)
        return ending

    async def _asked(self, ending: Ending) -> Approval | None:
        if ending.state is not RunState.APPROVAL_REQUIRED or not ending.calls:
            return None
        await self.writer.commit()
        return await self.ask(self.run, ending.calls)

    async def _close_again(self, ending: Ending, approval: Approval | None) -> ExecutionTrace:
        """Close the run; once more where the database fell over just now and is coming back."""
        started = time.perf_counter()
        try:
            return await self._close(ending, approval)
        except StoreError:
            if time.perf_counter() - started > COMES_BACK_S:
                raise
        await asyncio.sleep(COMES_BACK_S)
        return await self._close(ending, approval)

    async def _close(self, ending: Ending, approval: Approval | None) -> ExecutionTrace:
        await self.writer.commit()
        means = self.means
        # in a thread: looking through 10 MB for secrets takes seconds
        trace = await asyncio.to_thread(self._trace, ending)
        await close(
            means.store,
            self.history,
            trace,
            reason=reason_of(ending),
            now_ms=means.entropy.now_ms(),
            limits=means.limits,
            expires_at_ms=None if approval is None else approval.expires_at_ms,
            around=self.around,
        )
        if not trace.dry_run:
            await learn_results(means.store.tool_schemas, self.ledger, self.around.catalog)
        return trace

    def _say(self, ending: Ending) -> None:
        run_id, now_ms = self.run.id, self.means.entropy.now_ms()
        if ending.state is RunState.APPROVAL_REQUIRED:
            tools = tuple(permission.tool for permission in ending.approvals)
            self.stint.emit(events.ApprovalRequired(run_id=run_id, at_ms=now_ms, tools=tools))
        if ending.state is RunState.PAUSED and ending.checkpoint is not None:
            layer = events.LayerComplete(
                run_id=run_id,
                at_ms=now_ms,
                checkpoint_id=ending.checkpoint.checkpoint_id,
                pending_layer=ending.checkpoint.layer,
                task_ids=tuple(call.issued.task_id for call in ending.layer_calls),
            )
            self.stint.emit(layer)
        if choices := options(ending.state):
            stop = self._stop_id(ending)
            decision = events.DecisionRequired(
                run_id=run_id, at_ms=now_ms, checkpoint_id=stop, options=choices
            )
            self.stint.emit(decision)
        end = events.RunEnd(
            run_id=run_id, at_ms=now_ms, state=ending.state, duration_ms=self._wall_ms()
        )
        self.stint.emit(end)

    def _stop_id(self, ending: Ending) -> str | None:
        if ending.error is not None and ending.error.code in {STORE_UNAVAILABLE, NOT_CLOSED}:
            return None  # who goes on with the run may never have heard of this stop
        if ending.state is RunState.PAUSED and ending.checkpoint is not None:
            return ending.checkpoint.checkpoint_id
        doubt = ending.state is RunState.IN_DOUBT
        return doubt_id(self.run.id, len(self.ledger.records)) if doubt else None

    def _wall_ms(self) -> float:
        return self._ran_ms + (time.perf_counter() - self._started) * 1000

    def _trace(self, ending: Ending) -> ExecutionTrace:
        return trace_of(
            self.history, ending.state, limits=self.means.limits, reason=reason_of(ending)
        )

    def _kept_trace(self, ending: Ending) -> ExecutionTrace:
        """What the database holds of the run.

        Nothing else may be told where the rest cannot be kept: should this process die before it
        is, the next one knows no more, and asks about writes whose answers only this one saw.
        """
        kept = replace(self.history, ledger=Ledger(self.writer.kept))
        trace = trace_of(kept, ending.state, limits=self.means.limits, reason=reason_of(ending))
        tasks = zip(trace.task_results, kept.ledger.calls, self.ledger.calls, strict=False)
        assert ending.error is not None
        unkept = {"error_code": ending.error.code, "error": _NOT_KEPT}
        told = tuple(
            task if call.outcome == seen.outcome else msgspec.structs.replace(task, **unkept)
            for task, call, seen in tasks
        )
        return msgspec.structs.replace(trace, task_results=told)

    def _answer(
        self, ending: Ending, trace: ExecutionTrace, approval: Approval | None
    ) -> ExecuteResponse:
        waits = ending.state in _WAITING
        return answer(
            ending,
            trace,
            self.history.structure,
            wall_ms=self._wall_ms(),
            limits=self.means.limits,
            diagnostics=self.diagnostics,
            warnings=self.warnings,
            waiting=self._waiting(ending, approval) if waits else None,
        )

    def _waiting(self, ending: Ending, approval: Approval | None) -> Waiting:
        asked = [child for _, child in ending.children if child.approval_id is not None]
        first = asked[0] if asked else None
        expires = self.means.entropy.now_ms() + self.means.limits.waiting_ttl_s * 1000
        if approval is not None:
            return Waiting(
                expires_at_ms=approval.expires_at_ms,
                approval_id=approval.id,
                held=held_calls(self.ledger, approval.calls),
                doubts=self._doubts,
            )
        return Waiting(
            expires_at_ms=expires,
            approval_id=None if first is None else first.approval_id,
            plan=None if first is None else first.plan,
            held=() if first is None else first.held,
            checkpoint_id=self._stop_id(ending),
            doubts=self._doubts,
        )


_NOT_KEPT = "its server answered, and the answer could not be kept: ask how the run stands"
_WAITING = frozenset(state for state in RunState if state.waits)
