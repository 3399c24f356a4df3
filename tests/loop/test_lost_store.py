"""A database that is lost at any operation: nothing that was told is lost (EX-3, OP-4, ST-5)."""

import asyncio

import pytest

from pml.domain.ledger import Ledger
from pml.domain.record import JsonText
from pml.domain.response import ExecuteError, ExecuteRequest, ExecuteResponse
from pml.domain.run import Outcome, Returned, RunState
from pml.domain.steering import ContinueRequest, DoubtAction, Resolution
from pml.errors import LogOrderError, StoreError
from pml.runtime.ending import Ending
from pml.runtime.sandbox.pool import SandboxPool
from tests.loop.outside import lose
from tests.loop.processes import ADA, Process, World, a_process, a_world, see_through
from tests.loop.test_crashes import begin, learn, nothing_is_amiss, the_run, undisturbed

pytestmark = pytest.mark.asyncio(loop_scope="module")

AT_ONCE = 8


async def told_is_kept(world: World, answer: ExecuteResponse) -> None:
    """Every task of an answer is in the log, with its outcome if it was said to have one."""
    assert answer.workflow_id is not None
    if answer.error is not None and answer.error.code == "store_unavailable":
        assert answer.checkpoint_id is None  # a stop that nobody else may know of
    ledger = Ledger(await world.store.run_log.read(answer.workflow_id))
    outcomes = {call.issued.task_id: call.outcome for call in ledger.calls}
    for task in answer.tasks:
        assert task.task_id in outcomes
        assert not task.success or isinstance(outcomes[task.task_id], Returned)


async def told(process: Process, name: str) -> ExecuteResponse | None:
    """What is answered; None where the store was lost before there was anything to tell."""
    try:
        return await begin(process, name)
    except StoreError:
        return None


async def lost_at(
    pool: SandboxPool, name: str, operation: int, expected: object, *, after: bool, dies: bool
) -> None:
    world = a_world(pool)
    first = await a_process(world, "a")
    await learn(first)
    world.outside.requests.clear()
    first.lose_store_at(operation, after=after)
    answer = await told(first, name)
    if dies:
        first.kill()
    first.has_store_again()
    if answer is not None and answer.tasks:
        await told_is_kept(world, answer)
    goes_on = await a_process(world, "b") if dies else first
    await goes_on.keeper.tend()
    await goes_on.keeper.idle()
    run = await the_run(world)
    if run is None:
        assert world.outside.requests == []
        return
    stands = await goes_on.act.store.runs.get(run.id)
    if stands.state is not RunState.ERROR:  # it was lost while the run was created
        end = await see_through(world, goes_on, run.id)
        assert (end.status, end.result) == ("success", expected), (operation, end.error)
    await nothing_is_amiss(world)


@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("name", ["one after the other", "layer by layer", "a capability in it"])
async def test_a_run_survives_the_loss_of_its_database_at_any_moment(
    pool: SandboxPool, name: str, *, after: bool, dies: bool
) -> None:
    """And nothing is told that is not kept, though its process may die before it is back."""
    expected, operations = await undisturbed(pool, name)
    places = asyncio.Semaphore(AT_ONCE)  # most of the time is spent waiting for the database

    async def one(operation: int) -> None:
        async with places:
            await lost_at(pool, name, operation, expected, after=after, dies=dies)

    async with asyncio.TaskGroup() as group:
        for operation in range(operations):
            group.create_task(one(operation))


async def test_an_interrupted_run_whose_log_waits_is_told_as_waiting_before_it_goes_on(
    pool: SandboxPool,
) -> None:
    """The database was lost in the moment in which it paused: its layer is not let go unseen."""
    world = a_world(pool)
    process = await a_process(world, "a")
    paused = await begin(process, "layer by layer")
    assert paused is not None
    assert (paused.status, paused.workflow_id is None) == ("layer_complete", False)
    assert paused.workflow_id is not None
    runs = world.store.runs

    async def interrupt() -> None:
        run = await runs.claim(await runs.get(paused.workflow_id or ""), owner="a", now_ms=9)
        await runs.move(run.id, RunState.INTERRUPTED, now_ms=9, epoch=run.epoch)

    sent = len(world.outside.requests)
    await interrupt()
    request = ContinueRequest(workflow_id=paused.workflow_id)
    answer = await process.steering.go_on(request, by=ADA)
    assert (answer.status, answer.checkpoint_id) == ("layer_complete", paused.checkpoint_id)
    await interrupt()
    await process.keeper.tend()
    await process.keeper.idle()
    assert (await runs.get(paused.workflow_id)).state is RunState.PAUSED
    assert len(world.outside.requests) == sent
    assert (await process.steering.go_on(request, by=ADA)).status == "success"
    assert len(world.outside.requests) == sent + 1


