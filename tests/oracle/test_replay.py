"""Real programs run again against their log, in a fresh sandbox (EX-3; rule 3).

A run is recorded in a ledger, cut off at any record as a crash would, and replayed: nothing
that the log holds is called again, the code goes the same way, and then goes on live to the
same result.  Parallel programs, races and timers are among them.
"""

import asyncio
import random
from collections.abc import Mapping

import msgspec
import pytest

from pml.analysis.analyse import analyse
from pml.analysis.parameters import bind
from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.permissions import Effect
from pml.domain.record import JsonText
from pml.domain.replay import Did, Given, Replay
from pml.domain.run import Delivered, Failed, LogRecord, Outcome, Returned, TimerFired
from pml.errors import DivergedError
from pml.runtime.sandbox.module import module_text
from pml.runtime.sandbox.pool import SandboxPool
from pml.runtime.sandbox.protocol import (
    CallIssued,
    DecisionMade,
    ProgramReturned,
    ProgramThrew,
    SiteReached,
    TimerSet,
    TurnItem,
)
from tests.oracle.compare import CATALOG
from tests.oracle.programs import case
from tests.oracle.sandboxed import Sandboxed, sandboxed
from tests.oracle.scenario import EPOCH_MS, Case, answer

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROGRAMS = 40
AT_ONCE = 3
STEPS = 500


class Recorded:
    """A minimal broker: replays what is given, then decides by dice what happens next."""

    def __init__(self, case: Case, runner: Sandboxed, records: tuple[LogRecord, ...]) -> None:
        self.ledger = Ledger(records)
        self.called = 0
        self._case = case
        self._runner = runner
        self._replay = Replay(records)
        self._timers: list[int] = []
        self._turns = 0
        self._dice = random.Random(case.seed)

    async def run(self) -> None:
        """To the settlement, or until nothing can happen any more."""
        self._take(await self._runner.start(self._case, EPOCH_MS))
        while (given := self._replay.next_input()) is not None:
            self._take(await self._give(given))
        for _ in range(STEPS):
            if self.ledger.settled or not (self.ledger.open_calls or self._timers):
                return
            self._take(await self._give(self._next()))
        raise AssertionError("the program does not terminate:\n" + self._case.source)

    def _next(self) -> Given:
        now = EPOCH_MS + len(self.ledger.records)
        calls = [call.issued.call for call in self.ledger.open_calls]
        if calls and (not self._timers or self._dice.random() < 0.8):
            call = self._dice.choice(calls)
            return self.ledger.deliver(call, self._answer(call), now)
        return self.ledger.timer_fired(self._timers[0], now)

    def _answer(self, call: int) -> Outcome:
        issued = self.ledger.calls[call].issued
        return answer(self._case.seed, issued.tool, issued.arguments, issued.call)

    async def _give(self, given: Given) -> tuple[TurnItem, ...]:
        if isinstance(given, TimerFired):
            self._timers.remove(given.timer)
            return await self._runner.fire(given.timer, given.at_ms)
        tool = self.ledger.calls[given.call].issued.tool
        return await self._runner.deliver(given.call, tool, given.outcome, given.at_ms)

    def _take(self, items: tuple[TurnItem, ...]) -> None:
        self._turns += 1
        for item in items:
            if isinstance(item, TimerSet):
                self._timers.append(item.timer)
            elif not self._replay.compared:
                self._compare(item)
            elif self.ledger.settled is None:
                self._record(item)
        self._replay.message_over(self._turns)

    def _compare(self, item: TurnItem) -> None:
        match item:
            case CallIssued():
                tool = f"{item.server}:{item.tool}"
                self._replay.issue(site=item.site, tool=tool, arguments=item.arguments)
            case DecisionMade():
                self._replay.decide(item.site, item.outcome)
            case SiteReached():
                self._replay.reach(item.site)
            case ProgramReturned() | ProgramThrew():
                self._replay.settle(outcome_of(item))

    def _record(self, item: TurnItem) -> None:
        now = EPOCH_MS + len(self.ledger.records)
        match item:
            case CallIssued():
                self.called += 1
                tool = f"{item.server}:{item.tool}"
                self.ledger.issue(
                    site=item.site,
                    tool=tool,
                    arguments=item.arguments,
                    effect=Effect.READ,
                    at_ms=now,
                )
            case DecisionMade():
                self.ledger.decide(item.site, item.outcome, now)
            case SiteReached():
                self.ledger.reach(item.site, now)
            case ProgramReturned() | ProgramThrew():
                self.ledger.settle(outcome_of(item), now)


def outcome_of(item: ProgramReturned | ProgramThrew) -> Outcome:
    """How the log says it."""
    if isinstance(item, ProgramReturned):
        return Returned(value=item.value)
    return Failed(code=item.name, message=item.message)


async def recorded(case: Case, pool: SandboxPool, records: tuple[LogRecord, ...] = ()) -> Recorded:
    """Run or resume a program in a fresh sandbox."""
    program = analyse(case.source, CATALOG, limits=Limits())
    arguments: Mapping[str, JsonText] = bind(program, dict(case.args))[0]
    text = module_text(program.instrumented, program.structure.variables)
    async with sandboxed(pool, text, arguments) as runner:
        run = Recorded(case, runner, records)
        await run.run()
    return run


def essence(records: list[LogRecord]) -> list[str]:
    """What replay is about, without the times."""
    return [
        msgspec.json.encode(msgspec.structs.replace(r, at_ms=0, seq=0)).decode()
        for r in records
        if isinstance(r, Did | Given)
    ]


async def test_a_run_that_was_cut_off_goes_the_same_way_and_on(pool: SandboxPool) -> None:
    turn = asyncio.Semaphore(AT_ONCE)

    async def one(seed: int) -> int:
        async with turn:
            whole = await recorded(case(seed), pool)
            log = whole.ledger.records
            cut = random.Random(seed).randint(1, len(log))
            resumed = await recorded(case(seed), pool, tuple(log[:cut]))
        assert essence(resumed.ledger.records)[:cut] == essence(log)[:cut]
        assert resumed.called + _calls(log[:cut]) == len(resumed.ledger.calls)
        if cut == len(log):
            assert resumed.called == 0
        assert (resumed.ledger.settled is None) == (whole.ledger.settled is None)
        return cut

    cuts = await asyncio.gather(*(one(seed) for seed in range(PROGRAMS)))
    assert max(cuts) > 20


def _calls(records: list[LogRecord]) -> int:
    return len(Ledger(records).calls)


async def test_another_answer_in_the_log_is_noticed_before_anything_is_called(
    pool: SandboxPool,
) -> None:
    """The code passes the result on; with another recorded result its next call differs."""
    source = "const n = await mcp.db.count(); await mcp.fs.write({ n }); return n;"
    program = Case(source=source)
    whole = await recorded(program, pool)
    forged = [
        msgspec.structs.replace(r, outcome=Returned(value="77")) if isinstance(r, Delivered) else r
        for r in whole.ledger.records[:3]
    ]
    with pytest.raises(DivergedError, match="fs:write at n2 with other arguments"):
        await recorded(program, pool, tuple(forged))
