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
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from pml.domain import events
from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.permissions import Permission
from pml.domain.response import ExecuteResponse
from pml.domain.run import Delivered, Issued, RunState
from pml.errors import DivergedError, SandboxError, StoreError
from pml.runtime.admission import Admission
from pml.runtime.calls import Answered, Caller, CallsTools, Known, Uncovered, Unknown, Waiting
from pml.runtime.dispatch import Broke, Dispatch
from pml.runtime.ending import (
    WAITS,
    Ending,
    approval_required,
    deadline_error,
    diverged,
    ending_of,
    failed,
    in_doubt,
    not_replayed,
    paused,
    reason_of,
    sandbox_lost,
    store_lost,
    waits,
    within,
)
from pml.runtime.log_writer import LogWriter
from pml.runtime.plan import RunPlan, Sandbox
from pml.runtime.rerun import Feed, Rerun
from pml.runtime.run_clock import RunClock
from pml.runtime.sandbox import protocol
from pml.runtime.scribe import Scribe
from pml.runtime.teller import Teller
from pml.runtime.timers import CallLater, Timers, on_the_loop


@dataclass(frozen=True, slots=True)
class _TimerDue:
    timer: int


_Message = protocol.Turn | Known | _TimerDue | Broke | Exception


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
    call_later: CallLater = on_the_loop
    """What timers of the code wait with."""
    _inbox: "asyncio.Queue[_Message]" = field(default_factory=asyncio.Queue)
    _clock: RunClock = field(init=False)
    _timers: Timers = field(init=False)
    _teller: Teller = field(init=False)
    _admission: Admission = field(init=False)
    _dispatch: Dispatch = field(init=False)
    _scribe: Scribe = field(init=False)
    _feed: Feed | None = None
    """The way into the sandbox; None: there is no code that waits for anything."""
    _rerun: Rerun | None = None
    """Until the run is live."""
    _deadline: asyncio.Timeout = field(init=False)
    _stopped: Ending | None = None
    _children: list[tuple[int, ExecuteResponse]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._clock = RunClock(self.now_ms, self.ledger.last_ms or self.plan.start.now_ms)
        now_ms, limits = self._clock.now_ms, self.limits
        self._timers = Timers(
            lambda timer: self._inbox.put_nowait(_TimerDue(timer)), self.call_later, now_ms
        )
        self._teller = Teller(self.plan.run_id, self.emit, now_ms=now_ms, limits=limits)
        self._admission = Admission(self.plan, self.ledger, limits)
        self._dispatch = Dispatch(
            admission=self._admission,
            caller=Caller(
                self.upstreams,
                self.ledger,
                self.log,
                now_ms=now_ms,
                concurrent=limits.concurrent_calls,
            ),
            ledger=self.ledger,
            teller=self._teller,
            tell=self._inbox.put_nowait,
        )
        self._scribe = Scribe(
            ledger=self.ledger,
            limits=limits,
            admission=self._admission,
            teller=self._teller,
            timers=self._timers,
            now_ms=now_ms,
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
        self._stopped = waits(self.ledger)
        reader: asyncio.Task[None] | None = None
        try:
            async with asyncio.timeout(self.plan.timeout_ms / 1000) as self._deadline:
                reader = self._begin()
                self._after_message()
                while not self._over():
                    self._handle(await self._inbox.get())
                    self._after_message()
        except TimeoutError:
            late = deadline_error(self.ledger, self.plan.timeout_ms)
            self._stop(failed(late) if self._rerun is None else not_replayed(self.plan.timeout_ms))
        finally:
            await self._release(reader)
        return self._ending()

    def _begin(self) -> "asyncio.Task[None] | None":
        if self._stopped is not None:
            return None
        if self.ledger.settled is not None:
            self._go_live()
            return None
        assert self.sandbox is not None
        self._feed = Feed(self.sandbox, self.ledger)
        self._rerun = Rerun(self.plan, self._feed, self.ledger, self._timers, self.limits)
        self._feed.start(self.plan.start)
        return asyncio.create_task(self._read_turns(self.sandbox))

    def _go_live(self) -> None:
        """The log is used up: clock and timers go on, and so do the calls that are open."""
        self._rerun = None
        self._clock.start()
        now_ms = self._clock.now_ms()
        left_ms = self.plan.timeout_ms - (now_ms - self.plan.start.now_ms)
        self._deadline.reschedule(asyncio.get_running_loop().time() + left_ms / 1000)
        self._timers.start()
        for call in self.ledger.held_outcomes:
            assert call.outcome is not None
            self._give(Answered(call.issued.call, call.outcome, call.duration_ms))
        self._scribe.take_issued()  # they are among the open ones
        self._ask(self._dispatch.admit([call.issued for call in self.ledger.open_calls]))

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
                self._dispatch.back(message.call)
                self._learn(message)
            case _TimerDue(timer=timer):
                self._fire(timer)
            case Broke(call=call, error=StoreError() as error):
                self._dispatch.back(call)
                self._stop(store_lost(error, self.ledger))
            case Broke(error=error):
                raise error
            case SandboxError():
                self._stop(sandbox_lost(message))
            case Exception():
                raise message

    def _after_message(self) -> None:
        """What waits until all that a message tells is in the log."""
        if self._stopped is None and self._rerun is not None and self._rerun.live:
            self._go_live()
        issued = self._scribe.take_issued()
        if self._stopped is None:
            self._ask(self._dispatch.admit(issued))
        self._close_frontier()

    def _over(self) -> bool:
        settled = self.ledger.settled is not None and not self._dispatch.holding
        return (settled or self._stopped is not None) and not self._dispatch.under_way

    def _take(self, turn: protocol.Turn) -> None:
        assert self._feed is not None
        at_ms, items = self._feed.take(turn), turn.items
        if self._rerun is not None:
            try:
                items = self._rerun.compare(turn, at_ms)
            except DivergedError as error:
                self._stop(diverged(error))
                return
        for item in items:
            if not self._going:
                self._scribe.write_late(item)
            elif limit := self._scribe.write(item, at_ms):
                self._stop(failed(limit))

    @property
    def _going(self) -> bool:
        """Whether the program goes on."""
        return self._stopped is None and self.ledger.settled is None

    # -- calls and timers ----------------------------------------------------------------

    def _close_frontier(self) -> None:
        """Let the first frontier go, pause before any other one (rule 9)."""
        code_waits = self.ledger.settled is not None or (self._feed and self._feed.idle)
        quiet = code_waits and not self._dispatch.under_way and self._inbox.empty()
        if not self._dispatch.holding or not quiet or self._rerun or self._stopped:
            return
        if self._admission.at_first_frontier:
            self._ask(self._dispatch.send(self._admission.frontier()))
        else:
            self.ledger.checkpoint(self.new_id(), self._clock.now_ms())
            self._stop(paused(self.ledger))

    def _ask(self, uncovered: Mapping[Issued, Permission]) -> None:
        """Stop until somebody agrees to the calls."""
        if uncovered:
            self._stop(approval_required(uncovered, self._stopped))

    def _learn(self, known: Known) -> None:
        match known:
            case Answered(call=call, outcome=outcome):
                answer = replace(known, outcome=within(outcome, self.limits))
                self._give(answer)
                self._teller.task_end(self.ledger.calls[call].issued, answer)
            case Unknown():
                self._stop(in_doubt(self.ledger, known))
            case Waiting(call=call, state=state, response=response):
                self._children.append((call, response))
                self._stop(Ending(state=state, error=response.error))
            case Uncovered(call=call):
                issued = self.ledger.calls[call].issued
                self._ask({issued: self._admission.permission(issued)})

    def _give(self, answer: Answered) -> None:
        """Hand an outcome to the code, or to the log alone when the code waits no more."""
        write = self.ledger.deliver if self._going and self._feed else self.ledger.hold
        record = write(answer.call, answer.outcome, self._clock.now_ms(), answer.duration_ms)
        if self._feed is not None and isinstance(record, Delivered):
            self._feed.give(record)

    def _fire(self, timer: int) -> None:
        if not self._timers.take(timer) or not self._going or self._feed is None:
            return  # cleared while the message lay in the inbox
        if full := self._scribe.full():
            self._stop(failed(full))
        else:
            self._feed.give(self.ledger.timer_fired(timer, self._clock.now_ms()))

    # -- the end -----------------------------------------------------------------------

    def _stop(self, ending: Ending) -> None:
        """Stop the program where it stands; calls that were sent are still awaited.

        A program that has settled can only wait: its end is known.
        """
        settled = self.ledger.settled is not None and ending.state not in WAITS
        if not settled and (self._stopped is None or ending.outweighs(self._stopped)):
            self._stopped = ending
        self._timers.clear_all()
        if self._stopped is not None:
            self._dispatch.recall()

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
        self._feed = None
        self._timers.clear_all()
        if self.sandbox is not None:
            self.sandbox.stop()
        await self._dispatch.cancel()
        if reader is not None:
            reader.cancel()
            with suppress(asyncio.CancelledError):
                await reader
        while not self._inbox.empty():  # answers that came in the last moment are no doubts
            if isinstance(message := self._inbox.get_nowait(), Answered):
                self._learn(message)
