"""Running a program again against its log, without calling anything twice.

The log holds what the code did (issues, decisions, places reached, its settlement) and what
it was given (outcomes, fired timers), in one order.  A replay compares the first kind and
feeds the second, one record after the other; after the last one the run is live (design,
section 5, rule 3).
"""

from collections.abc import Sequence
from typing import TypeAlias, TypeVar

from pml.domain.record import JsonText
from pml.domain.run import (
    Decided,
    Delivered,
    Issued,
    LogRecord,
    Outcome,
    Reached,
    Returned,
    Settled,
    TimerFired,
)
from pml.errors import DivergedError

Did: TypeAlias = Issued | Decided | Reached | Settled
"""What the code did."""
Given: TypeAlias = Delivered | TimerFired
"""What the code was given."""
_DidT = TypeVar("_DidT", Issued, Decided, Reached, Settled)


class Replay:
    """Where a replay stands in the log.

    Invariant: what was seen and fed so far is a prefix of the log, or the replay has
    diverged; then every method raises the same error, so nothing is called by mistake.
    Attempts and held outcomes are the broker's own affair and are skipped.
    """

    def __init__(self, records: Sequence[LogRecord]) -> None:
        self._script = [record for record in records if isinstance(record, Did | Given)]
        self._position = 0
        self._divergence: DivergedError | None = None

    @property
    def live(self) -> bool:
        """Whether the log is used up: from here on calls are made."""
        self._check()
        return self._position == len(self._script)

    def next_input(self) -> Given | None:
        """What the code is to be given now; None if it has to act first, or the run is live.

        Feed all that this returns before reading what the sandbox did.
        """
        self._check()
        if not self.live and isinstance(record := self._script[self._position], Given):
            self._position += 1
            return record
        return None

    def issue(self, *, site: str, tool: str, arguments: JsonText) -> Issued:
        """The code called a tool; the record says which call it is.

        Raises:
            DivergedError: the log says something else here.
        """
        found = f"a call of {tool} at {site}"
        record = self._expect(Issued, found)
        if (record.site, record.tool) != (site, tool):
            raise self._diverge(record, found)
        if record.arguments != arguments:  # not shown: they may hold secrets
            raise self._diverge(record, f"{found} with other arguments")
        return record

    def decide(self, site: str, outcome: str) -> Decided:
        """The code took a branch.

        Raises:
            DivergedError: the log says something else here.
        """
        found = f"decision {site} = {outcome}"
        record = self._expect(Decided, found)
        if (record.site, record.outcome) != (site, outcome):
            raise self._diverge(record, found)
        return record

    def reach(self, site: str) -> Reached:
        """The code came to a fork or a loop.

        Raises:
            DivergedError: the log says something else here.
        """
        record = self._expect(Reached, f"reaching {site}")
        if record.site != site:
            raise self._diverge(record, f"reaching {site}")
        return record

    def settle(self, outcome: Outcome) -> Settled:
        """The program returned or threw.

        Raises:
            DivergedError: the log says something else here.
        """
        record = self._expect(Settled, _describe_outcome(outcome))
        if record.outcome != outcome:
            raise self._diverge(record, f"{_describe_outcome(outcome)}, but another one")
        return record

    def idle(self) -> None:
        """The code waits and has all inputs that were due.

        Raises:
            DivergedError: the log says that it did more.
        """
        self._check()
        if not self.live and isinstance(record := self._script[self._position], Did):
            raise self._diverge(record, "nothing")

    def _expect(self, kind: type[_DidT], found: str) -> _DidT:
        self._check()
        if self.live:
            raise ValueError("the log is used up: " + found + " is live")
        record = self._script[self._position]
        if not isinstance(record, kind):
            raise self._diverge(record, found)
        self._position += 1
        return record

    def _check(self) -> None:
        if self._divergence is not None:
            raise self._divergence

    def _diverge(self, record: Did | Given, found: str) -> DivergedError:
        self._divergence = DivergedError(record.seq, _describe(record), found)
        return self._divergence


def _describe(record: Did | Given) -> str:
    match record:
        case Issued(tool=tool, site=site):
            return f"a call of {tool} at {site}"
        case Decided(site=site, outcome=outcome):
            return f"decision {site} = {outcome}"
        case Reached(site=site):
            return f"reaching {site}"
        case Settled(outcome=outcome):
            return _describe_outcome(outcome)
        case Delivered(call=call):
            return f"a wait for call {call}"
        case TimerFired(timer=timer):
            return f"a wait for timer {timer}"


def _describe_outcome(outcome: Outcome) -> str:
    return "a return" if isinstance(outcome, Returned) else f"a throw of {outcome.code}"
