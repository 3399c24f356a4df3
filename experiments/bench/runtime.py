"""What a call costs beside the sandbox and the server: log, permissions, events; and resuming.

Broker, ledger, permissions, sandboxes and PostgreSQL are the real ones; the server answers in
process, so that its own time does not count.  Each figure stands beside a named alternative
that runs in the same minutes: the bare sandbox (no broker), the log in memory, running a
program again instead of resuming it, not pausing.

Run:  .venv/bin/python experiments/bench/runtime.py [--flat]

With ``--flat``: 5,000 runs one after the other; memory, processes and file handles after 1,000
and at the end.
"""

import asyncio
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psutil

from pml.domain.events import Event
from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.record import encode
from pml.domain.run import Issued, Outcome, Returned, Run, RunProgram, RunState
from pml.domain.tools import Catalog, Tool
from pml.runtime.broker import Broker
from pml.runtime.ending import Ending
from pml.runtime.log_writer import LogWriter
from pml.runtime.permissions import Permissions, load_permissions
from pml.runtime.plan import RunPlan
from pml.runtime.reaper import Reaper
from pml.runtime.sandbox.module import module_text
from pml.runtime.sandbox.pool import SandboxPool
from pml.runtime.sandbox.protocol import CallIssued, DeliverInput, ProgramReturned, StartInput
from pml.store.database import Database
from pml.store.ledger_key import LedgerKey
from pml.store.memory import memory_store
from pml.store.ports import Store
from pml.store.postgres import postgres_store

CALLS = 1_000
PARALLEL = (1, 16, 64)
CALLS_EACH = 100
ROUNDS = 15
FLAT_RUNS = 5_000
FLAT_WARM_UP = 1_000
ECHO = Tool(server="here", name="echo")
CATALOG = Catalog({"here": (ECHO,)})
LOOP = "for (let i = 0; i < %d; i++) await mcp.here['echo\u22a5n1']({ i });"
LAYERS = "await mcp.here['echo\u22a5n1']({}); await mcp.here['echo\u22a5n2']({}); return 1;"
PERMISSIONS = """\
version: 1
servers:
  here:
    tools:
      "*": {scope: full, effect: write, approval_mode: auto}
"""


def now_ms() -> int:
    """Unix time."""
    return time.time_ns() // 1_000_000


class InProcess:
    """A server that answers at once; notes when each request reached it."""

    def __init__(self) -> None:
        self.at: list[float] = []

    async def ready(self, server: str) -> None:
        """Always."""

    async def call(self, issued: Issued) -> Outcome:
        """Echo."""
        self.at.append(time.perf_counter())
        return Returned(value=issued.arguments)


@dataclass(slots=True)
class One:
    """One run over its lives."""

    store: Store
    pool: SandboxPool
    permissions: Permissions
    run: Run
    start: StartInput
    server: InProcess
    per_layer: bool = False
    events: int = 0

    async def live(self, ledger: Ledger) -> Ending:
        """Run or resume it, and commit its log."""
        log = LogWriter(self.store.run_log, self.run.id, ledger, epoch=0)
        if ledger.pending is not None:
            ledger.continue_(ledger.pending.checkpoint_id, ledger.last_ms)
        async with self.pool.checkout() as sandbox:
            ending = await Broker(
                plan=RunPlan(
                    run_id=self.run.id,
                    start=self.start,
                    sites=("n1", "n2"),
                    catalog=CATALOG,
                    permissions=self.permissions,
                    per_layer=self.per_layer,
                    timeout_ms=600_000,
                ),
                sandbox=sandbox,
                upstreams=self.server,
                log=log,
                ledger=ledger,
                now_ms=now_ms,
                emit=self._count,
                limits=Limits(),
            ).run()
        await log.commit()
        return ending

    async def stored(self) -> Ledger:
        """Its log, as another process finds it."""
        return Ledger(await self.store.run_log.read(self.run.id))

    def _count(self, event: Event) -> None:
        self.events += len(encode(event))


