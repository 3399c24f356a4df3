"""What goes wrong: SIGKILL, and SIGSTOP for longer than a lease, at moments that hurt."""

import asyncio
import json
import os
import signal
from collections import Counter
from collections.abc import Collection, Coroutine
from dataclasses import dataclass, field
from random import Random

import psutil

from tests.chaos import processes
from tests.chaos.evidence import Evidence
from tests.chaos.load import Load
from tests.chaos.site import LEASE_S, SERVERS, Served, Site

GONE_S = 10.0
"""What a killed process had started is gone by then; it takes milliseconds as a rule."""
_LOOK_S = 0.001
_AGAIN_S = 0.05
_VICTIM_S = 6.0
"""For a victim to come up: most kinds live below servers, which need seconds to start."""
_PATIENCE_S = 0.6
"""For a request to be seen, before the fault comes anyway."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One planned fault."""

    kind: str
    moment: str
    """``request``: right after some server counted one; ``soon``: while what was killed before
    is coming back; ``any``."""
    delay_ms: int


@dataclass(frozen=True, slots=True)
class Struck:
    """One fault that found its victim."""

    fault: Fault
    victim: str
    under_way: int
    """Requests of clients that the victim had a part in."""


def plan(random: Random, count: int, only: Collection[str] = ()) -> list[Fault]:
    """That many faults; ``only`` of these kinds, where any are named."""
    weights = {kind: weight for kind, weight in KINDS.items() if not only or kind in only}
    kinds = random.choices(list(weights), weights=list(weights.values()), k=count)
    return [
        Fault(
            kind,
            random.choices(("request", "soon", "any"), weights=(6, 2, 2))[0],
            random.choice((0, 0, 1, 3, 10, 25)),
        )
        for kind in kinds
    ]


KINDS = {  # the cheaper the recovery, the more often: most of a chaos is waiting for servers
    "upstream": 36,
    "sandbox": 24,
    "backend": 14,
    "server": 13,
    "postmaster": 6,
    "stop": 5,
    "both servers": 2,
}


