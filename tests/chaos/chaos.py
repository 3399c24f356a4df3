"""One whole chaos: load, faults in bursts, recovery after each, and what is left to judge.

A burst is some two dozen faults in quick succession, so that many of them hit a recovery from the
one before.  After each burst everything is let come back, and it is measured how long the runs
take that were under way; then a person answers what waits, until every run has ended.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from pml.domain.run import Run, RunState
from pml.errors import StoreError
from pml.store.database import Database
from pml.store.ledger_key import LedgerKey
from pml.store.ports import Store
from pml.store.postgres import postgres_store
from tests.chaos import processes
from tests.chaos.evidence import ALL, Evidence, Recovery, read_requests, read_store, roots
from tests.chaos.faults import Faults, Struck, plan
from tests.chaos.load import Load
from tests.chaos.programs import INNER
from tests.chaos.site import BOOT_S, Served, Site

AGENTS = 8
BURST = 25
ENDS_S = 300.0
"""For all runs to end after a burst, with somebody who answers; programs take seconds, on
a machine that has to do something else, minutes."""
SLOW_S = 3.0
"""A recovery that took longer is told with its run, to be looked up in the servers' logs."""
_LOOK_S = 0.05
_REAP_S = 0.5
_LEFT_S = 15.0
"""For PostgreSQL and its supervisor to end once nobody needs them."""


@dataclass(slots=True)
class Outcome:
    """What a chaos comes to."""

    evidence: Evidence
    struck: list[Struck]
    load: Load
    starts: int = 0
    """How often servers were started."""


@dataclass(slots=True)
class Chaos:
    """Makes one."""

    site: Site
    seed: str
    kills: int
    say: Callable[[str], None]
    evidence: Evidence = field(default_factory=Evidence)

    async def run(self) -> Outcome:
        """All of it.

        Raises:
            TimeoutError: the servers do not come up.
        """
        processes.adopt_orphans()
        await asyncio.to_thread(self.site.database.start)
        try:
            outcome = await self._with_database()
        finally:
            await asyncio.to_thread(self.site.database.close)
        everything = processes.below(os.getpid())
        left = await asyncio.to_thread(processes.left_of, everything, _LEFT_S)
        self.evidence.orphans += [f"{each} is left in the end" for each in left]
        return outcome

    async def _with_database(self) -> Outcome:
        key = LedgerKey.load(self.site.folder, {})
        database = Database.open(url=self.site.url, data_dir=self.site.folder, user_id="local")
        async with database as opened:
            store = postgres_store(opened, key)
            servers = (Served(self.site, "one"), Served(self.site, "two"))
            load = Load(servers, store, self.evidence, Random(f"{self.seed} load"))
            faults = Faults(self.site, servers, load, self.evidence, Random(f"{self.seed} faults"))
            async with _in_background(*(server.run() for server in servers), _reaping()):
                await self._up(servers)
                await self._teach(load)
                async with _in_background(load.person(), *(load.agent() for _ in range(AGENTS))):
                    await self._bursts(faults, load)
            self.evidence.requests = read_requests(self.site)
            self.evidence.kept = await read_store(store)
        starts = sum(server.starts for server in servers)
        return Outcome(self.evidence, faults.struck, load, starts)

    async def _teach(self, load: Load) -> None:
        """Let the capability be learned that programs call."""
        options = {"args": {"id": "taught"}}
        arguments = {"intent": "chaos inner", "code": INNER, "options": options}
        answer = await load.ask("pml_execute", arguments, load.servers[0])
        assert answer is not None
        assert answer["status"] == "success", answer
        load.capability = (await load.store.capabilities.get(answer["capabilityId"])).name

    async def _bursts(self, faults: Faults, load: Load) -> None:
        random = Random(f"{self.seed} plan")
        burst = 0
        while (left := self.kills - len(faults.struck)) > 0:
            burst += 1
            load.begins = True
            await faults.strike(plan(random, min(BURST, left)))
            load.begins = False
            last = ", ".join(one.fault.kind for one in faults.struck[-3:])
            took = await self._recovered(load)
            await faults.calm()
            await self._up(load.servers)
            await self._all_end(load.store)
            slowest = max((one.took_s for one in took), default=0.0)
            self.say(
                f"burst {burst}: {len(faults.struck)} kills, {load.started} runs; "
                f"{len(took)} runs were under way, all recovered {slowest:.1f} s after "
                f"the end ({last})"
            )

    async def _up(self, servers: tuple[Served, ...]) -> None:
        async with asyncio.timeout(BOOT_S):
            while not all(server.serves for server in servers):  # noqa: ASYNC110  # other processes
                await asyncio.sleep(_LOOK_S)

    async def _recovered(self, load: Load) -> list[Recovery]:
        """How long each run that is under way takes until somebody has it, once PML is back.

        PML is back when one server takes requests and the database answers: any server goes on
        with any run.
        """
        while not any(server.serves for server in load.servers):  # noqa: ASYNC110  # processes
            await asyncio.sleep(_LOOK_S)
        under_way = await self._patiently(lambda: self._not_final(load.store))
        loop, took = asyncio.get_running_loop(), dict[str, Recovery]()
        back = loop.time()
        while len(took) < len(under_way):
            now_s = loop.time() - back
            here = [server for server in load.servers if server.serves]
            pids = {str(server.pid) for server in here}
            runs = await self._patiently(lambda: self._not_final(load.store))
            adrift = {run.id for run in runs if not _in_hands(run, pids)} - took.keys()
            boot_s = max((server.boot_s for server in here), default=0.0)
            for run in under_way:
                if run.id not in took and (run.id not in adrift or now_s > ENDS_S):
                    took[run.id] = Recovery(run.id, now_s, boot_s)
            await asyncio.sleep(_LOOK_S)
        found = list(took.values())
        for one in found:
            if one.took_s > SLOW_S:
                self.say(f"run {one.run_id} was without a server for {one.took_s:.1f} s")
        self.evidence.recoveries += found
        return found

    async def _all_end(self, store: Store) -> None:
        """Wait for every run to end; what does not is judged later."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ENDS_S):
                while await self._patiently(lambda: self._not_final(store)):  # noqa: ASYNC110
                    await asyncio.sleep(_LOOK_S)

    async def _not_final(self, store: Store) -> list[Run]:
        return [run for run in roots(await store.runs.recent(ALL)) if not run.state.final]

    async def _patiently(self, ask: Callable[[], Awaitable[list[Run]]]) -> list[Run]:
        """The answer, once the database gives one."""
        while True:
            try:
                return await ask()
            except StoreError:
                await asyncio.sleep(_LOOK_S)


def _in_hands(run: Run, pids: set[str]) -> bool:
    """Whether a living server runs it, or it waits for the person."""
    if run.state is RunState.RUNNING:
        return run.owner.split("/")[3] in pids
    return run.state is not RunState.INTERRUPTED


async def _reaping() -> None:
    while True:
        processes.reap()
        await asyncio.sleep(_REAP_S)


@asynccontextmanager
async def _in_background(*works: Awaitable[None]) -> AsyncIterator[None]:
    """Do them until the block ends; one that fails ends the block."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_as_task(work)) for work in works]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()


async def _as_task(work: Awaitable[None]) -> None:
    await work


async def make(folder: Path, *, seed: str, kills: int, say: Callable[[str], None]) -> Outcome:
    """One chaos in ``folder``."""
    return await Chaos(Site.make(folder), seed, kills, say).run()
