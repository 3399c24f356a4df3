"""One run from its sandbox to its trace."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import msgspec
import structlog

from pml.domain import events
from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.permissions import Permission
from pml.domain.plan import Plan
from pml.domain.response import ExecuteResponse
from pml.domain.run import Run, RunProgram, RunState
from pml.domain.structure import ANY_TOOL, StaticStructure
from pml.domain.trace import ExecutionTrace
from pml.errors import PmlError, StoreError
from pml.loop.answer import answer, approval_error
from pml.loop.close import History, close, trace_of
from pml.loop.nested import JudgesCapabilities, NestedCalls, RunsCapability
from pml.loop.observed import learn_results
from pml.loop.ports import Sandboxes, Servers
from pml.loop.prepare import Prepared, json_object
from pml.runtime.broker import Broker
from pml.runtime.calls import CallsTools
from pml.runtime.ending import Ending, internal_error, reason_of, store_lost
from pml.runtime.log_writer import LogWriter
from pml.runtime.plan import JudgesTools, RunPlan
from pml.runtime.sandbox.module import module_text
from pml.runtime.sandbox.protocol import StartInput
from pml.store.ports import Store

T = TypeVar("T")
Emit = Callable[[events.Event], None]
_log = structlog.get_logger(__name__)

COMES_BACK_S = 1.0
"""A crashed embedded server is back in less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entropy:
    """What a run draws from outside; arguments, so that tests and replay can fix them."""

    now_ms: Callable[[], int]
    run_id: Callable[[], str]
    seed: Callable[[], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What every run needs."""

    store: Store
    servers: Servers
    sandboxes: Sandboxes
    permissions: JudgesTools
    entropy: Entropy
    limits: Limits
    unclosed: dict[str, Callable[[], Awaitable[object]]] = field(default_factory=dict)
    """How to close each run whose end the database could not take; done before the next run."""


@dataclass(slots=True, kw_only=True)
class RunUnderWay:
    """One run under way."""

    means: Means
    run: Run
    kept: RunProgram
    prepared: Prepared
    emit: Emit
    run_nested: RunsCapability

    @property
    def structure(self) -> StaticStructure:
        """What analysis said of the program."""
        return self.prepared.structure

    def ask(self, approvals: tuple[Permission, ...], plan: Plan) -> ExecuteResponse:
        """Nothing runs until a person agrees."""
        tools = tuple(permission.tool for permission in approvals)
        self.emit(
            events.ApprovalRequired(run_id=self.run.id, at_ms=self.run.created_at_ms, tools=tools)
        )
        ending = Ending(
            state=RunState.APPROVAL_REQUIRED, approvals=approvals, error=approval_error(approvals)
        )
        response = self._answer(ending, self._trace(ending, Ledger()), 0.0, ())
        return msgspec.structs.replace(response, plan=plan)

    async def run_program(self) -> ExecuteResponse:
        """Hand the program to a sandbox and see it through."""
        means, ledger = self.means, Ledger()
        log = LogWriter(means.store.run_log, self.run.id, ledger, epoch=self.run.epoch)
        means.servers.connect_soon(
            {tool.partition(":")[0] for tool in self.structure.tools() if tool != ANY_TOOL}
        )
        async with means.sandboxes.checkout() as sandbox:
            broker = Broker(
                plan=self._plan(),
                sandbox=sandbox,
                upstreams=self._calls(),
                log=log,
                ledger=ledger,
                now_ms=means.entropy.now_ms,
                emit=self.emit,
                limits=means.limits,
            )
            try:
                await finished(means.store.runs.create(self.run, self.kept))
                started = time.perf_counter()
                ending = await self._run(broker)
            except asyncio.CancelledError:
                await self._close_cancelled(ledger, log)
                raise
        wall_ms = (time.perf_counter() - started) * 1000
        try:
            trace = await finished(self._close_again(ending, ledger, log))
        except StoreError as exc:
            ending = store_lost(exc, ledger)
            trace = self._trace(ending, ledger)
            means.unclosed[self.run.id] = partial(self._close, ending, ledger, log)
        self._say_end(ending)
        return self._answer(ending, trace, wall_ms, tuple(broker.warnings))

    async def _run(self, broker: Broker) -> Ending:
        """The program's end, whatever happens on the way; only cancellation passes."""
        self.emit(
            events.RunStarted(
                run_id=self.run.id, at_ms=self.run.created_at_ms, intent=self.run.intent
            )
        )
        try:
            return await broker.run()
        except Exception as exc:  # noqa: BLE001  # the border: a run never stays without an end
            _log.exception("run_failed", run=self.run.id)
            return internal_error(exc, broker.ledger)

    def _plan(self) -> RunPlan:
        return RunPlan(
            run_id=self.run.id,
            start=StartInput(
                module=module_text(self.kept.instrumented, self.structure.variables),
                arguments=json_object(self.kept.arguments),
                lifted=json_object(self.kept.lifted),
                seed=self.kept.seed,
                now_ms=self.run.created_at_ms,
            ),
            sites=frozenset(node.id for node in self.structure.nodes),
            catalog=self.prepared.catalog,
            permissions=self._judge(),
            described=self.means.servers.described,
            timeout_ms=self.run.timeout_ms,
        )

    def _calls(self) -> CallsTools:
        """The servers, the capabilities that the program calls among them."""
        return NestedCalls(
            servers=self.means.servers, by_name=self.prepared.by_name, run=self.run_nested
        )

    def _judge(self) -> JudgesTools:
        return JudgesCapabilities(
            tools=self.means.permissions,
            catalog=self.prepared.catalog,
            by_name=self.prepared.by_name,
            callees=self.prepared.callees,
        )

    async def _close_again(self, ending: Ending, ledger: Ledger, log: LogWriter) -> ExecutionTrace:
        """Close the run; once more where the database fell over just now and is coming back."""
        started = time.perf_counter()
        try:
            return await self._close(ending, ledger, log)
        except StoreError:
            if time.perf_counter() - started > COMES_BACK_S:
                raise
        await asyncio.sleep(COMES_BACK_S)
        return await self._close(ending, ledger, log)

    async def _close_cancelled(self, ledger: Ledger, log: LogWriter) -> None:
        state = RunState.IN_DOUBT if ledger.in_doubt else RunState.CANCELLED
        try:
            await finished(self._close(Ending(state=state), ledger, log))
        except PmlError:  # must not replace the cancellation
            _log.exception("cancelled_run_not_closed", run=self.run.id)
            self.means.unclosed[self.run.id] = partial(
                self._close, Ending(state=state), ledger, log
            )
        self._say_end(Ending(state=state))

    async def _close(self, ending: Ending, ledger: Ledger, log: LogWriter) -> ExecutionTrace:
        await log.commit()
        means, now_ms = self.means, self.means.entropy.now_ms()
        # in a thread: looking through 10 MB for secrets takes seconds
        trace = await asyncio.to_thread(self._trace, ending, ledger)
        await close(
            means.store.runs,
            means.store.traces,
            self._history(ledger),
            trace,
            reason=reason_of(ending),
            now_ms=now_ms,
            limits=means.limits,
        )
        if not trace.dry_run:
            await learn_results(means.store.tool_schemas, ledger, self.prepared.catalog)
        return trace

    def _say_end(self, ending: Ending) -> None:
        now_ms = self.means.entropy.now_ms()
        self.emit(
            events.RunEnd(
                run_id=self.run.id,
                at_ms=now_ms,
                state=ending.state,
                duration_ms=float(now_ms - self.run.created_at_ms),
            )
        )

    def _trace(self, ending: Ending, ledger: Ledger) -> ExecutionTrace:
        return trace_of(
            self._history(ledger),
            ending.state,
            limits=self.means.limits,
            reason=reason_of(ending),
        )

    def _answer(
        self, ending: Ending, trace: ExecutionTrace, wall_ms: float, warnings: tuple[str, ...]
    ) -> ExecuteResponse:
        return answer(
            ending,
            trace,
            self.structure,
            wall_ms=wall_ms,
            diagnostics=self.prepared.diagnostics,
            warnings=warnings,
            limits=self.means.limits,
            capability_id=self.run.capability_id if ending.state is RunState.SUCCESS else None,
        )

    def _history(self, ledger: Ledger) -> History:
        return History(
            run=self.run,
            structure=self.structure,
            ledger=ledger,
            arguments=self.kept.arguments,
            given=self.prepared.given(),
            literals=self.kept.literals,
        )


async def finished(work: Coroutine[Any, Any, T]) -> T:
    """Do ``work`` to its end, also when cancelled meanwhile; the cancellation goes on then."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning("failed_while_cancelled", exc_info=error)
        raise
