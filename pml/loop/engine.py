"""What begins runs and goes on with them in this process, with the runs that they call.

A run is begun from something prepared, or taken over from the store; after that there is no
difference (`pml.loop.under_way`).
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import msgspec
import structlog

from pml.domain import events
from pml.domain.approval import Approval
from pml.domain.ledger import Ledger
from pml.domain.record import encode
from pml.domain.response import ExecuteResponse
from pml.domain.run import Issued, Run, RunProgram, RunState
from pml.domain.sanitising import redact_text
from pml.errors import FencedError, NotFoundError, RunStateError, StoreError
from pml.loop.answer import approval_error
from pml.loop.asked import Asked
from pml.loop.asking import Asking
from pml.loop.children import ChildRuns
from pml.loop.close import History
from pml.loop.judged import Judged, judge
from pml.loop.library import Library
from pml.loop.means import Emit, Means
from pml.loop.nesting import Nesting
from pml.loop.places import Places
from pml.loop.prepare import Prepared
from pml.loop.standing import Standings
from pml.loop.stints import Stint, UnderWay, seen_through
from pml.loop.surroundings import (
    Refusal,
    Surroundings,
    not_configured,
    refusal,
    refused,
    surroundings_of,
)
from pml.loop.under_way import RunUnderWay
from pml.runtime.calls import CallsTools
from pml.runtime.mocks import MockedCalls

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine(Means):
    """Begins runs, and goes on with them, over one store, servers and pool of sandboxes."""

    library: Library
    user_id: str
    emit: Emit
    """Told of everything that happens in any run."""
    places: Places
    agents_may_approve: bool = False
    """Whether agents may answer for a person: approvals, and writes in doubt (HIL-4)."""
    approval_ttl_s: int | None = None
    """How long an approval is waited for; None: as long as for any other answer."""
    under_way: UnderWay = field(default_factory=UnderWay)

    @property
    def asking(self) -> Asking:
        """Asks people, and hears their answers."""
        return Asking(
            store=self.store,
            now_ms=self.entropy.now_ms,
            new_id=self.entropy.run_id,
            ttl_s=self.approval_ttl_s or self.limits.waiting_ttl_s,
            agents_may_approve=self.agents_may_approve,
        )

    @property
    def standing(self) -> Standings:
        """Says how runs stand."""
        return Standings(means=self, library=self.library)

    async def start(self, prepared: Prepared, asked: Asked) -> ExecuteResponse:
        """Begin a run, or ask for it to be approved.

        Raises:
            SandboxError: there is none to be had; nothing was stored.
            StoreError: the database is lost.
        """
        history = await self._new(prepared, asked)
        judged = await judge(
            self,
            history,
            prepared.around,
            asking=self.asking,
            inherited=asked.inherited,
            diagnostics=prepared.diagnostics,
        )
        if judged.needed:
            return await self._ask_first(judged, asked)
        create = partial(self._create, history.run, history.kept)
        return await self._see_through(judged, asked, enter=create)

    async def resume(self, history: History, asked: Asked) -> ExecuteResponse:
        """Take a run over as it was read and go on with it, or wait for who does so here.

        What was decided is committed before the run goes on; a run that waits for more than
        that is answered for as it stands.

        Raises:
            SandboxError: there is none to be had; the run stands as it stood.
            StoreError: the database is lost.
        """
        run = history.run
        if not asked.settles(history.ledger):
            return await self.standing(run.id)
        around = await self._around(history)
        if isinstance(around, Refusal):
            return msgspec.structs.replace(refused(around), workflow_id=run.id)
        judged = await judge(self, history, around, asking=self.asking, inherited=asked.inherited)
        if judged.needed and run.started_at_ms is None:
            with suppress(FencedError):  # somebody goes on with it
                await self.asking.ask_plan(run, history.kept, judged.needed, around.catalog)
            return await self.standing(run.id)
        claim = partial(self._claim, run)
        return await self._see_through(judged, asked, enter=claim)

    async def join(self, stint: Stint, watchers: tuple[Emit, ...] = ()) -> ExecuteResponse:
        """Wait for what a stint that is under way comes to."""
        stint.watchers += watchers
        try:
            response = await stint.join()
        finally:
            for watcher in watchers:
                stint.watchers.remove(watcher)
        return await self.standing(stint.run_id) if response is None else response

    # -- beginning ---------------------------------------------------------------------

    async def _new(self, prepared: Prepared, asked: Asked) -> History:
        """The run of something prepared, not stored yet; its capability is."""
        now_ms = self.entropy.now_ms()
        capability, new = prepared.capability, prepared.new
        if new is not None and not asked.dry_run:
            capability = await self.store.capabilities.keep(new, now_ms=now_ms)
        run = Run(
            id=asked.run_id or self.entropy.run_id(),
            user_id=self.user_id,
            intent=redact_text(asked.intent) if new is None else new.intent,
            state=RunState.RUNNING,
            source_hash=prepared.source_hash(),
            owner=self.owner,
            created_at_ms=now_ms,
            updated_at_ms=now_ms,
            timeout_ms=asked.timeout_ms,
            capability_id=None if capability is None else capability.id,
            parent_run_id=None if asked.parent is None else asked.parent.id,
            replaces_run_id=asked.replaces_run_id,
            started_at_ms=now_ms,
            per_layer=asked.per_layer,
            dry_run=asked.dry_run,
        )
        kept = RunProgram(
            source=prepared.source,
            instrumented=prepared.instrumented,
            structure=encode(prepared.structure).decode(),
            arguments=dict(prepared.arguments),
            seed=self.entropy.seed(),
            lifted=dict(prepared.lifted),
            defaults=prepared.defaults(),
            literals=prepared.literals,
            mocks=dict(asked.mocks),
        )
        return History(run=run, kept=kept, structure=prepared.structure, ledger=Ledger())

    async def _create(self, run: Run, kept: RunProgram) -> Run:
        try:
            await self.store.runs.create(run, kept)
        except StoreError:  # nobody knows whether it is there; if so, it is closed
            self.unclosed[run.id] = partial(
                self.store.runs.move,
                run.id,
                RunState.ERROR,
                reason="the database was lost when the run was created: nothing has run",
                now_ms=self.entropy.now_ms(),
                epoch=run.epoch,
            )
            raise
        except ValueError as exc:
            there = await self._there(run.id)
            if there is None:
                raise
            raise RunStateError(run.id, there.state, run.state) from exc
        return run

    async def _there(self, run_id: str) -> Run | None:
        """The run, where somebody else created it first."""
        with suppress(NotFoundError):
            return await self.store.runs.get(run_id)
        return None

    async def _claim(self, run: Run) -> Run:
        now_ms = self.entropy.now_ms()
        return await self.store.runs.claim(
            run, owner=self.owner, now_ms=now_ms, started_at_ms=now_ms
        )

    async def _ask_first(self, judged: Judged, asked: Asked) -> ExecuteResponse:
        """Nothing runs until somebody agrees."""
        history, now_ms = judged.history, self.entropy.now_ms()
        asking, names = self.asking, tuple(permission.tool for permission in judged.needed)
        run = msgspec.structs.replace(
            history.run,
            state=RunState.APPROVAL_REQUIRED,
            started_at_ms=None,
            expires_at_ms=now_ms + asking.ttl_s * 1000,
            reason=approval_error(judged.needed).message,
        )
        try:
            await self._create(run, history.kept)
        except RunStateError:
            return await self.standing(run.id)
        with suppress(FencedError):  # somebody saw it wait for nobody, and has asked already
            await asking.ask_plan(run, history.kept, judged.needed, judged.around.catalog)
        for watcher in (self.emit, *asked.watchers):
            watcher(events.ApprovalRequired(run_id=run.id, at_ms=now_ms, tools=names))
        response = await self.standing(run.id)
        return msgspec.structs.replace(response, diagnostics=judged.diagnostics)

    # -- both --------------------------------------------------------------------------

    async def _around(self, history: History) -> Surroundings | Refusal:
        """What a run that goes on meets now."""
        try:
            around = await surroundings_of(history.structure, self.library)
        except NotFoundError as exc:
            return refusal("capability_gone", str(exc))
        if isinstance(around, Refusal):
            return around
        if missing := not_configured(history.structure, around, self.library):
            message = f"the run calls {missing}, and this process has no such server: continue it "
            return refusal("server_unavailable", message + "where mcp.json names it")
        return around

    async def _see_through(
        self,
        judged: Judged,
        asked: Asked,
        *,
        enter: Callable[[], Awaitable[Run]],
    ) -> ExecuteResponse:
        run = judged.history.run

        async def work(stint: Stint) -> ExecuteResponse:
            child = Nesting(engine=self, judged=judged, asked=asked, stint=stint)
            calls: CallsTools = ChildRuns(
                servers=self.servers, by_name=judged.around.by_name, run=child
            )
            if judged.dry_run is not None:
                ledger = judged.history.ledger
                calls = MockedCalls(calls=calls, dry_run=judged.dry_run, ledger=ledger)
            under_way = RunUnderWay(
                means=self,
                history=judged.history,
                around=judged.around,
                judge=judged.judge,
                consents=judged.consents,
                calls=calls,
                stint=stint,
                enter=enter,
                amend=asked.amend,
                ask=partial(self._ask_calls, judged=judged),
                standing=self.standing,
                diagnostics=judged.diagnostics,
            )
            return await under_way.go()

        if (stint := self.under_way.find(run.id)) is not None:
            return await self.join(stint, asked.watchers)
        told = () if asked.parent is not None else (self.emit,)  # else its caller tells them
        watchers = [*told, *asked.watchers]
        caller = None if asked.parent is None else self.under_way.find(asked.parent.id)
        stint = self.under_way.begin(run.id, watchers, work, caller)
        try:
            return await seen_through(stint)
        finally:
            self.library.outdated()

    async def _ask_calls(self, run: Run, held: tuple[Issued, ...], *, judged: Judged) -> Approval:
        kept, catalog = judged.history.kept, judged.around.catalog
        return await self.asking.ask_calls(run, kept, held, catalog)
