"""A broker whose run is another process's by now, or whose log cannot be replayed (EX-3)."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.run import Attempted, LogRecord, RunState
from pml.errors import FencedError
from pml.runtime.broker import Broker
from pml.runtime.log_writer import LogWriter
from pml.runtime.plan import RunPlan
from pml.runtime.sandbox.pool import SandboxPool
from pml.runtime.sandbox.protocol import DeliverInput, FireInput, StartInput, Turn
from tests.oracle.compare import CATALOG
from tests.oracle.scenario import EPOCH_MS, Case
from tests.runtime.resuming.lives import KeptLog, live, prepared
from tests.runtime.resuming.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass
class TakenOver:
    """A store in which another process takes the run over at the ``at``-th append."""

    at: int
    records: list[LogRecord] = field(default_factory=list)

    async def append(self, run_id: str, records: Sequence[LogRecord], *, epoch: int) -> None:
        self.at -= 1
        if self.at < 0:
            raise FencedError(run_id)
        self.records.extend(records)

    async def read(self, run_id: str) -> Sequence[LogRecord]:
        return self.records


@pytest.mark.parametrize("at", [0, 1, 2])
async def test_nothing_is_sent_once_another_process_has_the_run(pool: SandboxPool, at: int) -> None:
    """What went out before has its intent in the log; nothing else went out."""
    source = "for (const n of [1, 2, 3]) await mcp.fs.write({ path: `${n}` }); return 1;"
    program = prepared(Case(source=source, seed=1))
    assert program is not None
    worlds: list[World] = []

    def world(seed: int, ledger: Ledger, *, layered: bool = False) -> World:
        worlds.append(World(seed, ledger, layered=layered))
        return worlds[-1]

    log = TakenOver(at)
    with pytest.raises(FencedError):
        await live(program, pool, log=log, world=world)
    intents = [record.call for record in log.records if isinstance(record, Attempted)]
    assert sorted(worlds[0].sent.elements()) == intents == list(range(at))


class Mute:
    """A sandbox that is busy for ever."""

    stopped = False

    def start(self, program: StartInput) -> None:
        """It takes it."""

    async def turn(self) -> Turn:
        await asyncio.Event().wait()
        raise AssertionError

    def deliver(self, outcome: DeliverInput) -> None:
        """It takes it."""

    def fire(self, timer: FireInput) -> None:
        """It takes it."""

    def stop(self) -> None:
        self.stopped = True


@pytest.mark.parametrize("replayed", [True, False])
async def test_a_replay_that_takes_too_long_loses_nothing(replayed: bool) -> None:
    """A busy machine is no reason to end a run for good; a program that computes on is."""
    ledger = Ledger()
    if replayed:
        ledger.reach("l1", at_ms=EPOCH_MS)
    known, world, sandbox = list(ledger.records), World(1, ledger), Mute()
    start = StartInput(module="", arguments="{}", seed=1, now_ms=EPOCH_MS)
    broker = Broker(
        plan=RunPlan(
            run_id="run",
            start=start,
            sites=(),
            catalog=CATALOG,
            permissions=world,
            timeout_ms=20,
        ),
        sandbox=sandbox,
        upstreams=world,
        log=LogWriter(KeptLog(known), "run", ledger, epoch=0),
        ledger=ledger,
        now_ms=world.now_ms,
        emit=lambda _: None,
        limits=Limits(),
    )
    ending = await broker.run()
    assert ending.error is not None
    wanted = (RunState.INTERRUPTED, "interrupted") if replayed else (RunState.ERROR, "timeout")
    assert (ending.state, ending.error.code) == wanted
    assert ledger.records == known
    assert sandbox.stopped
