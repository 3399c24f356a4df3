"""One request through the loop: prepare, ask, run, record, answer.

Everything that can refuse a program refuses it before the sandbox has it; everything that
happens after that is in the log first.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import structlog

from pml.domain import events
from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.permissions import ApprovalMode, Permission
from pml.domain.program import Program
from pml.domain.record import JsonText, encode
from pml.domain.response import ExecuteError, ExecuteRequest, ExecuteResponse
from pml.domain.run import Run, RunProgram, RunState
from pml.domain.sanitising import redact_text
from pml.domain.structure import ANY_TOOL, StaticStructure
from pml.domain.trace import ExecutionTrace
from pml.errors import NotFoundError, PmlError, RunStateError, SandboxError, StoreError
from pml.loop.answer import answer, approval_error
from pml.loop.close import History, close, trace_of
from pml.loop.ports import Sandboxes, Servers
from pml.loop.prepare import Prepared, Refusal, examine, prepare
from pml.runtime.broker import Broker
from pml.runtime.ending import Ending, internal_error, reason_of, store_lost
from pml.runtime.log_writer import LogWriter
from pml.runtime.plan import JudgesTools, RunPlan
from pml.runtime.sandbox.module import module_text
from pml.runtime.sandbox.protocol import StartInput
from pml.store.ports import Store

T = TypeVar("T")
_log = structlog.get_logger(__name__)

COMES_BACK_S = 1.0
"""A crashed embedded server is back in less."""
UNKNOWN_TOOL = "the code calls a tool that is known only when it runs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entropy:
    """What a run draws from outside; arguments, so that tests and replay can fix them."""

    now_ms: Callable[[], int]
    run_id: Callable[[], str]
    seed: Callable[[], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Executes requests over one store, one set of servers and one pool of sandboxes."""

    store: Store
    servers: Servers
    sandboxes: Sandboxes
    permissions: JudgesTools
    entropy: Entropy
    limits: Limits
    user_id: str
    owner: str
    """Names this process in the runs that it runs."""
    emit: Callable[[events.Event], None]
    unclosed: dict[str, Callable[[], Awaitable[object]]] = field(default_factory=dict)
    """How to close each run whose end the database could not take; done before the next run."""

    async def execute(self, request: ExecuteRequest) -> ExecuteResponse:
        """Run one request to its end, or to the point where someone is asked.

        Bad input and failures come back as a response with ``status`` and ``error``; on
        cancellation the run is closed first.
        """
        try:
            prepared = await prepare(
                request, schemas=self.store.tool_schemas, servers=self.servers, limits=self.limits
            )
            if isinstance(prepared, Refusal):
                return ExecuteResponse(
                    status=RunState.ERROR, error=prepared.error, diagnostics=prepared.diagnostics
                )
            await self._close_the_unclosed()
            return await self._execute(request, prepared)
        except StoreError as exc:
            error = ExecuteError(code="store_unavailable", message=str(exc))
        except SandboxError as exc:
            error = ExecuteError(code="sandbox_unavailable", message=str(exc))
        return ExecuteResponse(status=RunState.ERROR, error=error)

    async def _close_the_unclosed(self) -> None:
        for run_id in list(self.unclosed):
            close_it = self.unclosed.pop(run_id)
            try:
                await close_it()
            except StoreError:
                self.unclosed[run_id] = close_it
                return
            except (RunStateError, NotFoundError):
                _log.info("closed_by_another_process", run=run_id)

    async def analyse(self, source: str) -> Program:
        """What the program would do; nothing runs, and servers are only listed.

        Raises:
            StoreError: the database is lost.
        """
        found = await examine(
            source, schemas=self.store.tool_schemas, servers=self.servers, limits=self.limits
        )
        return found.program

    async def _execute(self, request: ExecuteRequest, prepared: Prepared) -> ExecuteResponse:
        program = prepared.program
        approvals = self._approvals(prepared)
        now_ms = self.entropy.now_ms()
        run = Run(
            id=self.entropy.run_id(),
            user_id=self.user_id,
            intent=redact_text(request.intent),
            state=RunState.APPROVAL_REQUIRED if approvals else RunState.RUNNING,
            source_hash=program.source_hash(),
            owner=self.owner,
            created_at_ms=now_ms,
            updated_at_ms=now_ms,
            timeout_ms=request.timeout_ms,
        )
        kept = RunProgram(
            source=program.source,
            instrumented=program.instrumented,
            structure=encode(program.structure).decode(),
            arguments=dict(prepared.arguments),
            seed=self.entropy.seed(),
        )
        under_way = _RunUnderWay(self, run, kept, request, prepared)
        if approvals:
            await self.store.runs.create(run, kept)
            return under_way.ask(approvals)
        return await under_way.run_program()

    def _approvals(self, prepared: Prepared) -> tuple[Permission, ...]:
        """What a person has to agree to before anything runs (HIL-1)."""
        structure = prepared.program.structure
        permissions = [] if structure.complete else [Permission(tool=ANY_TOOL, reason=UNKNOWN_TOOL)]
        for tool_id in structure.tools():
            tool = prepared.catalog.find(tool_id)
            if tool is not None:
                permissions.append(self.permissions.of(tool))
        return tuple(p for p in permissions if p.approval_mode is ApprovalMode.HIL)


