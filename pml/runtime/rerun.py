"""Driving a sandbox along the log of its run, without calling anything (rule 3).

The code gets what the log says that it was given, and what it does is compared.  Inputs go
in ahead of what comes out, so a thousand recorded outcomes do not cost a thousand round
trips; but not before the first turn (until then the sandbox may write files), and never more
than a window, because what waits in the sandbox is memory of its.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.replay import Did, Given, Replay
from pml.domain.run import UNKNOWN_SITE, Delivered, Outcome, Returned, TimerFired
from pml.errors import SandboxError
from pml.runtime.ending import settlement
from pml.runtime.plan import RunPlan, Sandbox
from pml.runtime.sandbox import protocol
from pml.runtime.timers import Cancels, Timers

WINDOW_INPUTS = 256
WINDOW_BYTES = 1_000_000
_Recorded: TypeAlias = (
    protocol.CallIssued
    | protocol.DecisionMade
    | protocol.SiteReached
    | protocol.ProgramReturned
    | protocol.ProgramThrew
)
"""What the log holds of a turn."""


class Feed:
    """The way into a sandbox; counts what went in and what was worked off."""

    def __init__(self, sandbox: Sandbox, ledger: Ledger) -> None:
        self._sandbox = sandbox
        self._ledger = ledger
        self._waiting: deque[tuple[int, int]] = deque()  # time and size of what is not worked off
        self._waiting_bytes = 0
        self._last_ms = 0
        self.worked_off = 0

    def start(self, program: protocol.StartInput) -> None:
        """The program goes in."""
        self._sandbox.start(program)
        self._count(program.now_ms, 0)

    def give(self, given: Given) -> None:
        """What the log says, old or new, that the code is given."""
        if isinstance(given, TimerFired):
            self._sandbox.fire(protocol.FireInput(timer=given.timer, now_ms=given.at_ms))
            self._count(given.at_ms, 0)
            return
        issued = self._ledger.calls[given.call].issued
        self._sandbox.deliver(protocol.delivery(issued, given.outcome, given.at_ms))
        self._count(given.at_ms, _size(given))

    def take(self, turn: protocol.Turn) -> int:
        """A message came out; the time of the input that made the code tell it."""
        if self._waiting:
            self._last_ms = self._waiting[0][0]
        while self.worked_off < turn.consumed:
            self.worked_off += 1
            self._last_ms, size = self._waiting.popleft()
            self._waiting_bytes -= size
        return self._last_ms

    @property
    def idle(self) -> bool:
        """Whether the code has worked off everything and waits."""
        return not self._waiting

    @property
    def has_room(self) -> bool:
        """Whether more may go in before the code has worked something off."""
        room = len(self._waiting) < WINDOW_INPUTS and self._waiting_bytes < WINDOW_BYTES
        return self.worked_off > 0 and room

    def _count(self, at_ms: int, size: int) -> None:
        self._waiting.append((at_ms, size))
        self._waiting_bytes += size


def _size(given: Delivered) -> int:
    return len(given.outcome.value) if isinstance(given.outcome, Returned) else 0


class Rerun:
    """A program on its way through its log.

    Invariant: as long as it is not live, what the code did is what the log says.
    """

    def __init__(
        self, plan: RunPlan, feed: Feed, ledger: Ledger, timers: Timers, limits: Limits
    ) -> None:
        self._sites = plan.sites
        self._feed = feed
        self._replay = Replay(ledger.records)
        self._timers = timers
        self._limits = limits

    @property
    def live(self) -> bool:
        """Whether the log is used up."""
        return self._replay.live

    def feed(self) -> None:
        """Put in what there is room for; everything, once the code did all that the log knows."""
        while self._feed.has_room or (self._replay.compared and self._feed.worked_off):
            given = self._replay.next_input()
            if given is None:
                return
            if isinstance(given, TimerFired):
                self._timers.replay(given.timer)
            self._feed.give(given)

    def compare(self, turn: protocol.Turn, at_ms: int) -> tuple[protocol.TurnItem, ...]:
        """Compare what the code did; what it did after the log ends, or what no log holds.

        Args:
            turn: a message that the feed has taken.
            at_ms: time of the input that caused it.

        Raises:
            DivergedError: the log says something else.
        """
        beyond: list[protocol.TurnItem] = []
        for item in turn.items:
            match item:
                case protocol.UnhandledRejection():
                    beyond.append(item)
                case protocol.TimerSet(timer=timer, delay_ms=delay_ms):
                    self._timers.set(timer, at_ms, delay_ms)
                case protocol.TimerCleared(timer=timer):
                    self._timers.clear(timer)
                case _ if self._replay.compared:
                    self._replay.beyond(_describe(item))
                    beyond.append(item)
                case _:
                    self._compare_one(item)
        self._replay.message_over(self._feed.worked_off)
        self.feed()
        return tuple(beyond)

    def _compare_one(self, item: _Recorded) -> None:
        match item:
            case protocol.CallIssued():
                tool = f"{item.server}:{item.tool}"
                site = item.site if item.site in self._sites else UNKNOWN_SITE
                self._replay.issue(site=site, tool=tool, arguments=item.arguments)
            case protocol.DecisionMade(site=site, outcome=outcome):
                self._replay.decide(site, outcome)
            case protocol.SiteReached(site=site):
                self._replay.reach(site)
            case protocol.ProgramReturned() | protocol.ProgramThrew():
                self._replay.settle(settlement(item, self._limits))


def _describe(item: _Recorded) -> str:
    match item:
        case protocol.CallIssued(server=server, tool=tool, site=site):
            return f"a call of {server}:{tool} at {site}"
        case protocol.DecisionMade(site=site, outcome=outcome):
            return f"decision {site} = {outcome}"
        case protocol.SiteReached(site=site):
            return f"reaching {site}"
        case protocol.ProgramReturned() | protocol.ProgramThrew():
            return "its end"


@dataclass(frozen=True, slots=True)
class Replayed:
    """A run that was replayed to the end of its log, without a call."""

    records: int
    """How many records of the log the code was given or did again."""
    outcome: Outcome | None
    """Of the program; None: the run was stopped before it settled."""


async def replay_finished(
    plan: RunPlan, sandbox: Sandbox, ledger: Ledger, *, limits: Limits
) -> Replayed:
    """Run a program along its whole log: it goes the same way to the same result.

    Raises:
        DivergedError: it does not.
        SandboxError: the sandbox broke, or took longer than the whole run may.
    """
    feed = Feed(sandbox, ledger)
    rerun = Rerun(plan, feed, ledger, Timers(lambda _: None, _never, lambda: 0), limits)
    try:
        async with asyncio.timeout(plan.timeout_ms / 1000):
            feed.start(plan.start)
            rerun.feed()
            while not rerun.live:
                turn = await sandbox.turn()
                rerun.compare(turn, feed.take(turn))
    except TimeoutError:
        message = f"the run could not be replayed within {plan.timeout_ms} ms"
        raise SandboxError(message) from None
    finally:
        sandbox.stop()
    done = sum(isinstance(record, Did | Given) for record in ledger.records)
    return Replayed(done, ledger.settled.outcome if ledger.settled else None)


class _Nothing:
    def cancel(self) -> None:
        """Nothing was asked for."""


def _never(_delay_s: float, _call: Callable[[], None]) -> Cancels:
    """Timers of a replay fire where the log says so."""
    return _Nothing()
