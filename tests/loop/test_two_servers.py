"""Two servers over one PostgreSQL that want the same run: one gets it (EX-3, EX-5, OP-4)."""

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from pml.domain.response import ExecuteRequest, ExecuteResponse
from pml.domain.steering import ContinueRequest, DoubtAction, Resolution
from pml.runtime.sandbox.pool import SandboxPool
from pml.store.database import Database
from pml.store.ledger_key import LedgerKey
from pml.store.postgres import postgres_store
from tests.loop.outside import lose
from tests.loop.processes import ADA, Process, World, a_process, a_world, see_through

pytestmark = pytest.mark.asyncio(loop_scope="module")

LAYERS = """
  const a = await mcp.fs.write({ step: 1 });
  const b = await mcp.fs.write({ step: 2 });
  const c = await mcp.fs.write({ step: 3 });
  return [a.step, b.step, c.step];
"""


@pytest_asyncio.fixture(loop_scope="module")
async def world(pool: SandboxPool, postgres_dir: Path) -> AsyncIterator[World]:
    user_id, key = f"test-{secrets.token_hex(8)}", LedgerKey(bytes(32), "the test")
    opened = Database.open(url=None, data_dir=postgres_dir, user_id=user_id)
    async with opened as database:
        world = a_world(pool)
        world.store = postgres_store(database, key)
        yield world


async def both(
    servers: tuple[Process, Process], request: ContinueRequest
) -> tuple[ExecuteResponse, ExecuteResponse]:
    first, second = await asyncio.gather(
        *(server.steering.go_on(request, by=ADA) for server in servers)
    )
    return first, second


async def test_each_layer_goes_once_whoever_continues(world: World) -> None:
    servers = (await a_process(world, "a"), await a_process(world, "b"))
    answer = await servers[0].act.execute(
        ExecuteRequest(intent="test", code=LAYERS, per_layer_validation=True)
    )
    for layer in (1, 2):
        assert (answer.status, answer.pending_layer) == ("layer_complete", layer)
        assert answer.workflow_id is not None
        request = ContinueRequest(
            workflow_id=answer.workflow_id, checkpoint_id=answer.checkpoint_id
        )
        for said in await both(servers, request):
            done = said.status == ("layer_complete" if layer == 1 else "success")
            assert done or (said.error is not None and said.error.code == "under_way")
        assert len(world.outside.requests) == layer + 1
        answer = await servers[1].steering.status(answer.workflow_id)
    assert (answer.status, answer.result) == ("success", [1, 2, 3])


async def test_a_retry_that_both_are_asked_for_is_sent_once(world: World) -> None:
    servers = (await a_process(world, "a"), await a_process(world, "b"))
    world.outside.answers["fs:write"] = lose
    stopped = await servers[0].act.execute(
        ExecuteRequest(intent="test", code="return await mcp.fs.write({ step: 1 });")
    )
    assert stopped.workflow_id is not None
    request = ContinueRequest(
        workflow_id=stopped.workflow_id,
        checkpoint_id=stopped.checkpoint_id,
        resolutions=(Resolution(task_id="n1", action=DoubtAction.RETRY),),
    )
    await both(servers, request)
    await both(servers, request)
    assert len(world.outside.requests) == 2


async def test_a_run_that_a_dead_server_left_goes_on_in_one_of_the_others(world: World) -> None:
    for moment in range(0, 12, 2):
        world.outside.requests.clear()
        dying = await a_process(world, f"dying-{moment}")
        dying.die_at(moment, after=True)
        await dying.do(dying.act.execute(ExecuteRequest(intent=f"test {moment}", code=LAYERS)))
        servers = (await a_process(world, "a"), await a_process(world, "b"))
        await asyncio.gather(*(server.keeper.tend() for server in servers))
        await asyncio.gather(*(server.keeper.idle() for server in servers))
        found = [r for r in await world.store.runs.recent(1) if r.intent == f"test {moment}"]
        if not found:
            assert world.outside.requests == []
            continue
        answer = await see_through(world, servers[0], found[0].id)
        assert (answer.status, answer.result) == ("success", [1, 2, 3])
        assert set(Counter(world.outside.requests).values()) == {1}
