"""What the broker and its log cost: calls per second of 16 programs, and one log append.

Sandboxes, broker, ledger and PostgreSQL are the real ones; the server answers in process,
so that its own time does not count.  The same programs run twice in one go: with the log
in PostgreSQL, and with the log in memory (the named alternative).

Run:  .venv/bin/python experiments/bench/broker.py
"""

import asyncio
import json
import os
import statistics
import tempfile
import time
import uuid
from collections.abc import Iterable
from pathlib import Path

from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.permissions import ApprovalMode, Effect, Permission
from pml.domain.record import JsonText
from pml.domain.response import ExecuteRequest
from pml.domain.run import Outcome, Returned, Run, RunProgram, RunState
from pml.domain.tools import Tool
from pml.loop.act import Act
from pml.loop.library import Library
from pml.loop.means import Entropy
from pml.loop.places import Places
from pml.runtime.reaper import Reaper
from pml.runtime.sandbox.pool import SandboxPool
from pml.store.database import Database
from pml.store.ledger_key import LedgerKey
from pml.store.memory import memory_store
from pml.store.ports import Store
from pml.store.postgres import postgres_store

PROGRAMS = 16
CALLS = 100
APPENDS = 1_000
ROUNDS = 5
ECHO = Tool(server="here", name="echo")
CODE = f"for (let i = 0; i < {CALLS}; i++) await mcp.here.echo({{ i }});"


class InProcess:
    """A server that answers at once, in this process."""

    names = ("here",)

    def connect_soon(self, servers: Iterable[str]) -> None:
        """Connected already."""

    async def ready(self, server: str) -> None:
        """Always."""

    async def tools(self, server: str) -> tuple[Tool, ...]:
        """One."""
        return (ECHO,)

    def described(self, tool_id: str) -> Tool | None:
        """As it was listed."""
        return ECHO if tool_id == ECHO.id else None

    async def call(self, server: str, tool: str, arguments: JsonText) -> Outcome:
        """Echo."""
        return Returned(value=arguments)


class AllWrites:
    """Every call is a write that needs no approval: the dearest case."""

    def of(self, tool: Tool) -> Permission:
        """The same for all."""
        return Permission(tool=tool.id, effect=Effect.WRITE, approval_mode=ApprovalMode.AUTO)


def now_ms() -> int:
    """Unix time."""
    return time.time_ns() // 1_000_000


async def calls_per_s(store: Store, pool: SandboxPool) -> float:
    """Calls of all programs over the wall time of all."""
    await pool.warm()
    await store.tool_schemas.replace("here", (ECHO,))
    servers = InProcess()
    act = Act(
        store=store,
        library=Library(store, servers, clock=time.monotonic),
        servers=servers,
        sandboxes=pool,
        permissions=AllWrites(),
        entropy=Entropy(now_ms=now_ms, run_id=lambda: str(uuid.uuid4()), seed=lambda: 1),
        limits=Limits(),
        user_id="local",
        owner="bench",
        emit=lambda _: None,
        places=Places(Limits()),
    )
    request = ExecuteRequest(intent="echo many times", code=CODE, timeout_ms=120_000)
    started = time.perf_counter()
    answers = await asyncio.gather(*(act.execute(request) for _ in range(PROGRAMS)))
    elapsed = time.perf_counter() - started
    failed = [answer for answer in answers if answer.status != "success"]
    assert not failed, failed[0]
    return PROGRAMS * CALLS / elapsed


async def appends_ms(store: Store) -> list[float]:
    """One record and one commit each, one after the other."""
    run = Run(
        id=str(uuid.uuid4()),
        intent="append",
        state=RunState.RUNNING,
        source_hash="0",
        owner="bench",
        created_at_ms=now_ms(),
        updated_at_ms=now_ms(),
        timeout_ms=1,
    )
    program = RunProgram(source="", instrumented="", structure="{}", arguments={}, seed=1)
    await store.runs.create(run, program)
    ledger, times = Ledger(), []
    for _ in range(APPENDS):
        record = ledger.issue(
            site="n1", tool="here:echo", arguments="{}", effect=Effect.WRITE, at_ms=now_ms()
        )
        started = time.perf_counter()
        await store.run_log.append(run.id, [record], epoch=run.epoch)
        times.append((time.perf_counter() - started) * 1000)
    return times


async def main() -> None:
    """Measure and print; the last line is one JSON object."""
    reaper = Reaper.start()
    limits = Limits()
    with tempfile.TemporaryDirectory(prefix="pml-bench-") as folder:
        data_dir = Path(folder)
        key = LedgerKey.load(data_dir, os.environ)
        async with Database.open(url=None, data_dir=data_dir) as database:
            store = postgres_store(database, key)
            times = await appends_ms(store)
            async with SandboxPool(limits=limits, reaper=reaper, size=PROGRAMS) as pool:
                memory, postgres = [], []
                for _ in range(ROUNDS):  # in turn, so that both meet the same machine
                    memory.append(await calls_per_s(memory_store(), pool))
                    postgres.append(await calls_per_s(store, pool))
                in_memory, in_postgres = statistics.median(memory), statistics.median(postgres)
    reaper.close()
    p50 = statistics.median(times)
    print(f"{PROGRAMS} programs of {CALLS} writes each, every intent committed before its call")
    print(
        json.dumps(
            {
                "calls_per_s": round(in_postgres),
                "calls_per_s_log_in_memory": round(in_memory),
                "ratio_to_memory": round(in_postgres / in_memory, 2),
                "log_append_p50_ms": round(p50, 3),
                "log_append_p95_ms": round(statistics.quantiles(times, n=20)[-1], 3),
            }
        )
    )


if __name__ == "__main__":
    asyncio.run(main())
