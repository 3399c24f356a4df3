"""A process that dies at any operation of its store: the run goes on in another (EX-3, OP-4).

For each program, the process is killed before and after every single operation; another one
finds the run, goes on with it, and a person decides about the writes that are in doubt.  Held:
no write is sent twice, nothing finished is lost, and the result is what it would have been.
"""

from collections import Counter

import pytest

from pml.domain.response import ExecuteRequest, ExecuteResponse
from pml.domain.run import Attempted, Issued, Run, RunState
from pml.domain.steering import ApprovalAnswer, ContinueRequest
from pml.runtime.sandbox.pool import SandboxPool
from tests.loop.processes import ADA, Process, World, a_process, a_world, see_through

pytestmark = pytest.mark.asyncio(loop_scope="module")

NEVER = 1_000_000
WRITES = {"fs:write", "fs:slow"}
INNER = "const r = await mcp.fs.write({ step: 'inner' }); return r.step + '!';"
PROGRAMS = {
    "one after the other": """
        const a = await mcp.fs.write({ step: 1 });
        const b = await mcp.fs.read({ step: 2 });
        const c = await mcp.fs.write({ step: 3 });
        return [a.step, b.step, c.step];""",
    "side by side": """
        const all = await Promise.all([1, 2, 3].map((step) => mcp.fs.write({ step })));
        return all.map((each) => each.step);""",
    "a race with a loser": """
        const racers = [mcp.fs.slow({ step: 1 }), mcp.fs.write({ step: 2 })];
        return (await Promise.race(racers)).step > 0;""",
    "timers and chance": """
        await mcp.fs.write({ step: 1 });
        await new Promise((f) => setTimeout(f, 5));
        return (await mcp.fs.write({ step: 2 })).step + Math.random();""",
    "an error that is caught": """
        try { await mcp.fs.fail({ step: 1 }); } catch (e) {
          await mcp.fs.write({ step: 2 });
          return e.code;
        }""",
    "a capability in it": """
        const a = await mcp.fs.write({ step: 1 });
        const b = await capabilities.inner({});
        return [a.step, b, (await mcp.fs.write({ step: 3 })).step];""",
    "layer by layer": """
        const a = await mcp.fs.write({ step: 1 });
        const b = await mcp.fs.write({ step: 2 });
        return [a.step, b.step];""",
}


async def begin(process: Process, name: str) -> ExecuteResponse | None:
    """Start the program; None: the process died meanwhile."""
    by_layer = name == "layer by layer"
    request = ExecuteRequest(intent="test", code=PROGRAMS[name], per_layer_validation=by_layer)
    return await process.do(process.act.execute(request))


async def learn(process: Process) -> None:
    """The capability that one of the programs calls."""
    answer = await process.act.execute(ExecuteRequest(intent="inner", code=INNER))
    assert answer.capability_id is not None, answer.error
    await process.act.store.capabilities.rename(answer.capability_id, "inner", now_ms=1)


async def the_run(world: World) -> Run | None:
    """The run that was asked for."""
    roots = [run for run in await world.store.runs.recent(10) if run.parent_run_id is None]
    found = [run for run in roots if run.intent == "test"]
    return found[0] if found else None


async def undisturbed(pool: SandboxPool, name: str) -> tuple[object, int]:
    """What the program returns, and in how many operations of the store."""
    world = a_world(pool)
    process = await a_process(world, "a")
    await learn(process)
    process.die_at(NEVER, after=False)
    answer = await begin(process, name)
    assert answer is not None
    while answer.status == "layer_complete":
        assert answer.workflow_id is not None
        answer = await process.steering.go_on(
            ContinueRequest(workflow_id=answer.workflow_id), by=ADA
        )
    assert answer.status == "success", answer.error
    assert process.left is not None
    return answer.result, NEVER - process.left


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
async def test_a_run_survives_the_death_of_its_process_at_any_moment(
    pool: SandboxPool, name: str, after: bool
) -> None:
    expected, operations = await undisturbed(pool, name)
    assert operations > 3
    for operation in range(operations):
        world = a_world(pool)
        first = await a_process(world, "a")
        await learn(first)
        world.outside.requests.clear()
        first.die_at(operation, after=after)
        answer = await begin(first, name)
        second = await a_process(world, "b")
        await second.keeper.tend()
        await second.keeper.idle()
        run = await the_run(world)
        if run is None:
            assert (answer, world.outside.requests) == (None, [])
            continue
        end = await see_through(world, second, run.id)
        assert (end.status, end.result) == ("success", expected), (operation, end.error)
        assert (await second.act.store.runs.get(run.id)).state is RunState.SUCCESS
        await nothing_is_amiss(world)


async def nothing_is_amiss(world: World) -> None:
    """No write was sent twice, and none without its intent in the log."""
    writes = Counter(each for each in world.outside.requests if each[0] in WRITES)
    assert set(writes.values()) <= {1}, writes
    intents: Counter[tuple[str, str]] = Counter()
    for run in await world.store.runs.recent(100):
        assert run.state is not RunState.RUNNING
        records = await world.store.run_log.read(run.id)
        calls = {r.call: (r.tool, r.arguments) for r in records if isinstance(r, Issued)}
        intents.update(calls[r.call] for r in records if isinstance(r, Attempted))
    assert all(count <= intents[call] for call, count in writes.items())


@pytest.mark.parametrize("after", [False, True])
async def test_what_needs_approval_can_be_approved_whoever_died_while_asking_or_answering(
    pool: SandboxPool, after: bool
) -> None:
    for operation in range(14):
        for while_answering in (False, True):
            world = a_world(pool)
            world.outside.needs_approval.add("fs:write")
            first = await a_process(world, "a")
            if not while_answering:
                first.die_at(operation, after=after)
            await begin(first, "one after the other")
            run = await the_run(world)
            if run is None:
                assert world.outside.requests == []
                continue
            yes = ApprovalAnswer(workflow_id=run.id, approved=True)
            if while_answering:
                first.die_at(operation, after=after)
                await first.do(first.steering.answer(yes, by=ADA))
            second = await a_process(world, "b")
            world.now_ms += 10_000
            if operation % 2:  # else the person is faster than the server
                await second.keeper.tend()
                await second.keeper.idle()
            while (await world.store.runs.get(run.id)).state is RunState.APPROVAL_REQUIRED:
                await second.steering.answer(yes, by=ADA)
            end = await see_through(world, second, run.id)
            assert (end.status, end.result) == ("success", [1, 2, 3]), (operation, end.error)
            await nothing_is_amiss(world)
