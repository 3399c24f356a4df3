"""One whole chaos: load, faults in bursts, recovery after each, and what is left to judge.

A burst is some two dozen faults in quick succession, so that many of them hit a recovery from the
one before.  After each burst everything is let come back, and it is measured how long the runs
take that were under way; then a person answers what waits, until every run has ended.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random

from pml.store.database import Database
from pml.store.ledger_key import LedgerKey
from pml.store.postgres import postgres_store
from tests.chaos import processes
from tests.chaos.evidence import Evidence, read_requests, read_store
from tests.chaos.faults import Faults, Struck, plan
from tests.chaos.load import Load
from tests.chaos.programs import INNER
from tests.chaos.recovery import Watch
from tests.chaos.site import BOOT_S, Served, Site

AGENTS = 8
BURST = 25
ENDS_S = 300.0
"""For all runs to end after a burst, with somebody who answers; programs take seconds, on
a machine that has to do something else, minutes."""
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
    only: Collection[str] = ()
    """Kinds of faults; empty: all."""
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
            watch = Watch(store, servers, self.evidence.recoveries)
            async with _in_background(*(server.run() for server in servers), _reaping()):
                await self._up(servers)
                await self._teach(load)
                agents = [load.agent() for _ in range(AGENTS)]
                async with _in_background(watch.run(), load.person(), *agents):
                    await self._bursts(faults, load, watch)
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

    async def _bursts(self, faults: Faults, load: Load, watch: Watch) -> None:
        random = Random(f"{self.seed} plan")
        while len(faults.struck) < self.kills:
            load.begins = True
            watch.calm(now=False)
            count = min(BURST, self.kills - len(faults.struck))
            await faults.strike(plan(random, count, self.only))
            load.begins = False
            watch.calm(now=True)
            await faults.calm()
            await self._up(load.servers)
            with contextlib.suppress(TimeoutError):  # what has not ended then is judged
                async with asyncio.timeout(ENDS_S):
                    await watch.all_ended()
            left = watch.not_final
            how = f"{left} did not end" if left else "all have ended"
            self.say(f"{len(faults.struck)} kills, {load.started} runs were asked for: {how}")

    async def _up(self, servers: tuple[Served, ...]) -> None:
        async with asyncio.timeout(BOOT_S):
            while not all(server.serves for server in servers):  # noqa: ASYNC110  # other processes
                await asyncio.sleep(_LOOK_S)


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
