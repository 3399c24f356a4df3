"""The one point where everything meets: each call of a run arrives here with its site.

A run is an actor.  Turns of the sandbox, answers of servers and due timers come into one
inbox and are worked off one by one, so the order in the log is the order in which things
happened, and what the sandbox is told is what the log says (design, section 5).

A run that went on before is replayed first and goes on where its log ends.  Every wait (after
a layer, for a person, in doubt) ends the broker; going on is another broker with the same log.

The broker never decides what a program means; it decides what may happen: permission and
limits at every call, intent before effect, and a stop where an outcome is unknown.
"""

import asyncio
import secrets
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from pml.domain import events
from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.response import ExecuteResponse
from pml.domain.run import UNKNOWN_SITE, Issued, RunState
from pml.errors import DivergedError, SandboxError, StoreError
from pml.runtime.admission import Admission
from pml.runtime.calls import (
    Answered,
    Caller,
    CallsTools,
    Errand,
    Known,
    Uncovered,
    Unknown,
    Waiting,
)
from pml.runtime.ending import (
    WAITS,
    Ending,
    deadline_error,
    diverged,
    ending_of,
    failed,
    in_doubt,
    limit_error,
    paused,
    reason_of,
    sandbox_lost,
    settlement,
    store_lost,
    waits,
    within,
)
from pml.runtime.log_writer import LogWriter
from pml.runtime.plan import RunPlan, Sandbox
from pml.runtime.rerun import Feed, Rerun
from pml.runtime.run_clock import RunClock
from pml.runtime.sandbox import protocol
from pml.runtime.teller import Teller
from pml.runtime.timers import CallLater, Timers


@dataclass(frozen=True, slots=True)
class _TimerDue:
    timer: int


@dataclass(frozen=True, slots=True)
class _Broke:
    call: int
    error: Exception


_Message = protocol.Turn | Known | _TimerDue | _Broke | Exception


