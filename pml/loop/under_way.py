"""One stint of a run: from its sandbox to its end, or to where somebody is asked.

Beginning, going on after a pause, an approval or a doubt, and going on after a crash are the
same: the program, its log so far and what people agreed to go in, and how the run stands
comes out.  Only what is in the log already makes the difference (EX-3).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace

import msgspec
import structlog

from pml.domain import events
from pml.domain.ledger import Ledger
from pml.domain.program import Diagnostic
from pml.domain.response import ExecuteResponse
from pml.domain.run import IDLE_RECORDS, Run, RunState
from pml.domain.structure import ANY_TOOL
from pml.errors import FencedError, RunStateError, SandboxError, StoreError
from pml.loop.books import COMES_BACK_S, Asks, Books
from pml.loop.close import History
from pml.loop.finished import finished
from pml.loop.means import Means
from pml.loop.prepare import json_object
from pml.loop.stints import Standing, Stint
from pml.loop.surroundings import Surroundings
from pml.runtime.broker import Broker
from pml.runtime.calls import CallsTools
from pml.runtime.conformity import contradictions
from pml.runtime.ending import Ending, internal_error, store_lost
from pml.runtime.log_writer import LogWriter
from pml.runtime.plan import Consents, JudgesTools, RunPlan, Sandbox
from pml.runtime.sandbox.module import module_text
from pml.runtime.sandbox.protocol import StartInput
from pml.runtime.spans import run_span

STUCK = 3
"""Sandboxes that may die one after the other before the run has got any further."""
_log = structlog.get_logger(__name__)


@dataclass(slots=True, kw_only=True)
class RunUnderWay:
    """One run in one stint."""

    means: Means
    history: History
    """Its ledger grows."""
    around: Surroundings
    judge: JudgesTools
    consents: Consents
    calls: CallsTools
    stint: Stint
    enter: Callable[[], Awaitable[Run]]
    """Makes the run this process's own: creates it, or takes it over."""
    amend: Callable[[Ledger], None]
    """Writes down what was decided meanwhile."""
    ask: Asks
    standing: Standing
    diagnostics: tuple[Diagnostic, ...] = ()
    _books: Books | None = None
    """None: the run is not this process's own."""

    async def go(self) -> ExecuteResponse:
        """See the run through to its end, or to where it waits.

        On cancellation the run is closed first: as cancelled, or as `Stint.stop` said.

        Raises:
            SandboxError: there is none to be had; the run stands as it stood.
            StoreError: the run could not be made this process's own.
        """
        tools = (tool for tool in self.history.structure.tools() if tool != ANY_TOOL)
        self.means.servers.connect_soon({tool.partition(":")[0] for tool in tools})
        with run_span(self.history.run) as ended:
            response = await self._go()
            ended(response)
            return response

    async def _go(self) -> ExecuteResponse:
        try:
            return await self._unless_taken_over()
        except asyncio.CancelledError:
            if self._books is None and self.stint.stopped is None:
                raise
            return await self._stopped()

    async def _unless_taken_over(self) -> ExecuteResponse:
        try:
            ending, books = await self._through()
            return await self._with_plan(await books.end(ending))
        except (FencedError, RunStateError) as exc:  # somebody else was faster
            self._books = None
            _log.info("run_taken_over", run=self.history.run.id, reason=str(exc))
            return await self.standing(self.history.run.id)

    async def _stopped(self) -> ExecuteResponse:
        """What is told when it was cancelled or stopped: how it stands, if that is elsewhere."""
        if self._books is not None:
            with suppress(FencedError, RunStateError):
                return await self._books.stopped()
        return await self.standing(self.history.run.id)

    async def _with_plan(self, response: ExecuteResponse) -> ExecuteResponse:
        """With all that would happen, where somebody is asked about a run on its way (HIL-2)."""
        if response.status != RunState.APPROVAL_REQUIRED or response.plan is not None:
            return response
        with suppress(StoreError):  # who asks again is shown it
            known = await self.standing(self.history.run.id)
            return msgspec.structs.replace(response, plan=known.plan)
        return response

    async def _through(self) -> tuple[Ending, Books]:
        """How the program ends; where its sandbox or the database died, it goes on in another."""
        async with self._sandbox() as sandbox:
            books = await finished(self._enter())
            ending = await self._attempt(sandbox, books)
        stuck, known = 0, self._progress()
        while ending.state is RunState.INTERRUPTED and stuck < STUCK and await _kept(books.writer):
            grown = self._progress()
            stuck, known = (0 if grown > known else stuck + 1), grown
            try:
                async with self._sandbox() as sandbox:
                    ending = await self._attempt(sandbox, books)
            except SandboxError:
                break  # the run stays interrupted, and says why
        seen = await asyncio.to_thread(contradictions, self._ledger.calls, self.around.catalog)
        books.warnings = (*books.warnings, *seen)
        return ending, books

    def _progress(self) -> int:
        """Grows when the run gets further; an attempt that is made again does not count."""
        return sum(not isinstance(record, IDLE_RECORDS) for record in self._ledger.records)

    @property
    def _ledger(self) -> Ledger:
        return self.history.ledger

    @asynccontextmanager
    async def _sandbox(self) -> AsyncIterator[Sandbox | None]:
        if self._ledger.settled is not None:  # what is open is finished without the program
            yield None
            return
        async with self.means.sandboxes.checkout() as sandbox:
            yield sandbox

    async def _enter(self) -> Books:
        run, ledger = await self.enter(), self._ledger
        self.stint.epoch = run.epoch
        self._books = Books(
            means=self.means,
            history=replace(self.history, run=run),
            around=self.around,
            stint=self.stint,
            writer=LogWriter(self.means.store.run_log, run.id, ledger, epoch=run.epoch),
            ask=self.ask,
            diagnostics=self.diagnostics,
        )
        self.amend(ledger)
        return self._books

    async def _attempt(self, sandbox: Sandbox | None, books: Books) -> Ending:
        """How the program ends in this sandbox; only cancellation and fencing pass."""
        means, run = self.means, books.run
        broker = Broker(
            plan=self._plan(run),
            sandbox=sandbox,
            upstreams=self.calls,
            log=books.writer,
            ledger=self._ledger,
            now_ms=means.entropy.now_ms,
            emit=self.stint.emit,
            limits=means.limits,
            new_id=means.entropy.run_id,
        )
        try:
            await books.writer.commit()  # what was decided, before anything follows from it
            self.stint.emit(
                events.RunStarted(run_id=run.id, at_ms=run.updated_at_ms, intent=run.intent)
            )
            return await broker.run()
        except FencedError:
            raise
        except StoreError as exc:
            return store_lost(exc, self._ledger)
        except Exception as exc:  # noqa: BLE001  # the border: a run never stays without an end
            _log.exception("run_failed", run=run.id)
            return internal_error(exc, self._ledger)
        finally:
            books.warnings = tuple(broker.warnings)

    def _plan(self, run: Run) -> RunPlan:
        kept, structure = self.history.kept, self.history.structure
        assert run.started_at_ms is not None
        return RunPlan(
            run_id=run.id,
            start=StartInput(
                module=module_text(kept.instrumented, structure.variables),
                arguments=json_object(kept.arguments),
                lifted=json_object(kept.lifted),
                seed=kept.seed,
                now_ms=run.started_at_ms,
            ),
            sites=frozenset(node.id for node in structure.nodes),
            catalog=self.around.catalog,
            permissions=self.judge,
            described=self.means.servers.described,
            consents=self.consents,
            per_layer=run.per_layer,
            timeout_ms=run.timeout_ms,
        )


async def _kept(writer: LogWriter) -> bool:
    """Whether the log is in the database, asked again where that may be coming back."""
    for pause_s in (0.0, COMES_BACK_S, COMES_BACK_S):
        await asyncio.sleep(pause_s)
        try:
            await writer.commit()
        except StoreError:
            continue
        return True
    return False
