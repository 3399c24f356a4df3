"""A run that shall go on, before a process that waits for a sandbox has it (EX-5, OP-4)."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
import pytest_asyncio

from pml.domain.approval import Principal, Role
from pml.domain.permissions import Effect
from pml.domain.response import ExecuteRequest, ExecuteResponse
from pml.domain.run import RunState
from pml.domain.steering import AbortRequest, ContinueRequest
from pml.loop.act import Act
from pml.loop.keeper import Keeper
from pml.loop.steering import Steering
from pml.runtime.plan import Sandbox
from pml.runtime.sandbox.pool import SandboxPool
from tests.loop.outside import Outside, echo

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENT = Principal(name="claude", role=Role.AGENT)
LAYERS = "await mcp.fs.read({ step: 1 }); return await mcp.fs.read({ step: 2 });"


@dataclass
class Queue:
    """A real pool whose sandboxes are handed out when the test says so."""

    pool: SandboxPool
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    served: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def checkout(self) -> AsyncIterator[Sandbox]:
        self.asked.set()
        await self.served.wait()
        async with self.pool.checkout() as sandbox:
            yield sandbox


@dataclass
class Waiting:
    """A paused run that a process was asked to continue."""

    steering: Steering
    run_id: str
    queue: Queue
    continuing: "asyncio.Task[ExecuteResponse]"


@pytest_asyncio.fixture(loop_scope="module")
async def waiting(act: Act, pool: SandboxPool, outside: Outside) -> Waiting:
    outside.offer("fs:read", echo, Effect.READ)
    paused = await act.execute(
        ExecuteRequest(intent="test", code=LAYERS, per_layer_validation=True)
    )
    assert paused.workflow_id is not None
    queue = Queue(pool)
    engine = dataclasses.replace(act, sandboxes=queue, under_way=type(act.under_way)())
    steering = Steering(engine=engine, alive=lambda _: True)
    request = ContinueRequest(workflow_id=paused.workflow_id)
    continuing = asyncio.create_task(steering.go_on(request, by=AGENT))
    await queue.asked.wait()
    return Waiting(steering, paused.workflow_id, queue, continuing)


async def test_to_abort_it_then_is_its_end(waiting: Waiting) -> None:
    ended = await waiting.steering.abort(AbortRequest(workflow_id=waiting.run_id), by=AGENT)
    assert ended.status == "aborted"
    assert (await waiting.continuing).status in ("layer_complete", "aborted")


async def test_who_continues_it_is_told_that_another_process_has_it_by_now(
    waiting: Waiting,
) -> None:
    store, now_ms = waiting.steering.engine.store, waiting.steering.engine.entropy.now_ms()
    await store.leases.renew("there", ttl_s=60)
    run = await store.runs.claim(
        await store.runs.get(waiting.run_id), owner="there", now_ms=now_ms, started_at_ms=now_ms
    )
    assert run.state is RunState.RUNNING
    await Keeper(waiting.steering, resumes=False).tend()
    waiting.queue.served.set()
    told = await waiting.continuing
    assert told.error is not None
    assert told.error.code == "under_way"
