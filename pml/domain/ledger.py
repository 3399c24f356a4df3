"""The log of one run: which record may come next, and where the calls stand.

One function checks and applies a record, whether the broker has just made it or it was read
from the store; so the state of a run is always the fold of its log (design, section 5,
rules 1, 3, 5, 6 and 7).
"""

from collections import Counter
from collections.abc import Sequence

import msgspec

from pml.domain.permissions import Effect
from pml.domain.record import JsonText, Record
from pml.domain.run import (
    Attempted,
    Decided,
    Delivered,
    Issued,
    LogRecord,
    Outcome,
    Reached,
    Settled,
    TimerFired,
    Undelivered,
)
from pml.errors import LogOrderError


class CallState(Record, frozen=True, kw_only=True):
    """Where one call stands."""

    issued: Issued
    attempts: int = 0
    """Requests that were sent, or were about to be."""
    started_at_ms: int | None = None
    """Time of the first attempt."""
    ended_at_ms: int | None = None
    """Time at which the outcome was first recorded."""
    outcome: Outcome | None = None
    delivered: bool = False
    """Whether the code has the outcome."""

    @property
    def open(self) -> bool:
        """Whether the outcome is still to come."""
        return self.outcome is None

    @property
    def in_doubt(self) -> bool:
        """A write that may have taken effect: in flight, or unknown if nobody waits for it."""
        return self.open and self.attempts > 0 and self.issued.effect is Effect.WRITE


class Ledger:
    """The log of one run, growing.

    Invariant: every record follows the rules from the records before it, and ``calls`` is
    what a fresh ledger computes from ``records``.  Time never goes back: a record gets the
    time of its predecessor where the clock of the machine was set back.
    """

    def __init__(self, records: Sequence[LogRecord] = ()) -> None:
        self.records: list[LogRecord] = []
        self.calls: list[CallState] = []
        self.settled: Settled | None = None
        self._occurrences: Counter[str] = Counter()
        self._open: dict[int, None] = {}
        for record in records:
            self._append(record)

    @property
    def open_calls(self) -> tuple[CallState, ...]:
        """Calls without an outcome, in order of issue."""
        return tuple(self.calls[number] for number in self._open)

    @property
    def in_doubt(self) -> tuple[CallState, ...]:
        """Writes that were attempted and have no outcome; nobody repeats them unasked."""
        return tuple(call for call in self.open_calls if call.in_doubt)

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
        self._append(record)
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
        self._append(record)
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
        self._append(record)
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
        self._append(record)
        return record

    def timer_fired(self, timer: int, at_ms: int) -> TimerFired:
        """A timer fires in the code.

        Raises:
            LogOrderError: the program has settled.
        """
        record = TimerFired(seq=len(self.records), at_ms=self._time(at_ms), timer=timer)
        self._append(record)
        return record

    def decide(self, site: str, outcome: str, at_ms: int) -> Decided:
        """The code took a branch.

        Raises:
            LogOrderError: the program has settled.
        """
        record = Decided(seq=len(self.records), at_ms=self._time(at_ms), site=site, outcome=outcome)
        self._append(record)
        return record

    def reach(self, site: str, at_ms: int) -> Reached:
        """The code came to a fork or a loop.

        Raises:
            LogOrderError: the program has settled.
        """
        record = Reached(seq=len(self.records), at_ms=self._time(at_ms), site=site)
        self._append(record)
        return record

    def settle(self, outcome: Outcome, at_ms: int) -> Settled:
        """The program returned or threw.  Commit before anyone is told.

        Raises:
            LogOrderError: the program has settled.
        """
        record = Settled(seq=len(self.records), at_ms=self._time(at_ms), outcome=outcome)
        self._append(record)
        return record

    def _time(self, at_ms: int) -> int:
        return max(at_ms, self.records[-1].at_ms) if self.records else at_ms

    def _append(self, record: LogRecord) -> None:
        if record.seq != len(self.records):
            raise LogOrderError(record.seq, f"expected number {len(self.records)}")
        if self.records and record.at_ms < self.records[-1].at_ms:
            raise LogOrderError(record.seq, "time went back")
        match record:
            case Issued():
                self._issued(record)
            case Attempted():
                self._attempted(record)
            case Delivered() | Undelivered():
                self._outcome(record)
            case Settled():
                self._running(record)
                self.settled = record
            case TimerFired() | Decided() | Reached():
                self._running(record)
        self.records.append(record)

    def _issued(self, record: Issued) -> None:
        self._running(record)
        if record.call != len(self.calls):
            raise LogOrderError(record.seq, f"expected call {len(self.calls)}, got {record.call}")
        if record.occurrence != self._occurrences[record.site] + 1:
            raise LogOrderError(
                record.seq, f"{record.occurrence} is not the next occurrence of {record.site}"
            )
        self._occurrences[record.site] += 1
        self._open[record.call] = None
        self.calls.append(CallState(issued=record))

    def _attempted(self, record: Attempted) -> None:
        call = self._call(record)
        if not call.open:
            raise LogOrderError(record.seq, f"call {record.call} has its outcome")
        if call.in_doubt:
            raise LogOrderError(record.seq, f"call {record.call} is a write: never repeated")
        if record.attempt != call.attempts + 1:
            raise LogOrderError(record.seq, f"expected attempt {call.attempts + 1}")
        started = record.at_ms if call.started_at_ms is None else call.started_at_ms
        self._set(record.call, call, attempts=record.attempt, started_at_ms=started)

    def _outcome(self, record: Delivered | Undelivered) -> None:
        call = self._call(record)
        if isinstance(record, Delivered):
            self._running(record)
            if call.delivered or call.outcome not in (None, record.outcome):
                raise LogOrderError(record.seq, f"call {record.call} has its outcome")
        elif not call.open:
            raise LogOrderError(record.seq, f"call {record.call} has its outcome")
        self._open.pop(record.call, None)
        ended = record.at_ms if call.ended_at_ms is None else call.ended_at_ms
        delivered = isinstance(record, Delivered)
        self._set(record.call, call, outcome=record.outcome, delivered=delivered, ended_at_ms=ended)

    def _call(self, record: Attempted | Delivered | Undelivered) -> CallState:
        if not 0 <= record.call < len(self.calls):
            raise LogOrderError(record.seq, f"there is no call {record.call}")
        return self.calls[record.call]

    def _running(self, record: LogRecord) -> None:
        if self.settled is not None:
            raise LogOrderError(record.seq, "the program has settled")

    def _set(self, number: int, call: CallState, **changes: object) -> None:
        self.calls[number] = msgspec.structs.replace(call, **changes)