@dataclass(slots=True)
class _RunUnderWay:
    """One run under way."""

    act: Act
    run: Run
    kept: RunProgram
    request: ExecuteRequest
    prepared: Prepared

    @property
    def structure(self) -> StaticStructure:
        """What analysis said of the program."""
        return self.prepared.program.structure

    def ask(self, approvals: tuple[Permission, ...]) -> ExecuteResponse:
        """Nothing runs until a person agrees."""
        tools = tuple(permission.tool for permission in approvals)
        self.act.emit(
            events.ApprovalRequired(run_id=self.run.id, at_ms=self.run.created_at_ms, tools=tools)
        )
        ending = Ending(
            state=RunState.APPROVAL_REQUIRED, approvals=approvals, error=approval_error(approvals)
        )
        return self._answer(ending, self._trace(ending, Ledger()), 0.0, ())

    async def run_program(self) -> ExecuteResponse:
        """Hand the program to a sandbox and see it through."""
        act, ledger = self.act, Ledger()
        log = LogWriter(act.store.run_log, self.run.id, ledger)
        act.servers.connect_soon({tool.partition(":")[0] for tool in self.structure.tools()})
        async with act.sandboxes.checkout() as sandbox:
            broker = Broker(
                plan=self._plan(),
                sandbox=sandbox,
                upstreams=act.servers,
                log=log,
                ledger=ledger,
                now_ms=act.entropy.now_ms,
                emit=act.emit,
                limits=act.limits,
            )
            try:
                await finished(act.store.runs.create(self.run, self.kept))
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
            act.unclosed[self.run.id] = partial(self._close, ending, ledger, log)
        self._say_end(ending)
        return self._answer(ending, trace, wall_ms, tuple(broker.warnings))

    async def _run(self, broker: Broker) -> Ending:
        """The program's end, whatever happens on the way; only cancellation passes."""
        self.act.emit(
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
                arguments=_json_object(self.kept.arguments),
                seed=self.kept.seed,
                now_ms=self.run.created_at_ms,
            ),
            sites=frozenset(node.id for node in self.structure.nodes),
            catalog=self.prepared.catalog,
            permissions=self.act.permissions,
            timeout_ms=self.request.timeout_ms,
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
            self.act.unclosed[self.run.id] = partial(self._close, Ending(state=state), ledger, log)
        self._say_end(Ending(state=state))

    async def _close(self, ending: Ending, ledger: Ledger, log: LogWriter) -> ExecutionTrace:
        await log.commit()
        act, now_ms = self.act, self.act.entropy.now_ms()
        # in a thread: looking through 10 MB for secrets takes seconds
        trace = await asyncio.to_thread(self._trace, ending, ledger)
        await close(
            act.store.runs,
            act.store.traces,
            self._history(ledger),
            trace,
            reason=reason_of(ending),
            now_ms=now_ms,
            limits=act.limits,
        )
        return trace

    def _say_end(self, ending: Ending) -> None:
        now_ms = self.act.entropy.now_ms()
        self.act.emit(
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
            limits=self.act.limits,
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
            limits=self.act.limits,
        )

    def _history(self, ledger: Ledger) -> History:
        return History(
            run=self.run,
            structure=self.structure,
            ledger=ledger,
            arguments=self.kept.arguments,
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


def _json_object(values: dict[str, JsonText]) -> JsonText:
    """One JSON object of values that are JSON text already, and stay exact."""
    return "{" + ",".join(f"{json.dumps(key)}:{value}" for key, value in values.items()) + "}"