async def test_who_decides_about_an_interrupted_run_is_heard(pool: SandboxPool) -> None:
    """Its log says that it is in doubt, and whoever decides knows."""
    world = a_world(pool)
    process = await a_process(world, "a")
    process.die_unheard(0)
    assert await begin(process, "one after the other") is None
    other = await a_process(world, "b")
    run = await the_run(world)
    assert run is not None
    claimed = await world.store.runs.claim(run, owner="b", now_ms=9)
    await world.store.runs.move(run.id, RunState.INTERRUPTED, now_ms=9, epoch=claimed.epoch)
    decided = Resolution(task_id="n1", action=DoubtAction.RESULT, result={"step": 1})
    request = ContinueRequest(workflow_id=run.id, resolutions=(decided,))
    answer = await other.steering.go_on(request, by=ADA)
    assert (answer.status, answer.result) == ("success", [1, 2, 3])


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (StoreError("the database was lost"), "store_unavailable", "Once the database is back"),
        (LogOrderError(3, "it is damaged"), "not_closed", "PML itself failed (LogOrderError)"),
        (ValueError("a bug"), "not_closed", "PML itself failed (ValueError)"),
    ],
)
async def test_a_run_that_is_stopped_and_cannot_be_closed_is_not_told_as_ended(
    pool: SandboxPool, error: Exception, code: str, says: str
) -> None:
    """It is told why, and closed as soon as it can be."""

    async def hang(_tool: str, _arguments: JsonText) -> Outcome:
        await asyncio.Event().wait()
        raise AssertionError

    world = a_world(pool)
    process = await a_process(world, "a")
    world.outside.answers["fs:read"] = hang
    program = "return await mcp.fs.read({});"
    execute = process.act.execute(ExecuteRequest(intent="test", code=program))
    running = asyncio.create_task(process.do(execute))
    await world.outside.called.wait()
    process.lose_store_at(0, after=False, error=error)
    (stint,) = process.act.under_way
    stint.stop(Ending(state=RunState.ABORTED, error=ExecuteError(code="aborted", message="enough")))
    answer = await running
    assert answer is not None
    assert answer.error is not None
    assert (answer.status, answer.error.code, answer.trace_id) == ("error", code, None)
    assert says in answer.error.message
    assert "do not send it again" in answer.error.message
    process.has_store_again()
    await process.keeper.tend()
    run = await the_run(world)
    assert run is not None
    assert run.state is RunState.ABORTED


async def test_a_doubt_that_was_not_kept_is_told_without_the_id_of_a_stop(
    pool: SandboxPool,
) -> None:
    """Another process counts other records, so it would not know the id."""

    async def lost_in_doubt(operation: int) -> ExecuteResponse:
        world = a_world(pool)
        world.outside.answers["fs:write"] = lose
        process = await a_process(world, "a")
        process.lose_store_at(operation, after=False)
        code = "await Promise.all([mcp.fs.slow({ step: 1 }), mcp.fs.write({ step: 2 })]);"
        return await process.act.execute(ExecuteRequest(intent="test", code=code))

    answers = await asyncio.gather(*map(lost_in_doubt, range(4, 14)))
    doubts = [each for each in answers if each.status == "in_doubt"]
    codes = {each.error.code for each in doubts if each.error is not None}
    assert "store_unavailable" in codes
    for doubt in doubts:
        assert doubt.error is not None
        assert (doubt.checkpoint_id is None) == (doubt.error.code == "store_unavailable")
