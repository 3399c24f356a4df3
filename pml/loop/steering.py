"""Continue, abort, replan, answer: what can be said to a run that waits (EX-5, HIL-4).

Every request reads how the run stands, decides, and takes the run over only as it was read;
whoever was slower is told how the run stands instead.  So a request that is sent twice, or to
two servers at once, has the effect of one.
"""

from contextlib import suppress
from dataclasses import dataclass

from pml.domain.approval import Principal, Role
from pml.domain.response import ExecuteError, ExecuteResponse
from pml.domain.run import Checkpoint, Run, RunState
from pml.domain.steering import (
    AbortRequest,
    ApprovalAnswer,
    ContinueRequest,
    ReplanRequest,
)
from pml.errors import (
    FencedError,
    NotAllowedError,
    NotFoundError,
    RequestError,
    RunStateError,
    SandboxError,
    StoreError,
)
from pml.loop.act import failed
from pml.loop.asked import Asked
from pml.loop.bookkeeping import UNREADABLE, end_run
from pml.loop.close import History, read_history
from pml.loop.doubts import answers_of, doubt_message, doubts_of, still_open, warned
from pml.loop.engine import Engine
from pml.loop.ids import doubt_id
from pml.loop.means import Emit
from pml.loop.places import NoPlaceError
from pml.loop.recover import Alive, rescue
from pml.loop.replan import Replan
from pml.loop.unasked import never_asked, overdue
from pml.loop.unclosed import close_the_unclosed
from pml.runtime.ending import Ending, waits