@dataclass(slots=True)
class Broker:
    """Serves one sandbox for one run, from where its log ends.

    Invariant: nothing goes to a server before the log is used up, nor once ``_stopped`` is
    set; and the loop ends as soon as the calls under way are known.
    """

    plan: RunPlan
    sandbox: Sandbox | None
    """None where the log says that none is needed (`needs_sandbox`)."""
    upstreams: CallsTools
    log: LogWriter
    ledger: Ledger
    now_ms: Callable[[], int]
    """The clock of the machine."""
    emit: Callable[[events.Event], None]
    limits: Limits
    new_id: Callable[[], str] = secrets.token_urlsafe
    """Names checkpoints; nobody can guess one."""
    call_later: CallLater | None = None
    """What timers of the code wait with; None: the event loop."""
    _inbox: "asyncio.Queue[_Message]" = field(default_factory=asyncio.Queue)
    _calls: "dict[int, asyncio.Task[None]]" = field(default_factory=dict)
    _clock: RunClock = field(init=False)
    _timers: Timers = field(init=False)
    _feed: Feed | None = None
    _rerun: Rerun | None = None
    """Until the run is live."""
    _deadline: asyncio.Timeout = field(init=False)
    _admission: Admission = field(init=False)
    _caller: Caller = field(init=False)
    _teller: Teller = field(init=False)
    _issued: list[Issued] = field(default_factory=list)
    """By the message at hand; judged together."""
    _stopped: Ending | None = None
    _children: list[tuple[int, ExecuteResponse]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._clock = RunClock(self.now_ms, self.ledger.last_ms or self.plan.start.now_ms)
        now_ms = self._clock.now_ms
        self._teller = Teller(self.plan.run_id, self.emit, now_ms=now_ms, limits=self.limits)
        self._admission = Admission(self.plan, self.ledger, self.limits)
        self._caller = Caller(
            self.upstreams,
            self.ledger,
            self.log,
            now_ms=now_ms,
            concurrent=self.limits.concurrent_calls,
        )

    @property
    def warnings(self) -> Sequence[str]:
        """What the agent should know besides how the run ended."""
        return self._teller.warnings

    async def run(self) -> Ending:
        """Run the program to its end, or to the point where it cannot go on by itself.

        On return, and on cancellation, the sandbox is killed and no call is under way; the
        log may hold records that are not committed yet: commit them before anyone is told.

        Where the log is lost, nothing more is sent, and what was sent is still awaited.

        Raises:
            FencedError: another process runs the run; nothing more may be written of it.
            Exception: whatever nobody expected of a call or of the sandbox's messages.
        """
        if (ending := waits(self.ledger)) is not None:
            return ending
        later = self.call_later or asyncio.get_running_loop().call_later
        self._timers = Timers(lambda timer: self._inbox.put_nowait(_TimerDue(timer)), later)
        reader: asyncio.Task[None] | None = None
        try:
            async with asyncio.timeout(self.plan.timeout_ms / 1000) as self._deadline:
                reader = self._begin()
                while not self._over():
                    self._handle(await self._inbox.get())
                    self._after_message()
        except TimeoutError:
            self._stop(failed(deadline_error(self.ledger, self.plan.timeout_ms)))
        finally:
            await self._release(reader)
        return self._ending()

    # -- the way to where the log ends -------------------------------------------------

    def _begin(self) -> "asyncio.Task[None] | None":
        if self.ledger.settled is not None:
            self._go_live()
            return None
        assert self.sandbox is not None
        self._feed = Feed(self.sandbox, self.ledger)
        self._rerun = Rerun(self.plan, self._feed, self.ledger, self._timers, self.limits)
        reader = asyncio.create_task(self._read_turns(self.sandbox))
        self._feed.start(self.plan.start)
        if self._rerun.live:
            self._go_live()
        return reader

    def _go_live(self) -> None:
        """The log is used up: clock and timers go on, and so do the calls that are open."""
        self._rerun = None
        self._clock.start()
        now_ms = self._clock.now_ms()
        left_ms = self.plan.timeout_ms - (now_ms - self.plan.start.now_ms)
        self._deadline.reschedule(asyncio.get_running_loop().time() + left_ms / 1000)
        self._timers.start(now_ms)
        for call in self.ledger.held_outcomes:
            assert call.outcome is not None
            self._give(Answered(call.issued.call, call.outcome, call.duration_ms))
        self._issued.clear()
        self._admit([call.issued for call in self.ledger.open_calls])

    # -- the inbox -------------------------------------------------------------------

    async def _read_turns(self, sandbox: Sandbox) -> None:
        try:
            while True:
                self._inbox.put_nowait(await sandbox.turn())
        except Exception as exc:  # noqa: BLE001  # handed on: here nobody would see it
            self._inbox.put_nowait(exc)

    def _handle(self, message: _Message) -> None:
        match message:
            case protocol.Turn():
                self._take(message)
            case Answered() | Unknown() | Waiting() | Uncovered():
                self._calls.pop(message.call, None)
                self._learn(message)
            case _TimerDue(timer=timer):
                self._fire(timer)
            case _Broke(call=call, error=StoreError() as error):
                self._calls.pop(call, None)
                self._stop(store_lost(error, self.ledger))
            case _Broke(error=error):
                raise error
            case SandboxError():
                self._stop(sandbox_lost(message))
            case Exception():
                raise message

    def _after_message(self) -> None:
        """What waits until all that a message tells is in the log."""
        if self._rerun is not None:
            if self._stopped is None and self._rerun.live:
                self._go_live()
        elif self._issued:
            issued, self._issued = self._issued, []
            self._admit(issued)
        self._close_frontier()

    def _over(self) -> bool:
        if self._calls:
            return False
        return self._stopped is not None or (
            self.ledger.settled is not None and not self._admission.held
        )

    # -- what the code does ------------------------------------------------------------

    def _take(self, turn: protocol.Turn) -> None:
        assert self._feed is not None
        items: Iterable[protocol.TurnItem] = turn.items
        if self._rerun is None:
            self._feed.take(turn)
        else:
            try:
                items = self._rerun.take(turn)
            except DivergedError as error:
                self._stop(diverged(error))
        for item in items:
            self._take_item(item)

    def _take_item(self, item: protocol.TurnItem) -> None:
        match item:
            case protocol.CallIssued():
                self._issue(item)
            case protocol.DecisionMade(site=site, outcome=outcome):
                if self._may_record():
                    self.ledger.decide(site, outcome, self._clock.now_ms())
                    self._teller.decided(site, outcome)
            case protocol.SiteReached(site=site):
                if self._may_record():
                    self.ledger.reach(site, self._clock.now_ms())
            case protocol.TimerSet(timer=timer, delay_ms=delay_ms):
                self._set_timer(timer, delay_ms)
            case protocol.TimerCleared(timer=timer):
                self._timers.clear(timer)
            case protocol.UnhandledRejection(message=message):
                self._teller.warn(f"unhandled promise rejection: {message}")
            case protocol.ProgramReturned() | protocol.ProgramThrew():
                self._settle(item)

    def _issue(self, item: protocol.CallIssued) -> None:
        tool_id = f"{item.server}:{item.tool}"
        if self.ledger.settled is not None:
            self._teller.warn(f"a call of {tool_id} after the program had ended was refused")
        if not self._going:
            return
        issued = self.ledger.issue(
            site=item.site if item.site in self.plan.sites else UNKNOWN_SITE,
            tool=tool_id,
            arguments=item.arguments,
            effect=self._admission.effect(tool_id),
            at_ms=self._clock.now_ms(),
        )
        if issued.call >= self.limits.calls_per_run:
            self._stop(failed(limit_error(self.limits, "calls_per_run")))
        elif self.ledger.results_bytes > self.limits.results_bytes_per_run:
            self._stop(failed(limit_error(self.limits, "results_bytes_per_run")))
        else:
            self._issued.append(issued)

    def _set_timer(self, timer: int, delay_ms: float) -> None:
        if not self._going:
            return
        if len(self._timers) >= self.limits.timers_per_run:
            self._stop(failed(limit_error(self.limits, "timers_per_run")))
            return
        self._timers.set(timer, self._clock.now_ms(), delay_ms)

    def _settle(self, item: protocol.ProgramReturned | protocol.ProgramThrew) -> None:
        if not self._going:
            return
        self.ledger.settle(settlement(item, self.limits), self._clock.now_ms())
        self._timers.clear_all()
        if isinstance(item, protocol.ProgramReturned):
            for path in item.lossy:
                self._teller.warn(f"{path} is no JSON number and became null")

    @property
    def _going(self) -> bool:
        """Whether the program goes on."""
        return self._stopped is None and self.ledger.settled is None

    def _may_record(self) -> bool:
        """Whether the log takes one more; stops the run that filled it."""
        if self._going and len(self.ledger.records) >= self.limits.records_per_run:
            self._stop(failed(limit_error(self.limits, "records_per_run")))
        return self._going

    # -- calls on their way out ----------------------------------------------------------

    def _admit(self, calls: Iterable[Issued]) -> None:
        ready: list[Issued] = []
        for issued in calls:
            if refusal := self._admission.refusal(issued):
                self._inbox.put_nowait(Answered(issued.call, refusal, 0.0))
            elif not self._admission.holds(issued):
                ready.append(issued)
        self._send(ready)

    def _close_frontier(self) -> None:
        """Let the first frontier go, pause before any other one (rule 9)."""
        code_waits = self.ledger.settled is not None or (self._feed and self._feed.idle)
        if not self._admission.held or self._calls or self._stopped or not self._inbox.empty():
            return
        if self._rerun is None and code_waits:
            if self._admission.at_first_frontier:
                self._send(self._admission.frontier())
            else:
                self.ledger.checkpoint(self.new_id(), self._clock.now_ms())
                self._stop(paused(self.ledger))

    def _send(self, calls: Sequence[Issued]) -> None:
        """All of them, or none where somebody has to be asked first."""
        if self._stopped is not None:
            return
        if uncovered := self._admission.uncovered(calls):
            self._ask(uncovered)
            return
        for issued in calls:
            self._calls[issued.call] = asyncio.create_task(self._perform(issued))

    def _ask(self, calls: Iterable[Issued]) -> None:
        """Stop until somebody agrees to the calls; to all at once that are known by now."""
        asked = (*(self._stopped.calls if self._stopped else ()), *calls)
        by_tool = {permission.tool: permission for permission in map(self._admission.permission, asked)}
        ending = Ending(
            state=RunState.APPROVAL_REQUIRED, calls=asked, approvals=tuple(by_tool.values())
        )
        if self._stopped and self._stopped.state is RunState.APPROVAL_REQUIRED:
            self._stopped = ending
        else:
            self._stop(ending)

    async def _perform(self, issued: Issued) -> None:
        errand = Errand(
            issued=issued,
            started=lambda: self._teller.task_start(issued),
            consented=self._admission.consent(issued),
        )
        try:
            self._inbox.put_nowait(await self._caller.perform(errand))
        except Exception as exc:  # noqa: BLE001  # handed on: here nobody would see it
            self._inbox.put_nowait(_Broke(issued.call, exc))

    # -- what comes back -----------------------------------------------------------------

    def _learn(self, known: Known) -> None:
        match known:
            case Answered(call=call, outcome=outcome, duration_ms=duration_ms):
                answer = Answered(call, within(outcome, self.limits), duration_ms)
                self._give(answer)
                self._teller.task_end(self.ledger.calls[call].issued, answer)
            case Unknown(reason=reason):
                self._stop(in_doubt(self.ledger, reason))
            case Waiting(call=call, state=state, response=response):
                self._children.append((call, response))
                self._stop(Ending(state=state, error=response.error))
            case Uncovered(call=call):
                self._ask([self.ledger.calls[call].issued])

    def _give(self, answer: Answered) -> None:
        """Hand an outcome to the code, or to the log alone when the code waits no more."""
        now_ms = self._clock.now_ms()
        if not self._going or self._feed is None:
            self.ledger.hold(answer.call, answer.outcome, now_ms, answer.duration_ms)
            return
        self._feed.give(
            self.ledger.deliver(answer.call, answer.outcome, now_ms, answer.duration_ms)
        )

    def _fire(self, timer: int) -> None:
        if not self._timers.take(timer) or not self._may_record() or self._feed is None:
            return  # cleared while the message lay in the inbox
        self._feed.give(self.ledger.timer_fired(timer, self._clock.now_ms()))

    # -- the end -----------------------------------------------------------------------

    def _stop(self, ending: Ending) -> None:
        """Stop the program where it stands; calls that were sent are still awaited.

        A program that has settled can only wait: its end is known.
        """
        if self._stopped is not None or (self.ledger.settled and ending.state not in WAITS):
            return
        self._stopped = ending
        self._timers.clear_all()
        for call in [call for call in self._calls if not self.ledger.calls[call].attempts]:
            self._calls.pop(call).cancel()

    def _ending(self) -> Ending:
        """How the run stands.

        A run that leaves a write behind whose outcome is unknown is in doubt, whatever else.
        """
        if self._stopped is None:
            assert self.ledger.settled is not None
            ending = ending_of(self.ledger.settled)
        else:
            ending = replace(self._stopped, children=tuple(self._children))
        if self.ledger.in_doubt and ending.state is not RunState.IN_DOUBT:
            return in_doubt(self.ledger, reason_of(ending))
        return ending

    async def _release(self, reader: "asyncio.Task[None] | None") -> None:
        """Leave nothing running: no sandbox, no call, no timer."""
        self._timers.clear_all()
        tasks = [*([reader] if reader else []), *self._calls.values()]
        for task in tasks:
            task.cancel()
        if self.sandbox is not None:
            self.sandbox.stop()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
        self._calls.clear()
        while not self._inbox.empty():  # answers that came in the last moment are no doubts
            if isinstance(message := self._inbox.get_nowait(), Answered):
                self.ledger.hold(
                    message.call, message.outcome, self._clock.now_ms(), message.duration_ms
                )
