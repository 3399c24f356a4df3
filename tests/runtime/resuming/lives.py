"""One life of a run: from a log to where the broker lets go of it."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from pml.analysis.analyse import analyse
from pml.analysis.parameters import bind
from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.replay import Did, Given
from pml.domain.run import Delivered, LogRecord
from pml.domain.structure import StaticStructure
from pml.runtime.broker import Broker
from pml.runtime.ending import Ending, needs_sandbox
from pml.runtime.log_writer import AppendsRecords, LogWriter
from pml.runtime.plan import RunPlan
from pml.runtime.recorder import executed_path
from pml.runtime.sandbox.module import module_text
from pml.runtime.sandbox.protocol import StartInput
from tests.oracle.compare import CATALOG
from tests.oracle.sandboxed import Player, Sandboxes
from tests.oracle.scenario import EPOCH_MS, Case
from tests.runtime.resuming.world import StuckError, Watched, World

TIMEOUT_MS = 10**9
"""Time is virtual."""


class KeptLog:
    """A store that keeps what it gets, and is never lost."""

    def __init__(self, records: Sequence[LogRecord]) -> None:
        self.records = list(records)

    async def append(self, run_id: str, records: Sequence[LogRecord], *, epoch: int) -> None:
        assert [r.seq for r in records] == list(
            range(len(self.records), len(self.records) + len(records))
        )
        self.records.extend(records)

    async def read(self, run_id: str) -> Sequence[LogRecord]:
        return self.records


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A program as the broker gets it."""

    case: Case
    start: StartInput
    structure: StaticStructure


@lru_cache(maxsize=1000)
def _prepared(source: str) -> tuple[str, StaticStructure, tuple[str, ...]]:
    program = analyse(source, CATALOG, limits=Limits())
    text = module_text(program.instrumented, program.structure.variables)
    return text, program.structure, tuple(d.code for d in program.errors)


def prepared(case: Case) -> Prepared | None:
    """The program, ready to run; None where analysis refuses it."""
    text, structure, errors = _prepared(case.source)
    if errors:
        return None
    program = analyse(case.source, CATALOG, limits=Limits())
    raw = {
        name: msgspec.Raw(value.encode())
        for name, value in bind(program, dict(case.args))[0].items()
    }
    start = StartInput(
        module=text, arguments=msgspec.json.encode(raw).decode(), seed=case.seed, now_ms=EPOCH_MS
    )
    return Prepared(case=case, start=start, structure=structure)


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What came of it."""

    ending: Ending | None
    """None: the program is stuck."""
    records: tuple[LogRecord, ...]
    sent: Counter[int]
    path: tuple[str, ...]
    warnings: tuple[str, ...]
    frontiers: int
    """How often a layered world let calls pass."""
    ledger: Ledger

    def essence(self) -> list[LogRecord]:
        """What the code did and was given, and when; durations are those of the machine."""
        return [_essence(record) for record in self.records if isinstance(record, Did | Given)]

    def outcome(self) -> object:
        """How it ended."""
        ending = self.ending
        return ending and (ending.state, ending.result, ending.error)


def _essence(record: Did | Given) -> LogRecord:
    if isinstance(record, Delivered):
        return msgspec.structs.replace(record, seq=0, duration_ms=0.0)
    return msgspec.structs.replace(record, seq=0)


async def live(
    program: Prepared,
    pool: Sandboxes,
    ledger: Ledger | None = None,
    *,
    layered: bool = False,
    world: Callable[..., World] = World,
    limits: Limits | None = None,
    log: AppendsRecords | None = None,
    **plan: Any,  # noqa: ANN401  # fields of RunPlan
) -> Life:
    """Run or resume the program in a world of its own, as far as the broker goes.

    Raises:
        FencedError: ``log`` says that another process runs it.
    """
    ledger = Ledger() if ledger is None else ledger
    log = KeptLog(ledger.records) if log is None else log
    around = world(program.case.seed, ledger, layered=layered)
    limits = limits or Limits()
    if not needs_sandbox(ledger):
        return await _life(program, None, ledger, around, limits=limits, log=log, plan=plan)
    async with pool.checkout() as player:
        return await _life(program, player, ledger, around, limits=limits, log=log, plan=plan)


async def _life(
    program: Prepared,
    player: Player | None,
    ledger: Ledger,
    world: World,
    *,
    limits: Limits,
    log: AppendsRecords,
    plan: dict[str, Any],
) -> Life:
    code = Watched(player)
    fields: dict[str, Any] = {"permissions": world, "timeout_ms": TIMEOUT_MS} | plan
    broker = Broker(
        plan=RunPlan(
            run_id="run",
            start=program.start,
            sites=frozenset(node.id for node in program.structure.nodes),
            catalog=CATALOG,
            **fields,
        ),
        sandbox=None if player is None else code,
        upstreams=world,
        log=LogWriter(log, "run", ledger, epoch=0),
        ledger=ledger,
        now_ms=world.now_ms,
        emit=lambda _: None,
        limits=limits,
        new_id=lambda: f"checkpoint-{ledger.layer + 1}",
        call_later=world.call_later,
    )
    running = asyncio.create_task(broker.run())
    happening = asyncio.create_task(world.run(code))
    await asyncio.wait([running, happening], return_when=asyncio.FIRST_COMPLETED)
    stuck = not running.done()
    for task in (running, happening):
        task.cancel()
    for came in await asyncio.gather(running, happening, return_exceptions=True):
        if isinstance(came, Exception) and not isinstance(came, StuckError):
            raise came
    return Life(
        ending=None if stuck else running.result(),
        records=tuple(ledger.records),
        sent=world.sent,
        path=executed_path(program.structure, ledger),
        warnings=tuple(broker.warnings),
        frontiers=world.frontiers,
        ledger=ledger,
    )
