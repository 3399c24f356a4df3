"""How long runs are without anybody: watched all the time, judged while nothing is killed.

A run is adrift when it is interrupted, or its process is gone or stands still.  The clock runs
while PML is up, that is while one server takes requests and the database answers: any server goes
on with any run.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from pml.domain.run import Run, RunState
from pml.errors import StoreError
from pml.store.ports import Store
from tests.chaos.evidence import ALL, Recovery, roots
from tests.chaos.site import Served

_LOOK_S = 0.05


@dataclass(slots=True)
class Watch:
    """Looks at every run again and again."""

    store: Store
    servers: tuple[Served, ...]
    recoveries: list[Recovery]
    not_final: int = 0
    """Runs that have not ended, at the last look."""
    looks: int = 0
    """Times at which the database answered."""
    _calm: bool = False
    _since: dict[str, float] = field(default_factory=dict)
    """Runs that are adrift, and from when on."""

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            try:
                self._look(await self.store.runs.recent(ALL))
                self.looks += 1
            except StoreError:
                self._since.clear()
            await asyncio.sleep(_LOOK_S)

    def calm(self, *, now: bool) -> None:
        """From now on nothing is killed, or no longer so."""
        self._calm = now
        self._since.clear()  # what is adrift now has been hurt until now

    async def all_ended(self) -> None:
        """Return when no run is left that has not ended."""
        before = self.looks
        while self.looks <= before + 1 or self.not_final:  # noqa: ASYNC110  # other processes
            await asyncio.sleep(_LOOK_S)

    def _look(self, runs: Sequence[Run]) -> None:
        not_final = [run for run in runs if not run.state.final]
        self.not_final = len(not_final)
        up = [server for server in self.servers if server.serves]
        if not up:
            self._since.clear()
            return
        pids, now_s = {str(server.pid) for server in up}, asyncio.get_running_loop().time()
        adrift = {run.id for run in roots(not_final) if not _in_hands(run, pids)}
        boot_s = max(server.boot_s for server in up)
        for run_id in self._since.keys() - adrift:
            took_s = now_s - self._since.pop(run_id)
            self.recoveries.append(Recovery(run_id, took_s, boot_s, self._calm))
        for run_id in adrift - self._since.keys():
            self._since[run_id] = now_s


def _in_hands(run: Run, pids: set[str]) -> bool:
    """Whether a living server runs it, or it waits for the person."""
    if run.state is RunState.RUNNING:
        return run.owner.split("/")[3] in pids
    return run.state is not RunState.INTERRUPTED
