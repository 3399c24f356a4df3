"""A nested run ends with its caller, whoever dies between the two (EX-3, EX-10)."""

import asyncio

import pytest

from pml.domain.response import ExecuteRequest
from pml.domain.run import Run
from pml.domain.steering import AbortRequest
from pml.runtime.sandbox.pool import SandboxPool
from tests.loop.processes import ADA, Process, World, a_process, a_world

pytestmark = pytest.mark.asyncio(loop_scope="module")

NEVER = 1_000_000
INNER = "return await mcp.fs.write({ step: 1 });"
OUTER = "return [await capabilities.middle({})];"


async def learn(process: Process, code: str, name: str) -> None:
    answer = await process.act.execute(ExecuteRequest(intent=name, code=code))
    assert answer.capability_id is not None, answer.error
    await process.act.store.capabilities.rename(answer.capability_id, name, now_ms=1)


async def a_death_two_levels_down(pool: SandboxPool) -> World:
    """A process dies while a write is under way in a run that a run called that a run called."""
    world = a_world(pool)
    process = await a_process(world, "dead")
    await learn(process, INNER, "inner")
    await learn(process, "return await capabilities.inner({});", "middle")
    process.die_unheard(0)
    assert await process.do(process.act.execute(ExecuteRequest(intent="test", code=OUTER))) is None
    assert [run.state for run in await the_runs(world)] == ["running"] * 3
    return world


async def the_runs(world: World) -> list[Run]:
    """The run that was asked for, and those below it."""
    runs = await world.store.runs.recent(20)
    return [run for run in runs if run.intent == "test" or run.parent_run_id is not None][:3]


async def tend(process: Process) -> None:
    await process.keeper.tend()
    await process.keeper.idle()


async def abort(process: Process, world: World) -> None:
    (root,) = [run for run in await the_runs(world) if run.parent_run_id is None]
    request = AbortRequest(workflow_id=root.id)
    await process.do(process.steering.abort(request, by=ADA))


async def test_who_dies_while_aborting_a_run_leaves_none_behind_that_it_called(
    pool: SandboxPool,
) -> None:
    operation, ended_early = 0, False
    while not ended_early:
        for after in (False, True):
            world = await a_death_two_levels_down(pool)
            first, second = await a_process(world, "a"), await a_process(world, "b")
            await tend(first)
            first.die_at(operation, after=after)
            await abort(first, world)
            ended_early = not first.dead
            await tend(second)
            await abort(second, world)
            await tend(second)
            stand = [run.state for run in await the_runs(world)]
            assert stand == ["aborted"] * 3, (operation, after)
        operation += 1
    assert operation > 3


async def test_who_aborts_a_run_while_another_recovers_what_it_called_leaves_none_behind(
    pool: SandboxPool,
) -> None:
    operation, ended_early = 0, False
    while not ended_early:
        world = await a_death_two_levels_down(pool)
        first, second = await a_process(world, "a"), await a_process(world, "b")
        first.stop_at(operation)
        aborts = asyncio.create_task(abort(first, world))
        stands_still = asyncio.create_task(first.stands_still())
        await asyncio.wait([aborts, stands_still], return_when=asyncio.FIRST_COMPLETED)
        ended_early = not stands_still.done()
        stands_still.cancel()
        await tend(second)
        first.wake()
        await aborts
        await tend(second)
        await abort(second, world)  # the run may have been found to be in doubt meanwhile
        await tend(second)
        assert all(run.state.final for run in await the_runs(world)), operation
        operation += 1
    assert operation > 3
