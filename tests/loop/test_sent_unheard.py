"""A write that was sent, and whose process died before the answer came (EX-3, design, rule 7).

It is never sent again unless somebody says so: at the root and below it, whoever looks after
the run, continues it or tries to resume it, and whichever process dies on the way.
"""

import pytest

from pml.domain.approval import Principal, Role
from pml.domain.response import ExecuteRequest, ExecuteResponse
from pml.domain.run import Run
from pml.domain.steering import ContinueRequest, DoubtAction, Resolution
from pml.runtime.sandbox.pool import SandboxPool
from tests.loop.processes import ADA, Process, World, a_process, a_world

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENT = Principal(name="claude", role=Role.AGENT)
INNER = "return (await mcp.fs.write({ step: args.step ?? 0 })).step;"
MIDDLE = "return await capabilities.inner({ step: args.step ?? 0 });"
PROGRAMS = {
    "at the root": ("return (await mcp.fs.write({ step: 1 })).step;", ["n1"]),
    "after a write that is finished": (
        "await mcp.fs.read({}); return (await mcp.fs.write({ step: 1 })).step;",
        ["n2"],
    ),
    "in a run that it calls": ("return await capabilities.inner({ step: 1 });", ["n1/n1"]),
    "two levels down": ("return await capabilities.middle({ step: 1 });", ["n1/n1/n1"]),
}


async def a_world_that_knows(pool: SandboxPool) -> World:
    """With two capabilities, one of which calls the other."""
    world = a_world(pool)
    first = await a_process(world, "first")
    for name, code in (("inner", INNER), ("middle", MIDDLE)):
        answer = await first.act.execute(ExecuteRequest(intent=name, code=code))
        assert answer.capability_id is not None, answer.error
        await world.store.capabilities.rename(answer.capability_id, name, now_ms=1)
    world.outside.requests.clear()
    return world


def writes(world: World) -> int:
    return [tool for tool, _ in world.outside.requests].count("fs:write")


async def the_root(world: World) -> Run:
    (run,) = [r for r in await world.store.runs.recent(20) if r.intent == "test"]
    return run


async def killed_while_it_wrote(world: World, code: str) -> Run:
    """The run, whose write took effect; nobody heard so."""
    process = await a_process(world, "killed")
    process.die_unheard(code.count("mcp.fs.read"))
    request = ExecuteRequest(intent="test", code=code)
    assert await process.do(process.act.execute(request)) is None
    assert writes(world) == 1
    return await the_root(world)


async def everything_unasked(process: Process, root: Run) -> None:
    """Whatever a process and an agent do to a run without deciding about its write."""
    steering = process.steering
    for _ in range(2):
        await process.keeper.tend()
        await process.keeper.idle()
    answer = await steering.status(root.id)
    for checkpoint_id in (None, answer.checkpoint_id):
        request = ContinueRequest(workflow_id=root.id, checkpoint_id=checkpoint_id)
        answer = await steering.go_on(request, by=AGENT)
        assert answer.status == "in_doubt"
    for run in await process.world.store.runs.recent(20):
        if not run.state.final:
            await steering.resume_interrupted(run)


@pytest.mark.parametrize("name", PROGRAMS)
async def test_it_is_not_sent_again_unasked(pool: SandboxPool, name: str) -> None:
    code, paths = PROGRAMS[name]
    world = await a_world_that_knows(pool)
    root = await killed_while_it_wrote(world, code)
    for server in ("b", "c"):
        await everything_unasked(await a_process(world, server), root)
        assert writes(world) == 1
    third = await a_process(world, "d")
    stands = await third.steering.status(root.id)
    assert (stands.status, [task.task_id for task in stands.in_doubt]) == ("in_doubt", paths)


async def test_it_is_not_sent_again_unasked_whenever_its_rescuer_dies(pool: SandboxPool) -> None:
    code, paths = PROGRAMS["in a run that it calls"]
    operations = 0
    survived = False
    while not survived:
        world = await a_world_that_knows(pool)
        root = await killed_while_it_wrote(world, code)
        rescuer = await a_process(world, "rescuer")
        rescuer.die_at(operations, after=True)
        survived = await _tends(rescuer)
        last = await a_process(world, "last")
        await _tends(last)
        await _tends(last)
        assert writes(world) == 1, operations
        stands = await last.steering.status(root.id)
        assert [task.task_id for task in stands.in_doubt] == paths, operations
        operations += 1
    assert operations > 5


async def _tends(process: Process) -> bool:
    """One round of the keeper; False: it died on the way."""

    async def round_() -> ExecuteResponse:
        await process.keeper.tend()
        await process.keeper.idle()
        return ExecuteResponse(status="success")

    await process.do(round_())
    return not process.dead


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(
    ("action", "sent"), [(DoubtAction.RETRY, 2), (DoubtAction.RESULT, 1), (DoubtAction.SKIP, 1)]
)
async def test_it_is_sent_again_as_often_as_somebody_says(
    pool: SandboxPool, name: str, action: DoubtAction, sent: int
) -> None:
    code, (path,) = PROGRAMS[name]
    world = await a_world_that_knows(pool)
    root = await killed_while_it_wrote(world, code)
    process = await a_process(world, "b")
    await process.keeper.tend()
    await process.keeper.idle()
    decided = Resolution(task_id=path, action=action)
    if action is DoubtAction.RESULT:
        decided = Resolution(task_id=path, action=action, result={"step": 1})
    request = ContinueRequest(workflow_id=root.id, resolutions=(decided,))
    for _ in range(2):
        answer = await process.steering.go_on(request, by=ADA)
        assert answer.status == ("error" if action is DoubtAction.SKIP else "success")
        assert writes(world) == sent
