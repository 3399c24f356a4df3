"""The log of one run, as it grows: what happens becomes the next record.

One fold checks and applies a record (`pml.domain.log_rules`), whether the broker has just made
it or it was read from the store; so the state of a run is always the fold of its log.
"""

from collections.abc import Sequence

from pml.domain.log_rules import LogState
from pml.domain.permissions import Effect
from pml.domain.record import JsonText
from pml.domain.run import (
    Attempted,
    Checkpoint,
    Continued,
    Decided,
    Delivered,
    Issued,
    LogRecord,
    Outcome,
    Reached,
    RetryAllowed,
    Settled,
    TimerFired,
    Undelivered,
)


class Ledger(LogState):
    """The log of one run, growing.

    Invariant: the state is what a fresh ledger computes from ``records``.  Time never goes
    back: a record gets the time of its predecessor where the clock of the machine was set back.
    """

    def __init__(self, records: Sequence[LogRecord] = ()) -> None:
        super().__init__()
        for record in records:
            self.apply(record)

    def issue(
        self, *, site: str, tool: str, arguments: JsonText, effect: Effect, at_ms: int
    ) -> Issued:
        """The code called a tool.

        Raises:
            LogOrderError: the program has settled.
        """
        record = Issued(
            seq=len(self.records),
            at_ms=self._time(at_ms),
            call=len(self.calls),
            site=site,
            occurrence=self._occurrences[site] + 1,
            tool=tool,
            arguments=arguments,
            effect=effect,
        )
        self.apply(record)
        return record

    def attempt(self, call: int, at_ms: int) -> Attempted:
        """The intent of a request.  Commit it before the request is sent.

        Raises:
            LogOrderError: unknown call, an outcome is there, or a write was attempted before.
        """
        attempt = self.calls[call].attempts + 1 if 0 <= call < len(self.calls) else 1
        record = Attempted(
            seq=len(self.records), at_ms=self._time(at_ms), call=call, attempt=attempt
        )
        self.apply(record)
        return record

    def deliver(
        self, call: int, outcome: Outcome, at_ms: int, duration_ms: float = 0.0
    ) -> Delivered:
        """The code gets the outcome.

        Raises:
            LogOrderError: unknown call, already delivered, another outcome is recorded, or
                the program has settled (then `hold` it).
        """
        record = Delivered(
            seq=len(self.records),
            at_ms=self._time(at_ms),
            call=call,
            outcome=outcome,
            duration_ms=duration_ms,
        )
        self.apply(record)
        return record

    def hold(
        self, call: int, outcome: Outcome, at_ms: int, duration_ms: float = 0.0
    ) -> Undelivered:
        """An outcome came after settlement, or while the run is frozen.

        Raises:
            LogOrderError: unknown call, or its outcome is recorded.
        """
        record = Undelivered(
            seq=len(self.records),
            at_ms=self._time(at_ms),
            call=call,
            outcome=outcome,
            duration_ms=duration_ms,
        )
        self.apply(record)
        return record

    def timer_fired(self, timer: int, at_ms: int) -> TimerFired:
        """A timer fires in the code.

        Raises:
            LogOrderError: the program has settled.
        """
        record = TimerFired(seq=len(self.records), at_ms=self._time(at_ms), timer=timer)
        self.apply(record)
        return record

    def decide(self, site: str, outcome: str, at_ms: int) -> Decided:
        """The code took a branch.

        Raises:
            LogOrderError: the program has settled.
        """
        record = Decided(seq=len(self.records), at_ms=self._time(at_ms), site=site, outcome=outcome)
        self.apply(record)
        return record

    def reach(self, site: str, at_ms: int) -> Reached:
        """The code came to a fork or a loop.

        Raises:
            LogOrderError: the program has settled.
        """
        record = Reached(seq=len(self.records), at_ms=self._time(at_ms), site=site)
        self.apply(record)
        return record

    def checkpoint(self, checkpoint_id: str, at_ms: int) -> Checkpoint:
        """The run pauses before the calls that are open.  Commit before anyone is told.

        Raises:
            LogOrderError: something is in flight, or nothing waits.
        """
        record = Checkpoint(
            seq=len(self.records),
            at_ms=self._time(at_ms),
            checkpoint_id=checkpoint_id,
            layer=self.layer + 1,
        )
        self.apply(record)
        return record

    def continue_(self, checkpoint_id: str, at_ms: int) -> Continued:
        """Somebody lets the calls go that wait at the pending checkpoint.

        Raises:
            LogOrderError: that checkpoint is not pending.
        """
        record = Continued(
            seq=len(self.records), at_ms=self._time(at_ms), checkpoint_id=checkpoint_id
        )
        self.apply(record)
        return record

    def allow_retry(self, call: int, at_ms: int) -> RetryAllowed:
        """The last attempt of a write in doubt does not count.

        Either somebody decided so, or PML knows that it never sent the request.

        Raises:
            LogOrderError: unknown call, or it is not in doubt.
        """
        record = RetryAllowed(seq=len(self.records), at_ms=self._time(at_ms), call=call)
        self.apply(record)
        return record

    def settle(self, outcome: Outcome, at_ms: int) -> Settled:
        """The program returned or threw.  Commit before anyone is told.

        Raises:
            LogOrderError: the program has settled.
        """
        record = Settled(seq=len(self.records), at_ms=self._time(at_ms), outcome=outcome)
        self.apply(record)
        return record

    def _time(self, at_ms: int) -> int:
        return max(at_ms, self.records[-1].at_ms) if self.records else at_ms
