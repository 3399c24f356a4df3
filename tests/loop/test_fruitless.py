"""Runs that kill what runs them, each time at the same place: that comes to an end (EX-3, OP-4)."""

import pytest

from pml.domain.response import ExecuteRequest, ExecuteResponse
from pml.domain.run import Run, RunState
from pml.loop.fruitless import TRIES
from pml.loop.ids import child_run_id
from pml.loop.under_way import STUCK
from pml.runtime.sandbox.pool import SandboxPool
from tests.loop.processes import Process, Sandboxes, World, a_process, a_world
from tests.loop.test_sent_unheard import a_world_that_knows, the_root

pytestmark = pytest.mark.asyncio(loop_scope="module")

READS = "for (const n of [1, 2, 3]) await mcp.fs.read({ n }); return 'done';"
FEW = TRIES + 3
"""Servers that die one after the other; the last of them have nothing to do."""


async def serve(process: Process, code: str | None) -> ExecuteResponse:
    """What a server does: the program is asked for, or found."""
    if code is not None:
        return await process.act.execute(ExecuteRequest(intent="test", code=code))
    await process.keeper.tend()
    await process.keeper.idle()
    return ExecuteResponse(status="success")


async def servers_die_of_it(world: World, code: str, *, request: int, servers: int = FEW) -> Run:
    """The run, after so many servers that died at the request of that number from their start."""
    for number in range(servers):
        process = await a_process(world, f"server-{number}")
        process.die_unheard(request)
        await process.do(serve(process, code if number == 0 else None))
    return await the_root(world)


@pytest.mark.parametrize(
    "code", [READS, "return await capabilities.reads({});"], ids=["itself", "by a run it calls"]
)
async def test_a_run_that_kills_every_server_ends(pool: SandboxPool, code: str) -> None:
    world = await a_world_that_knows(pool)
    first = await a_process(world, "first")
    known = await first.act.execute(ExecuteRequest(intent="reads", code=READS))
    assert known.capability_id is not None
    await world.store.capabilities.rename(known.capability_id, "reads", now_ms=1)
    world.outside.requests.clear()
    run = await servers_die_of_it(world, code, request=0)
    assert run.state is RunState.ERROR
    assert f"interrupted {TRIES} times without getting any further" in run.reason
    assert len(world.outside.requests) <= TRIES + 1
    last = await a_process(world, "last")
    answer = await last.steering.status(run.id)
    assert answer.error is not None
    assert (answer.status, answer.error.message) == ("error", run.reason)
    children = await world.store.runs.children(run.id)
    assert [child.id for child in children] == [child_run_id(run.id, 0)] * len(children)
    assert all(child.state.final for child in children)


async def test_a_run_that_gets_further_each_time_goes_on_however_many_servers_die(
    pool: SandboxPool,
) -> None:
    world = a_world(pool)
    steps = 2 * TRIES
    code = f"let n = 0; while (n < {steps}) n = (await mcp.fs.read({{ n: n + 1 }})).n; return n;"
    run = await servers_die_of_it(world, code, request=1, servers=steps - 1)
    assert run.state is not RunState.ERROR
    last = await a_process(world, "last")
    await last.keeper.tend()
    await last.keeper.idle()
    answer = await last.steering.status(run.id)
    assert (answer.status, answer.result) == ("success", steps)


async def test_a_run_that_kills_every_sandbox_ends(pool: SandboxPool) -> None:
    """As where the kernel's out-of-memory killer takes it, each time."""
    world = a_world(pool)
    sandboxes = Sandboxes(pool, doomed=True)
    world.pool = sandboxes  # type: ignore[assignment]  # the part of it that is needed
    process = await a_process(world, "server-0")
    answer = await process.act.execute(ExecuteRequest(intent="test", code=READS))
    assert answer.error is not None
    assert (answer.status, answer.error.code) == ("error", "sandbox")
    assert sandboxes.given == STUCK + 1
    for number in range(1, 2 * FEW):
        process = await a_process(world, f"server-{number}")
        await process.keeper.tend()
        await process.keeper.idle()
    run = await the_root(world)
    assert run.state is RunState.ERROR
    assert "without getting any further" in run.reason
    assert sandboxes.given <= (STUCK + 1) * (2 * TRIES + 1)
    assert sandboxes.out == []
