"""The one point where everything meets: each call of a run arrives here with its site.

A run is an actor.  Turns of the sandbox, answers of servers and due timers come into one
inbox and are worked off one by one, so the order in the log is the order in which things
happened, and what the sandbox is told is what the log says (design, section 5).

The broker never decides what a program means; it decides what may happen: permission and
limits at every call, intent before effect, and a stop where an outcome is unknown.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec

from pml.domain import events
from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.nearest import did_you_mean
from pml.domain.permissions import ApprovalMode, Permission
from pml.domain.response import ExecuteError
from pml.domain.run import UNKNOWN_SITE, Failed, Issued, Returned, RunState
from pml.domain.sanitising import preview
from pml.domain.tools import Tool
from pml.errors import SandboxError, StoreError
from pml.runtime.calls import Answered, Caller, CallsTools, Unknown
from pml.runtime.ending import (
    Ending,
    deadline_error,
    doubt_error,
    limit_error,
    reason_of,
    settlement,
    store_lost,
)
from pml.runtime.log_writer import LogWriter
from pml.runtime.plan import RunPlan, Sandbox
from pml.runtime.sandbox import protocol
from pml.runtime.timers import Timers


@dataclass(frozen=True, slots=True)
class _TimerDue:
    timer: int


@dataclass(frozen=True, slots=True)
class _Broke:
    call: int
    error: Exception


_Message = protocol.Turn | Answered | Unknown | _TimerDue | _Broke | Exception


@dataclass(slots=True)
class Broker:
    """Serves one sandbox for one run.

    Invariant: once ``_ending`` is set nothing new goes to a server, and the loop ends as
    soon as the calls under way are known.
    """

    plan: RunPlan
    sandbox: Sandbox
    upstreams: CallsTools
    log: LogWriter
    ledger: Ledger
    now_ms: Callable[[], int]
    emit: Callable[[events.Event], None]
    limits: Limits
    warnings: list[str] = field(default_factory=list)
    _inbox: "asyncio.Queue[_Message]" = field(default_factory=asyncio.Queue)
    _calls: "dict[int, asyncio.Task[None]]" = field(default_factory=dict)
    _timers: Timers = field(init=False)
    _ending: Ending | None = None
    _warnings: int = 0
    _caller: Caller = field(init=False)

    def __post_init__(self) -> None:
        self._timers = Timers(lambda timer: self._inbox.put_nowait(_TimerDue(timer)))
        self._caller = Caller(
            self.upstreams,
            self.ledger,
            self.log,
            now_ms=self.now_ms,
            concurrent=self.limits.concurrent_calls,
        )

    async def run(self) -> Ending:
        """Run the program to its end, or to the point where it cannot go on by itself.

        On return, and on cancellation, the sandbox is killed and no call is under way; the
        log may hold records that are not committed yet.

        Where the log is lost, nothing more is sent, and what was sent is still awaited.

        Raises:
            Exception: whatever nobody expected of a call or of the sandbox's messages.
        """
        reader = asyncio.create_task(self._read_turns())
        try:
            async with asyncio.timeout(self.plan.timeout_ms / 1000):
                self.sandbox.start(self.plan.start)
                while self._ending is None or self._calls:
                    self._handle(await self._inbox.get())
        except TimeoutError:
            self._end(RunState.ERROR, deadline_error(self.ledger, self.plan.timeout_ms))
        finally:
            await self._stop(reader)
        assert self._ending is not None
        return self._settle_doubts(self._ending)

    # -- the inbox -------------------------------------------------------------------

    async def _read_turns(self) -> None:
        try:
            while True:
                self._inbox.put_nowait(await self.sandbox.turn())
        except Exception as exc:  # noqa: BLE001  # handed on: here nobody would see it
            self._inbox.put_nowait(exc)

    def _handle(self, message: _Message) -> None:
        match message:
            case protocol.Turn(items=items):
                for item in items:
                    self._handle_item(item)
            case Answered():
                self._deliver(message)
            case Unknown():
                self._calls.pop(message.call, None)
                self._end(RunState.IN_DOUBT, doubt_error(self.ledger, message))
            case _TimerDue(timer=timer):
                self._fire(timer)
            case _Broke(call=call, error=StoreError() as error):
                self._calls.pop(call, None)
                self._end(RunState.ERROR, store_lost(error, self.ledger).error)
            case _Broke(error=error):
                raise error
            case SandboxError():
                self._end(RunState.ERROR, ExecuteError(code="sandbox", message=str(message)))
            case Exception():
                raise message

    def _handle_item(self, item: protocol.TurnItem) -> None:
        match item:
            case protocol.CallIssued():
                self._issue(item)
            case protocol.DecisionMade(site=site, outcome=outcome):
                self._note_decision(site, outcome)
            case protocol.SiteReached(site=site):
                if self._may_record():
                    self.ledger.reach(site, self.now_ms())
            case protocol.TimerSet(timer=timer, delay_ms=delay_ms):
                self._set_timer(timer, delay_ms)
            case protocol.TimerCleared(timer=timer):
                self._timers.clear(timer)
            case protocol.UnhandledRejection(message=message):
                self._warn(f"unhandled promise rejection: {message}")
            case protocol.ProgramReturned() | protocol.ProgramThrew():
                self._settle(item)

    # -- calls -----------------------------------------------------------------------

    def _issue(self, item: protocol.CallIssued) -> None:
        tool_id = f"{item.server}:{item.tool}"
        if self._ending is not None:
            self._warn(f"a call of {tool_id} after the program had ended was refused")
            return
        tool = self.plan.catalog.find(tool_id)
        permission = self.plan.permissions.of(tool or Tool(server=item.server, name=item.tool))
        issued = self.ledger.issue(
            site=item.site if item.site in self.plan.sites else UNKNOWN_SITE,
            tool=tool_id,
            arguments=item.arguments,
            effect=permission.effect,
            at_ms=self.now_ms(),
        )
        refusal = self._refusal(item, tool)
        if refusal is not None:
            self._inbox.put_nowait(Answered(issued.call, refusal, 0.0))
        elif issued.call >= self.limits.calls_per_run:
            self._end(RunState.ERROR, limit_error(self.limits))
        elif permission.approval_mode is ApprovalMode.HIL and tool_id not in self.plan.approved:
            self._end(RunState.APPROVAL_REQUIRED, approvals=(permission,))
        else:
            self._calls[issued.call] = asyncio.create_task(self._perform(issued))

    def _refusal(self, item: protocol.CallIssued, tool: Tool | None) -> Failed | None:
        """The answer to a call that goes to no server, whatever the permissions say."""
        if tool is None:
            hint = did_you_mean(item.tool, self.plan.catalog.tools_of(item.server))
            return Failed(code="unknown_tool", message=f"no tool {item.server}:{item.tool}{hint}")
        size = len(item.arguments.encode())
        if size > self.limits.arguments_bytes:
            return Failed(
                code="too_large",
                message=f"the arguments are {size} bytes, the limit is "
                f"{self.limits.arguments_bytes}: pass less, or in several calls",
            )
        return None

    async def _perform(self, issued: Issued) -> None:
        def on_start() -> None:
            self.emit(
                events.TaskStart(
                    run_id=self.plan.run_id,
                    at_ms=self.now_ms(),
                    task_id=issued.task_id,
                    tool=issued.tool,
                )
            )

        try:
            self._inbox.put_nowait(await self._caller.perform(issued, on_start))
        except Exception as exc:  # noqa: BLE001  # handed on: here nobody would see it
            self._inbox.put_nowait(_Broke(issued.call, exc))

    def _deliver(self, answer: Answered) -> None:
        """Hand an outcome to the code, or to the log alone when the code waits no more."""
        if self._ending is not None:
            self._hold(answer)
            return
        self._calls.pop(answer.call, None)
        issued = self.ledger.calls[answer.call].issued
        now_ms = self.now_ms()
        record = self.ledger.deliver(answer.call, answer.outcome, now_ms, answer.duration_ms)
        self.sandbox.deliver(protocol.delivery(issued, answer.outcome, record.at_ms))
        self.emit(self._task_end(issued, answer, now_ms))

    def _hold(self, answer: Answered) -> None:
        self._calls.pop(answer.call, None)
        now_ms = self.now_ms()
        self.ledger.hold(answer.call, answer.outcome, now_ms, answer.duration_ms)
        self.emit(self._task_end(self.ledger.calls[answer.call].issued, answer, now_ms))

    def _task_end(self, issued: Issued, answer: Answered, now_ms: int) -> events.TaskEnd:
        outcome, chars = answer.outcome, self.limits.preview_chars
        return events.TaskEnd(
            run_id=self.plan.run_id,
            at_ms=now_ms,
            task_id=issued.task_id,
            tool=issued.tool,
            success=isinstance(outcome, Returned),
            duration_ms=round(answer.duration_ms, 3),
            result=preview(msgspec.json.decode(outcome.value), chars)
            if isinstance(outcome, Returned)
            else None,
            error=preview(outcome.message, chars) if isinstance(outcome, Failed) else None,
        )

    # -- decisions and timers ----------------------------------------------------------

    def _note_decision(self, site: str, outcome: str) -> None:
        if not self._may_record():
            return
        now_ms = self.now_ms()
        self.ledger.decide(site, outcome, now_ms)
        self.emit(
            events.DecisionTaken(
                run_id=self.plan.run_id, at_ms=now_ms, node_id=site, outcome=outcome
            )
        )

    def _set_timer(self, timer: int, delay_ms: float) -> None:
        if self._ending is not None:
            return
        if len(self._timers) >= self.limits.timers_per_run:
            self._end(RunState.ERROR, limit_error(self.limits))
            return
        self._timers.set(timer, delay_ms)

    def _fire(self, timer: int) -> None:
        if not self._timers.take(timer) or self._ending is not None:
            return  # cleared while the message lay in the inbox
        if not self._may_record():
            return
        record = self.ledger.timer_fired(timer, self.now_ms())
        self.sandbox.fire(protocol.FireInput(timer=timer, now_ms=record.at_ms))

    def _may_record(self) -> bool:
        """Whether the log takes one more; ends the run that filled it."""
        if self._ending is None and len(self.ledger.records) >= self.limits.records_per_run:
            self._end(RunState.ERROR, limit_error(self.limits))
        return self._ending is None

    def _warn(self, text: str) -> None:
        self._warnings += 1
        if self._warnings <= self.limits.warnings_per_run:
            self.warnings.append(preview(text, self.limits.message_chars))
        elif self._warnings == self.limits.warnings_per_run + 1:
            self.warnings.append(f"further warnings were left out (after {len(self.warnings)})")

    # -- the end -----------------------------------------------------------------------

    def _settle(self, item: protocol.ProgramReturned | protocol.ProgramThrew) -> None:
        if self._ending is not None:
            return
        outcome, self._ending = settlement(item, self.limits)
        self.ledger.settle(outcome, self.now_ms())
        if isinstance(item, protocol.ProgramReturned):
            for path in item.lossy:
                self._warn(f"{path} is no JSON number and became null")
        self._timers.clear_all()

    def _end(
        self,
        state: RunState,
        error: ExecuteError | None = None,
        approvals: tuple[Permission, ...] = (),
    ) -> None:
        """Stop the program where it stands; calls that were sent are still awaited."""
        if self._ending is None:
            self._ending = Ending(state=state, error=error, approvals=approvals)
        self._timers.clear_all()
        for call in [call for call in self._calls if not self.ledger.calls[call].attempts]:
            self._calls.pop(call).cancel()

    def _settle_doubts(self, ending: Ending) -> Ending:
        """A run that leaves a write behind whose outcome is unknown is in doubt, whatever else."""
        doubts = self.ledger.in_doubt
        if not doubts or ending.state is RunState.IN_DOUBT:
            return ending
        error = doubt_error(
            self.ledger,
            Unknown(doubts[0].issued.call, reason_of(ending)),
        )
        return Ending(state=RunState.IN_DOUBT, error=error)

    async def _stop(self, reader: "asyncio.Task[None]") -> None:
        """Leave nothing running: no sandbox, no call, no timer."""
        self._timers.clear_all()
        tasks = [reader, *self._calls.values()]
        for task in tasks:
            task.cancel()
        self.sandbox.stop()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
        self._calls.clear()
        while not self._inbox.empty():  # answers that came in the last moment are no doubts
            message = self._inbox.get_nowait()
            if isinstance(message, Answered):
                self._hold(message)
