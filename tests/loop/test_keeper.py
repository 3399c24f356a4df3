"""What a process does beside its runs: it ends when told, and a server cleans up (ST-7)."""

import asyncio
import dataclasses
from typing import Any

import pytest

from pml.domain.approval import Approval
from pml.domain.limits import Limits
from pml.domain.response import ExecuteRequest
from pml.loop.keeper import Keeper
from pml.loop.steering import Steering
from pml.runtime.sandbox.pool import SandboxPool
from pml.store.ports import Approvals
from tests.loop.processes import Process, a_process, a_world

pytestmark = pytest.mark.asyncio(loop_scope="module")


class HardOfHearing:
    """A port whose answer comes in the moment in which the question is cancelled."""

    def __init__(self, inner: Approvals) -> None:
        self._inner = inner
        self.asked, self.cancelled = asyncio.Event(), 0

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # any method
        return getattr(self._inner, name)

    async def expire(self, now_ms: int) -> tuple[Approval, ...]:
        self.asked.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            self.cancelled += 1
        return await self._inner.expire(now_ms)


async def test_a_keeper_ends_although_the_database_answers_a_cancelled_question(
    pool: SandboxPool,
) -> None:
    """As `asyncio.wait_for`, with which psycopg waits: the cancellation is lost."""
    process = await a_process(a_world(pool), "one")
    engine = process.act
    approvals = HardOfHearing(engine.store.approvals)
    store = dataclasses.replace(engine.store, approvals=approvals)
    steering = Steering(engine=dataclasses.replace(engine, store=store), alive=lambda _: True)

    async with asyncio.timeout(10):
        async with Keeper(steering, resumes=False):
            await approvals.asked.wait()
    assert approvals.cancelled == 1


@pytest.mark.parametrize("resumes", [True, False])
async def test_a_server_deletes_old_traces_when_it_starts(
    pool: SandboxPool, *, resumes: bool
) -> None:
    world = a_world(pool)
    world.limits = Limits(traces_kept=1)
    process: Process = world.process("one")
    for number in range(3):
        await process.act.execute(ExecuteRequest(intent="count", code=f"return {number};"))

    async with Keeper(process.steering, resumes=resumes):
        for _ in range(100):  # turns of the event loop: nothing here takes time
            await asyncio.sleep(0)
    assert len(await world.store.traces.recent(9)) == (1 if resumes else 3)