_TROUBLE = (StoreError, SandboxError, NoPlaceError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Steering:
    """Steers the runs of one store, whichever process began them."""

    engine: Engine
    alive: Alive
    """Whether the process of that name lives, as far as this machine can tell."""

    async def status(self, run_id: str) -> ExecuteResponse:
        """How a run stands.

        Raises:
            NotFoundError: there is none.
        """
        try:
            return await self.engine.standing(run_id)
        except StoreError as exc:
            return failed(exc, self.engine.limits, 0)

    async def root_of(self, run_id: str) -> str:
        """The run that was asked for, of one that code called.

        Raises:
            NotFoundError: there is no such run.
            StoreError: the database is lost.
        """
        run = await self.engine.store.runs.get(run_id)
        return run.id if run.parent_run_id is None else await self.root_of(run.parent_run_id)

    async def go_on(
        self, request: ContinueRequest, *, by: Principal, emit: Emit | None = None
    ) -> ExecuteResponse:
        """Let a run go on, and return what it comes to.

        A checkpoint that was continued before is not continued again: the answer says how the
        run stands now.  A run in doubt goes on with one resolution for every write.

        Raises:
            NotFoundError: no such run, or no such checkpoint of it.
            NotAllowedError: who asks has not the role for it.
            RequestError: the run was called by another one, or a resolution means nothing.
        """
        self._must_be(Role.AGENT, by, "continue a run")
        if request.resolutions:
            needed = Role.AGENT if self.engine.agents_may_approve else Role.APPROVER
            self._must_be(needed, by, "decide about a write in doubt")
        answers = answers_of(request.resolutions, self.engine.limits)
        try:
            run = await self._root(request.workflow_id)
            history = await self._meant(request, run)
            if history is None:
                return await self.status(run.id)
            run = history.run
            if (stint := self.engine.under_way.find(run.id)) is not None:
                return await self.engine.join(stint, _watchers(emit))
            unasked = await overdue(self.engine.store, run) is RunState.RUNNING
            if not unasked and not self._is_meant(request, history):
                return await self.status(run.id)
            doubts = await doubts_of(self.engine.store, run.id, history.ledger)
            unknown = sorted(set(answers) - {doubt.path for doubt in doubts})
            left = tuple(doubt for doubt in doubts if doubt.path not in answers)
            stopped = bool(doubts) or run.state is RunState.PAUSED
            if left or (unknown and stopped):  # an answer that is sent twice lets no layer go
                response = warned(await self.status(run.id), unknown)
                return still_open(response, doubt_message(left)) if left else response
            asked = Asked(
                intent=run.intent,
                timeout_ms=run.timeout_ms,
                watchers=_watchers(emit),
                answers=answers,
                proceed=True,
            )
            return await self._resume(history, asked, by)
        except _TROUBLE as exc:
            return failed(exc, self.engine.limits, 0)

    async def abort(self, request: AbortRequest, *, by: Principal) -> ExecuteResponse:
        """End a run: one that waits at once, one that runs by stopping it.

        A write that was under way leaves it in doubt; to abort it again gives that up.

        Raises:
            NotFoundError: no such run.
            NotAllowedError: who asks has not the role for it.
            RequestError: the run was called by another one.
        """
        self._must_be(Role.AGENT, by, "abort a run")
        reason = f"aborted by {by.name}" + (f": {request.reason}" if request.reason else "")
        try:
            run = await self._root(request.workflow_id)
            return await self._end(run, reason)
        except _TROUBLE as exc:
            return failed(exc, self.engine.limits, 0)

    async def answer(
        self, request: ApprovalAnswer, *, by: Principal, emit: Emit | None = None
    ) -> ExecuteResponse:
        """Take a person's yes or no: the run goes on at once, or is aborted.

        Raises:
            NotFoundError: no such run, or nothing was asked in it.
            NotAllowedError: who answers has not the role for it.
            RequestError: the run was called by another one, or what is to be remembered is not
                what was asked for.
            ApprovalStateError: it was answered otherwise, withdrawn, or has expired.
        """
        try:
            run = await self._root(request.workflow_id)
            if await never_asked(self.engine.store, run):  # what nobody has seen nobody approves
                return await self._ask_again(run, by)
            await self.engine.asking.answer(request, by=by)
            run = await self.engine.store.runs.get(run.id)
            if run.state is not RunState.APPROVAL_REQUIRED:
                stint = self.engine.under_way.find(run.id)
                if stint is None:
                    return await self.status(run.id)
                return await self.engine.join(stint, _watchers(emit))
            if not request.approved:
                note = f": {request.note}" if request.note else ""
                return await self._end(run, f"refused by {by.name}{note}")
            history = await read_history(self.engine.store, run)
            asked = Asked(intent=run.intent, timeout_ms=run.timeout_ms, watchers=_watchers(emit))
            return await self._resume(history, asked, by)
        except _TROUBLE as exc:
            return failed(exc, self.engine.limits, 0)

    async def replan(
        self, request: ReplanRequest, *, by: Principal, emit: Emit | None = None
    ) -> ExecuteResponse:
        """End a run that waits and begin another that sees its results as ``context``.

        Raises:
            NotFoundError: no such run, or no such checkpoint of it.
            NotAllowedError: who asks has not the role for it.
            RequestError: the run was called by another one, or the request says no program.
        """
        self._must_be(Role.AGENT, by, "replan a run")
        try:
            run = await self._root(request.workflow_id)
            replan = Replan(engine=self.engine, request=request, by=by.name)
            place = self.engine.places.place(0, timeout_ms=request.timeout_ms, user=by.name)
            async with place:
                return await replan.begin(run, _watchers(emit))
        except _TROUBLE as exc:
            return failed(exc, self.engine.limits, request.timeout_ms)

    async def resume_interrupted(self, run: Run) -> ExecuteResponse:
        """Go on with a run whose process died, unasked.

        Raises:
            StoreError: the database is lost.
            SandboxError: there is none to be had.
            NoPlaceError: too many runs are under way.
        """
        history = await read_history(self.engine.store, run)
        if await self._waits_after_all(history):
            return await self.status(run.id)
        asked = Asked(intent=run.intent, timeout_ms=run.timeout_ms)
        async with self.engine.places.place(0, timeout_ms=run.timeout_ms, user=run.user_id):
            return await self.engine.resume(history, asked)

    # -- parts -------------------------------------------------------------------------

    async def _root(self, run_id: str) -> Run:
        """The run, with what a process that died left of it put in order."""
        await close_the_unclosed(self.engine)
        run = await self.engine.store.runs.get(run_id)
        if run.parent_run_id is not None:
            root = await self.root_of(run_id)
            message = (
                f"workflow_id: run {run_id} was called by the code of run {root}: name that one"
            )
            raise RequestError(message)
        if run.state is RunState.RUNNING and self.engine.under_way.find(run.id) is None:
            return await self._rescued(run, self.alive)
        return run

    async def _rescued(self, run: Run, alive: Alive) -> Run:
        """A running run as it stands once its process is known to be gone."""
        store = self.engine.store
        lost = run.owner == self.engine.owner and run.id not in self.engine.unclosed
        if lost or run.id in {orphan.id for orphan in await store.runs.orphans(alive)}:
            await rescue(self.engine.bookkeeping, run)
        return await store.runs.get(run.id)

    async def _history(self, run: Run) -> History | None:
        """What is known of a run that may go on; None if it cannot, or another process has it."""
        running_here = self.engine.under_way.find(run.id) is not None
        if run.state.final or (run.state is RunState.RUNNING and not running_here):
            return None
        try:
            return await read_history(self.engine.store, run)
        except UNREADABLE:
            return None

    async def _meant(self, request: ContinueRequest, run: Run) -> History | None:
        """The run as it may go on, if the request can be about it.

        Raises:
            NotFoundError: no such checkpoint of it.
            RequestError: a resolution is of no task of the run.
            StoreError: the database is lost.
        """
        history = await self._history(run)
        if history is None:
            return None
        self._check(request, history)
        if not await self._waits_after_all(history):
            return history
        if request.checkpoint_id is None and not request.resolutions:
            return None  # who asks has not heard yet what it waits for
        return await self._history(await self.engine.store.runs.get(run.id))

    async def _waits_after_all(self, history: History) -> bool:
        """Whether an interrupted run turned out to wait for somebody, and now stands so.

        It was stopped, or the database was lost, in the moment in which it began to wait: its log
        says more than its state.

        Raises:
            StoreError: the database is lost.
        """
        run = history.run
        if run.state is not RunState.INTERRUPTED or waits(history.ledger) is None:
            return False
        await rescue(self.engine.bookkeeping, run)
        return True

    def _check(self, request: ContinueRequest, history: History) -> None:
        """Refuse what can mean nothing in this run."""
        named = request.checkpoint_id
        if named is not None and named not in _stops(history):
            hint = f"run {history.run.id} never stopped there"
            raise NotFoundError("checkpoint", named, hint)  # noqa: EM101  # a kind
        tasks = {call.issued.task_id for call in history.ledger.calls}
        unknown = [r for r in request.resolutions if r.task_id.partition("/")[0] not in tasks]
        if unknown:
            message = f"resolutions: the run has no task {unknown[0].task_id!r}"
            raise RequestError(message)

    def _is_meant(self, request: ContinueRequest, history: History) -> bool:
        """Whether the request is about how the run stands now, not about an earlier stop."""
        run, ledger, named = history.run, history.ledger, request.checkpoint_id
        match run.state:
            case RunState.INTERRUPTED:
                return True
            case RunState.PAUSED:
                pending = ledger.pending  # None where it was continued since it was read
                return pending is not None and named in (None, pending.checkpoint_id)
            case RunState.IN_DOUBT:
                return named in (None, doubt_id(run.id, len(ledger.records)))
        return False

    async def _ask_again(self, run: Run, by: Principal) -> ExecuteResponse:
        """Let a run go on that waits for nobody: unless all is granted, it asks."""
        history = await read_history(self.engine.store, run)
        return await self._resume(history, Asked(intent=run.intent, timeout_ms=run.timeout_ms), by)

    async def _resume(self, history: History, asked: Asked, by: Principal) -> ExecuteResponse:
        place = self.engine.places.place(0, timeout_ms=asked.timeout_ms, user=by.name)
        async with place:
            return await self.engine.resume(history, asked)

    async def _end(self, run: Run, reason: str) -> ExecuteResponse:
        """Abort a run wherever it stands."""
        engine = self.engine
        if (stint := engine.under_way.find(run.id)) is not None:
            error = ExecuteError(code="aborted", message=reason)
            stint.stop(Ending(state=RunState.ABORTED, error=error))
            await stint.join()
            stood, run = run, await engine.store.runs.get(run.id)
            if run != stood:  # else the stint had not taken it over yet: it stands as before
                return await self.status(run.id)
        if run.state is RunState.RUNNING:  # in another process: what it still does is fenced
            run = await self._rescued(run, lambda _: False)
            if run.state is RunState.IN_DOUBT:
                return await self.status(run.id)
        if run.state.waits:
            with suppress(RunStateError, FencedError):  # somebody was faster: the answer says how
                await end_run(engine.bookkeeping, run, RunState.ABORTED, reason)
        return await self.status(run.id)

    def _must_be(self, needed: Role, by: Principal, what: str) -> None:
        if not by.role.may(needed):
            message = f"{by.name} is {by.role}, and to {what} takes the role {needed}"
            raise NotAllowedError(message)


def _watchers(emit: Emit | None) -> tuple[Emit, ...]:
    return () if emit is None else (emit,)


def _stops(history: History) -> set[str]:
    """Ids of every stop that the run ever made and that could be answered."""
    run, ledger = history.run, history.ledger
    layers = {r.checkpoint_id for r in ledger.records if isinstance(r, Checkpoint)}
    return layers | {doubt_id(run.id, count) for count in range(1, len(ledger.records) + 1)}