@dataclass(slots=True)
class Faults:
    """Strikes."""

    site: Site
    servers: tuple[Served, ...]
    load: Load
    evidence: Evidence
    random: Random
    struck: list[Struck] = field(default_factory=list)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def strike(self, faults: list[Fault]) -> None:
        """One after the other; one whose victim is not there waits for it a while."""
        for fault in faults:
            hint = await self._moment(fault)
            await asyncio.sleep(fault.delay_ms / 1000)
            victims = {
                "upstream": self._upstream,
                "sandbox": self._sandbox,
                "server": self._server,
                "both servers": self._both,
                "backend": self._backend,
                "postmaster": self._postmaster,
                "stop": self._stop,
            }
            before = len(self.struck)
            deadline = asyncio.get_running_loop().time() + _VICTIM_S
            while len(self.struck) == before and asyncio.get_running_loop().time() < deadline:
                victims[fault.kind](fault, hint)
                await asyncio.sleep(0 if len(self.struck) > before else _AGAIN_S)

    async def calm(self) -> None:
        """Wait until nothing stands still any more, and all watches are over."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def kinds(self) -> Counter[str]:
        """How many of each kind found a victim."""
        return Counter(one.fault.kind for one in self.struck)

    # -- when --------------------------------------------------------------------------

    async def _moment(self, fault: Fault) -> int | None:
        """Wait for it; the process that counted the request, if that is what was waited for."""
        if fault.moment == "soon":
            await asyncio.sleep(self.random.uniform(0.02, 0.3))
            return None
        await asyncio.sleep(self.random.uniform(0.05, 0.5))
        if fault.moment == "any":
            return None
        sizes, loop = self._sizes(), asyncio.get_running_loop()
        deadline = loop.time() + _PATIENCE_S
        while loop.time() < deadline:
            await asyncio.sleep(_LOOK_S)
            for name, size in self._sizes().items():
                if size > sizes[name]:
                    return self._last(name)
        return None

    def _sizes(self) -> dict[str, int]:
        files = {name: self.site.counter(name) for name in SERVERS}
        return {name: file.stat().st_size if file.exists() else 0 for name, file in files.items()}

    def _last(self, name: str) -> int:
        """The process that counted last."""
        with self.site.counter(name).open("rb") as file:
            file.seek(-min(400, os.fstat(file.fileno()).st_size), os.SEEK_END)
            return int(json.loads(file.read().splitlines()[-1])["pid"])

    # -- what --------------------------------------------------------------------------

    def _upstream(self, fault: Fault, hint: int | None) -> None:
        for server in self._shuffled(hint):
            found = [each for each in self._below(server) if _is_upstream(each)]
            found.sort(key=lambda each: each.pid != hint)
            if self._kill(fault, found[:1], self.load.in_flight[server.name]):
                return

    def _sandbox(self, fault: Fault, hint: int | None) -> None:
        """The oldest one: those that are warm and wait are younger."""
        for server in self._shuffled(hint):
            found = [each for each in self._below(server) if processes.is_sandbox(each)]
            busy = len(found) > 1
            if self._kill(fault, found[:1], self.load.in_flight[server.name] if busy else 0):
                return

    def _server(self, fault: Fault, hint: int | None) -> None:
        for server in self._shuffled(hint):
            if self._kill_server(fault, server):
                return

    def _both(self, fault: Fault, hint: int | None) -> None:
        for server in self.servers:
            self._kill_server(fault, server)

    def _kill_server(self, fault: Fault, server: Served) -> bool:
        process = server.process
        if process is None:
            return False
        heirs = processes.below(process.pid)
        if not self._kill(fault, [process], self.load.in_flight[server.name]):
            return False
        self._later(self._watch(server.name, heirs))
        return True

    def _backend(self, fault: Fault, hint: int | None) -> None:
        postmaster = self.site.postmaster
        if postmaster is not None:
            found = [p for p in processes.below(postmaster.pid) if processes.is_backend(p)]
            self.random.shuffle(found)
            self._kill(fault, found[:1], self.load.in_flight.total())

    def _postmaster(self, fault: Fault, hint: int | None) -> None:
        if (postmaster := self.site.postmaster) is not None:
            self._kill(fault, [postmaster], self.load.in_flight.total())

    def _stop(self, fault: Fault, hint: int | None) -> None:
        for server in self._shuffled(hint):
            process = server.process
            if process is None or server.stopped or server.url is None:
                continue
            under_way = self.load.in_flight[server.name]
            if self._kill(fault, [process], under_way, signal.SIGSTOP):
                server.stopped = True
                self._later(self._wake(server, process))
                return

    async def _wake(self, server: Served, process: psutil.Process) -> None:
        await asyncio.sleep(LEASE_S * self.random.uniform(1.2, 2.0))
        server.stopped = False
        processes.signal_to(process, signal.SIGCONT)

    async def _watch(self, server: str, heirs: list[psutil.Process]) -> None:
        left = await asyncio.to_thread(processes.left_of, heirs, GONE_S)
        self.evidence.orphans += [f"{each} outlived server {server}" for each in left]

    # -- helpers -----------------------------------------------------------------------

    def _kill(
        self,
        fault: Fault,
        victims: list[psutil.Process],
        under_way: int,
        number: int = signal.SIGKILL,
    ) -> bool:
        for victim in victims:
            name = processes.command(victim)[:60]
            if processes.signal_to(victim, number):
                self.struck.append(Struck(fault, name, under_way))
                return True
        return False

    def _shuffled(self, hint: int | None) -> list[Served]:
        """The servers, the one first that sent the request of the hint."""
        found = list(self.servers)
        self.random.shuffle(found)
        if hint is not None:
            found.sort(key=lambda each: hint not in {p.pid for p in self._below(each)})
        return found

    def _below(self, server: Served) -> list[psutil.Process]:
        return [] if server.pid is None else processes.below(server.pid)

    def _later(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _is_upstream(process: psutil.Process) -> bool:
    return "upstream.py" in processes.command(process)
