"""Running a program again against its log, without calling anything twice.

The log holds what the code did (issues, decisions, places reached, its settlement) and what
it was given (outcomes, fired timers), in one order.  A replay compares the first kind and
feeds the second; after the last record the run is live (design, section 5, rule 3).

Inputs may be fed ahead of what the code does with them, because the code takes them one by
one.  So two cursors walk through the log, and what ties them together is checked: what the
log says before an input was done before the code had worked off that input, and nothing that
the code tells in one message stands on both sides of an input.
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

    Invariant: what was seen and what was fed are prefixes of what the log says of either, or
    the replay has diverged; then every method raises the same error, so nothing is called by
    mistake.  Attempts, held outcomes and pauses are the broker's own affair and are skipped.
    """

    def __init__(self, records: Sequence[LogRecord]) -> None:
        self._given: list[Given] = []
        self._did: list[tuple[Did, int]] = []  # with the number of inputs before it
        for record in records:
            if isinstance(record, Given):
                self._given.append(record)
            elif isinstance(record, Did):
                self._did.append((record, len(self._given)))
        self._fed = 0
        self._seen = 0
        self._inputs_before: int | None = 0
        """Before what this message tells; the first one comes before any.  None: not known yet."""
        self._divergence: DivergedError | None = None

    @property
    def live(self) -> bool:
        """Whether the log is used up: from here on calls are made."""
        self._check()
        return self.compared and self._fed == len(self._given)

    @property
    def compared(self) -> bool:
        """Whether the code did all that the log knows of; inputs may still be due."""
        self._check()
        return self._seen == len(self._did)

    def next_input(self) -> Given | None:
        """What the code is to be given next; None if it has got everything.

        The code must have been given it before it does what the log does not know.
        """
        self._check()
        if self._fed == len(self._given):
            return None
        self._fed += 1
        return self._given[self._fed - 1]

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

    def beyond(self, found: str) -> None:
        """The code did something that the log does not know.

        Raises:
            DivergedError: had it done so in that run, it would stand in the log.
        """
        self._check()
        before = self._inputs_before
        if not self.compared:
            raise self._diverge(self._did[self._seen][0], found)
        if before is not None and before < len(self._given):
            raise self._diverge(self._given[before], found)

    def message_over(self, worked_off: int) -> None:
        """One message of the sandbox was compared.

        Args:
            worked_off: how many inputs the code has worked off; the start is the first.

        Raises:
            DivergedError: the log says that the code did more by then.
        """
        self._check()
        self._inputs_before = None
        if not self.compared:
            record, inputs_before = self._did[self._seen]
            if inputs_before < worked_off:
                raise self._diverge(record, "nothing")

    def _expect(self, kind: type[_DidT], found: str) -> _DidT:
        self._check()
        if self.compared:
            raise ValueError("the log is used up: " + found + " is live")
        record, inputs_before = self._did[self._seen]
        if self._inputs_before is not None and self._inputs_before < inputs_before:
            raise self._diverge(self._given[self._inputs_before], found)
        if not isinstance(record, kind):
            raise self._diverge(record, found)
        self._inputs_before = inputs_before
        self._seen += 1
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
