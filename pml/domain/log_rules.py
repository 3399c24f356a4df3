"""What may follow in the log of a run, and where the calls stand after it.

The rules are one fold over the records (design, section 5, rules 1, 3, 5, 6, 7 and 9).
"""

from collections import Counter

import msgspec

from pml.domain.permissions import Effect
from pml.domain.record import Duration, Record
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
    Returned,
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
    duration_ms: Duration = 0.0
    """From the last attempt to its answer."""
    delivered: bool = False
    """Whether the code has the outcome."""
    retry_allowed: bool = False
    """Whether the last attempt does not count: it was never sent, or somebody said so."""

    @property
    def open(self) -> bool:
        """Whether the outcome is still to come."""
        return self.outcome is None

    @property
    def in_doubt(self) -> bool:
        """A write that may have taken effect: in flight, or unknown if nobody waits for it.

        The call of a capability is never: what it did is in the log of its own run.
        """
        write = self.issued.effect is Effect.WRITE and not self.issued.of_capability
        return write and self.open and self.attempts > 0 and not self.retry_allowed


class LogState:
    """Where a run stands after the records of its log.

    Invariant: every record follows the rules from the records before it.
    """

    def __init__(self) -> None:
        self.records: list[LogRecord] = []
        self.calls: list[CallState] = []
        self.settled: Settled | None = None
        self.pending: Checkpoint | None = None
        """The pause that nobody continued yet; nothing else happens until somebody does."""
        self.layer = 0
        """Number of the last frontier that was held; 0: none was."""
        self.results_bytes = 0
        """Of all that calls returned, as UTF-8."""
        self._released = 0
        self._held: dict[int, None] = {}
        self._occurrences: Counter[str] = Counter()
        self._open: dict[int, None] = {}

    @property
    def open_calls(self) -> tuple[CallState, ...]:
        """Calls without an outcome, in order of issue."""
        return tuple(self.calls[number] for number in self._open)

    @property
    def held_outcomes(self) -> tuple[CallState, ...]:
        """Calls whose outcome the code has not been given yet and can take, oldest first."""
        return () if self.settled else tuple(self.calls[number] for number in self._held)

    @property
    def last_ms(self) -> int:
        """Time of the last record: the run's clock stands there while nobody runs it."""
        return self.records[-1].at_ms if self.records else 0

    def released(self, call: int) -> bool:
        """Whether somebody let the call go that was held before a frontier."""
        return call < self._released

    @property
    def in_doubt(self) -> tuple[CallState, ...]:
        """Writes that were attempted and have no outcome; nobody repeats them unasked."""
        return tuple(call for call in self.open_calls if call.in_doubt)

    def apply(self, record: LogRecord) -> None:
        """Let a record follow.

        Raises:
            LogOrderError: it cannot follow the ones before it; nothing has changed.
        """
        if record.seq != len(self.records):
            raise LogOrderError(record.seq, f"expected number {len(self.records)}")
        if self.records and record.at_ms < self.records[-1].at_ms:
            raise LogOrderError(record.seq, "time went back")
        if self.pending is not None and not isinstance(record, Continued):
            raise LogOrderError(record.seq, "the run is paused: nothing happens before it goes on")
        self._follow(record)
        self.records.append(record)

    def _follow(self, record: LogRecord) -> None:
        match record:
            case Issued():
                self._issued(record)
            case Attempted():
                self._attempted(record)
            case Delivered() | Undelivered():
                self._outcome(record)
            case Checkpoint():
                self._paused(record)
            case Continued():
                self._continued(record)
            case RetryAllowed():
                self._retry(record)
            case Settled():
                self._running(record)
                self.settled = record
            case TimerFired() | Decided() | Reached():
                self._running(record)

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
        self._set(
            record.call, call, attempts=record.attempt, started_at_ms=started, retry_allowed=False
        )

    def _outcome(self, record: Delivered | Undelivered) -> None:
        call, delivered = self._call(record), isinstance(record, Delivered)
        if delivered:
            self._running(record)
        if not call.open and not (delivered and self._deliverable(call, record.outcome)):
            raise LogOrderError(record.seq, f"call {record.call} has its outcome")
        if call.open and isinstance(record.outcome, Returned):
            self.results_bytes += len(record.outcome.value.encode())
        self._open.pop(record.call, None)
        if delivered:
            self._held.pop(record.call, None)
        else:
            self._held[record.call] = None
        changes: dict[str, object] = {"outcome": record.outcome, "delivered": delivered}
        if call.open:
            changes |= {"ended_at_ms": record.at_ms, "duration_ms": record.duration_ms}
        self._set(record.call, call, **changes)

    @staticmethod
    def _deliverable(call: CallState, outcome: Outcome) -> bool:
        """Whether an outcome that was held may be handed to the code."""
        return not call.delivered and call.outcome == outcome

    def _paused(self, record: Checkpoint) -> None:
        if record.layer != self.layer + 1:
            raise LogOrderError(record.seq, f"expected layer {self.layer + 1}")
        if not self._open or self.held_outcomes or any(call.attempts for call in self.open_calls):
            raise LogOrderError(record.seq, "a run pauses where calls wait and none is in flight")
        self.pending, self.layer = record, record.layer

    def _continued(self, record: Continued) -> None:
        if self.pending is None or self.pending.checkpoint_id != record.checkpoint_id:
            raise LogOrderError(record.seq, f"checkpoint {record.checkpoint_id} is not pending")
        self.pending, self._released = None, len(self.calls)

    def _retry(self, record: RetryAllowed) -> None:
        call = self._call(record)
        if not call.in_doubt:
            raise LogOrderError(record.seq, f"call {record.call} is not in doubt")
        self._set(record.call, call, retry_allowed=True)

    def _call(self, record: Attempted | Delivered | Undelivered | RetryAllowed) -> CallState:
        if not 0 <= record.call < len(self.calls):
            raise LogOrderError(record.seq, f"there is no call {record.call}")
        return self.calls[record.call]

    def _running(self, record: LogRecord) -> None:
        if self.settled is not None:
            raise LogOrderError(record.seq, "the program has settled")

    def _set(self, number: int, call: CallState, **changes: object) -> None:
        self.calls[number] = msgspec.structs.replace(call, **changes)
