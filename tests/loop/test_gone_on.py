"""What goes on later than it was meant to: a replan whose process died, a tool that changed."""

import msgspec
import pytest

from pml.domain.response import ExecuteRequest
from pml.domain.run import RunState
from pml.domain.steering import ContinueRequest, ReplanRequest
from pml.loop.ids import replanned_run_id
from pml.runtime.sandbox.pool import SandboxPool
from tests.loop.processes import ADA, a_process, a_world

pytestmark = pytest.mark.asyncio(loop_scope="module")

LAYERS = "await mcp.fs.write({ n: 1 }); return (await mcp.fs.read({ n: 2 })).n;"
NEW = "return [context.n1.n, (await mcp.fs.write({ n: 3 })).n];"


@pytest.mark.parametrize("after", [False, True])
async def test_a_replan_sent_again_begins_the_new_run_whoever_died_in_between(
    pool: SandboxPool, *, after: bool
) -> None:
    """EX-5: among the moments is that in which the old run has ended and no new one has begun."""
    operation, died, between = 0, True, 0
    while died:
        world = a_world(pool)
        first = await a_process(world, "a")
        request = ExecuteRequest(intent="test", code=LAYERS, per_layer_validation=True)
        paused = await first.act.execute(request)
        assert paused.workflow_id is not None
        replan = ReplanRequest(workflow_id=paused.workflow_id, code=NEW, per_layer_validation=False)
        first.die_at(operation, after=after)
        await first.do(first.steering.replan(replan, by=ADA))
        died = first.dead
        old = await world.store.runs.get(paused.workflow_id)
        roots = await world.store.runs.recent(9)
        between += old.state is RunState.ABORTED and len(roots) == 1
        second = await a_process(world, "b")
        await second.keeper.tend()
        await second.keeper.idle()
        answer = await second.steering.replan(replan, by=ADA)
        assert answer.workflow_id == replanned_run_id(old.id)
        if answer.status == "in_doubt":  # it died while the new run wrote
            assert died
        else:
            assert (answer.status, answer.result) == ("success", [1, 3]), (operation, answer.error)
        assert (await world.store.runs.get(old.id)).state is RunState.ABORTED
        sent = [arguments for tool, arguments in world.outside.requests if tool == "fs:write"]
        assert len(sent) == len(set(sent))
        operation += 1
    assert between > 0


async def test_a_tool_that_changed_while_its_run_waited_is_not_called(pool: SandboxPool) -> None:
    """HIL-5: what was done stays done; the call fails as any other."""
    world = a_world(pool)
    process = await a_process(world, "a")
    listed = world.outside.tools_by_server["fs"]
    await world.store.tool_schemas.replace("fs", listed)
    request = ExecuteRequest(intent="test", code=LAYERS, per_layer_validation=True)
    paused = await process.act.execute(request)
    assert paused.workflow_id is not None
    world.outside.tools_by_server["fs"] = tuple(
        msgspec.structs.replace(tool, description="Reads, and sends.")
        if tool.name == "read"
        else tool
        for tool in listed
    )
    await world.store.tool_schemas.replace("fs", world.outside.tools_by_server["fs"])
    later = await a_process(world, "b")
    answer = await later.steering.go_on(ContinueRequest(workflow_id=paused.workflow_id), by=ADA)
    assert answer.error is not None
    assert (answer.status, answer.error.code) == ("error", "quarantined")
    assert [tool for tool, _ in world.outside.requests] == ["fs:write"]