@dataclass(slots=True)
class Bench:
    """What all measurements share."""

    store: Store
    memory: Store
    pool: SandboxPool
    permissions: Permissions

    async def one(self, code: str, store: Store, *, per_layer: bool = False) -> One:
        """A new run of a program."""
        at = now_ms()
        run = Run(
            id=str(uuid.uuid4()),
            intent="bench",
            state=RunState.RUNNING,
            source_hash="0",
            owner="bench",
            created_at_ms=at,
            updated_at_ms=at,
            started_at_ms=at,
            timeout_ms=600_000,
        )
        program = RunProgram(source=code, instrumented=code, structure="{}", arguments={}, seed=1)
        await store.runs.create(run, program)
        return One(
            store, self.pool, self.permissions, run, start_of(code, at), InProcess(), per_layer
        )

    async def period_ms(self, store: Store) -> float:
        """Median time from one request to the next, of a program that only calls."""
        one = await self.one(LOOP % CALLS, store)
        await self.pool.warm()
        await one.live(Ledger())
        return median_step_ms(one.server.at)

    async def bare_period_ms(self) -> float:
        """The same without broker: the sandbox, answered at once."""
        await self.pool.warm()
        at: list[float] = []
        async with self.pool.checkout() as sandbox:
            sandbox.start(start_of(LOOP % CALLS, now_ms()))
            while True:
                for item in (await sandbox.turn()).items:
                    if isinstance(item, ProgramReturned):
                        return median_step_ms(at)
                    if isinstance(item, CallIssued):
                        at.append(time.perf_counter())
                        value = msgspec.Raw(item.arguments.encode())
                        sandbox.deliver(DeliverInput(call=item.call, now_ms=now_ms(), value=value))

    async def calls_per_s(self, store: Store, programs: int) -> float:
        """Calls of all programs over the wall time of all."""
        runs = [await self.one(LOOP % CALLS_EACH, store) for _ in range(programs)]
        await self.pool.warm()
        started = time.perf_counter()
        await asyncio.gather(*(one.live(Ledger()) for one in runs))
        return programs * CALLS_EACH / (time.perf_counter() - started)

    async def resume_s(self) -> tuple[float, float]:
        """Resuming a run behind its last recorded call, and running all of it again."""
        code = LOOP % CALLS + " return 1;"
        one = await self.one(code, self.store)
        await one.live(Ledger())
        records = (await one.stored()).records[:-1]  # all but its settlement
        cut = await self.one(code, self.store)
        cut.start = one.start
        await self.store.run_log.append(cut.run.id, records, epoch=0)
        await self.pool.warm()
        started = time.perf_counter()
        ending = await cut.live(await cut.stored())
        resumed = time.perf_counter() - started
        assert (ending.state, cut.server.at) == (RunState.SUCCESS, [])
        again = await self.one(code, self.store)
        await self.pool.warm()
        started = time.perf_counter()
        await again.live(Ledger())
        return resumed, time.perf_counter() - started

    async def pause_ms(self) -> tuple[float, float]:
        """What a pause and going on add to a program with two layers, and that program's time."""
        paused, straight = [], []
        for _ in range(ROUNDS):
            one = await self.one(LAYERS, self.store, per_layer=True)
            await self.pool.warm()
            await one.live(Ledger())
            at = one.server.at[-1]
            await one.live(await one.stored())
            paused.append((one.server.at[-1] - at) * 1000)
            other = await self.one(LAYERS, self.store)
            await self.pool.warm()
            await other.live(Ledger())
            straight.append(median_step_ms(other.server.at))
        return statistics.median(paused), statistics.median(straight)


def start_of(code: str, at_ms: int) -> StartInput:
    """The program as a sandbox gets it."""
    return StartInput(module=module_text(code, ()), arguments="{}", seed=1, now_ms=at_ms)


def median_step_ms(at: list[float]) -> float:
    """Between one point in time and the next."""
    return statistics.median(b - a for a, b in itertools.pairwise(at)) * 1000


@asynccontextmanager
async def opened(size: int) -> AsyncIterator[Bench]:
    """PostgreSQL, sandboxes and permissions of a folder that is thrown away."""
    reaper = Reaper.start()
    with tempfile.TemporaryDirectory(prefix="pml-bench-") as folder:
        data_dir = Path(folder)
        (data_dir / "permissions.yaml").write_text(PERMISSIONS)
        permissions = load_permissions(data_dir / "permissions.yaml")
        key = LedgerKey.load(data_dir, os.environ)
        async with (
            Database.open(url=None, data_dir=data_dir) as database,
            SandboxPool(limits=Limits(), reaper=reaper, size=size) as pool,
        ):
            yield Bench(postgres_store(database, key), memory_store(), pool, permissions)
    reaper.close()


async def figures() -> dict[str, float]:
    """Everything but flatness."""
    async with opened(4) as bench:
        bare, memory, postgres = [], [], []
        for _ in range(3):  # in turn, so that all meet the same machine
            bare.append(await bench.bare_period_ms())
            memory.append(await bench.period_ms(bench.memory))
            postgres.append(await bench.period_ms(bench.store))
        found = {
            "call_p50_ms": statistics.median(postgres),
            "call_bare_sandbox_p50_ms": statistics.median(bare),
            "call_log_in_memory_p50_ms": statistics.median(memory),
            "overhead_p50_ms": statistics.median(postgres) - statistics.median(bare),
        }
        resumed, again = await bench.resume_s()
        found |= {"resume_1000_calls_s": resumed, "run_1000_calls_again_s": again}
        paused, straight = await bench.pause_ms()
        found |= {"pause_and_continue_ms": paused, "without_a_pause_ms": straight}
    for programs in PARALLEL:
        async with opened(programs) as bench:
            in_memory = await bench.calls_per_s(bench.memory, programs)
            found[f"calls_per_s_{programs}"] = await bench.calls_per_s(bench.store, programs)
            found[f"calls_per_s_{programs}_log_in_memory"] = in_memory
    return found


def footprint() -> dict[str, float]:
    """Of this process: memory, file handles, children."""
    process = psutil.Process()
    return {
        "rss_mb": process.memory_info().rss / 1e6,
        "handles": process.num_fds(),
        "children": len(process.children(recursive=True)),
    }


async def flatness() -> dict[str, float]:
    """The footprint after a warm-up and at the end of many runs."""
    async with opened(4) as bench:
        before: dict[str, float] = {}
        for number in range(FLAT_RUNS):
            one = await bench.one(LAYERS, bench.store)
            assert (await one.live(Ledger())).state is RunState.SUCCESS
            if number == FLAT_WARM_UP:
                await bench.pool.warm()
                before = footprint()
        await bench.pool.warm()
        after = footprint()
    grown = {f"{name}_after_{FLAT_RUNS}": value for name, value in after.items()}
    return {**{f"{name}_after_{FLAT_WARM_UP}": v for name, v in before.items()}, **grown}


def main() -> None:
    """Measure and print; the last line is one JSON object."""
    found = asyncio.run(flatness() if "--flat" in sys.argv[1:] else figures())
    print(f"programs of {CALLS} and {CALLS_EACH} writes, every intent committed before its call")
    print(json.dumps({name: round(value, 3) for name, value in found.items()}))


if __name__ == "__main__":
    main()
