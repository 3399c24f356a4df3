"""Writing down what the code does, as far as the log takes it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.response import ExecuteError
from pml.domain.run import UNKNOWN_SITE, Issued
from pml.runtime.admission import Admission
from pml.runtime.ending import limit_error, settlement
from pml.runtime.sandbox import protocol
from pml.runtime.teller import Teller
from pml.runtime.timers import Timers


@dataclass(slots=True, kw_only=True)
class Scribe:
    """The code's own records of one run.

    Invariant: the log never holds more records, calls or results than the limits say, nor
    anything that the code did after it had settled.
    """

    ledger: Ledger
    limits: Limits
    admission: Admission
    teller: Teller
    timers: Timers
    now_ms: Callable[[], int]
    issued: list[Issued] = field(default_factory=list)
    """Calls that nobody has judged yet."""

    def take_issued(self) -> list[Issued]:
        """The calls that nobody has judged yet, now to be judged together."""
        issued, self.issued = self.issued, []
        return issued

    def write(self, item: protocol.TurnItem, since_ms: int) -> ExecuteError | None:
        """Write down one item; why the run has to stop, if it has.

        Args:
            item: what the code did.
            since_ms: what the code's clock showed then.
        """
        match item:
            case protocol.CallIssued():
                return self._issue(item)
            case protocol.DecisionMade() | protocol.SiteReached():
                return self._pass(item)
            case protocol.TimerSet(timer=timer, delay_ms=delay_ms):
                return self._set_timer(timer, since_ms, delay_ms)
            case protocol.TimerCleared(timer=timer):
                self.timers.clear(timer)
            case protocol.ProgramReturned() | protocol.ProgramThrew():
                self._settle(item)
            case protocol.UnhandledRejection():
                self.write_late(item)
        return None

    def write_late(self, item: protocol.TurnItem) -> None:
        """What the code does once it is over; no log holds it."""
        match item:
            case protocol.CallIssued(server=server, tool=tool) if self.ledger.settled:
                self.teller.warn(
                    f"a call of {server}:{tool} after the program had ended was refused"
                )
            case protocol.UnhandledRejection(message=message):
                self.teller.warn(f"unhandled promise rejection: {message}")

    def full(self) -> ExecuteError | None:
        """Whether the log takes no more."""
        full = len(self.ledger.records) >= self.limits.records_per_run
        return limit_error(self.limits, "records_per_run") if full else None

    def _issue(self, item: protocol.CallIssued) -> ExecuteError | None:
        tool_id = f"{item.server}:{item.tool}"
        issued = self.ledger.issue(
            site=item.site if item.site in self.admission.plan.sites else UNKNOWN_SITE,
            tool=tool_id,
            arguments=item.arguments,
            effect=self.admission.effect(tool_id),
            at_ms=self.now_ms(),
        )
        if issued.call >= self.limits.calls_per_run:
            return limit_error(self.limits, "calls_per_run")
        if self.ledger.results_bytes > self.limits.results_bytes_per_run:
            return limit_error(self.limits, "results_bytes_per_run")
        self.issued.append(issued)
        return None

    def _pass(self, item: protocol.DecisionMade | protocol.SiteReached) -> ExecuteError | None:
        if full := self.full():
            return full
        if isinstance(item, protocol.SiteReached):
            self.ledger.reach(item.site, self.now_ms())
        else:
            self.ledger.decide(item.site, item.outcome, self.now_ms())
            self.teller.decided(item.site, item.outcome)
        return None

    def _set_timer(self, timer: int, since_ms: int, delay_ms: float) -> ExecuteError | None:
        if len(self.timers) >= self.limits.timers_per_run:
            return limit_error(self.limits, "timers_per_run")
        self.timers.set(timer, since_ms, delay_ms)
        return None

    def _settle(self, item: protocol.ProgramReturned | protocol.ProgramThrew) -> None:
        self.ledger.settle(settlement(item, self.limits), self.now_ms())
        self.timers.clear_all()
        if isinstance(item, protocol.ProgramReturned):
            for path in item.lossy:
                self.teller.warn(f"{path} is no JSON number and became null")
