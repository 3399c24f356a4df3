"""A process that lives and has lost its lease: another goes on, and it does nothing more (OP-4).

It stood still for too long (SIGSTOP, a laptop that slept), or could not renew.  Held: no write
is sent twice, whoever waits at it is told how the run stands, and its sandbox is gone.
"""

import asyncio

import pytest

from pml.domain.record import JsonText
from pml.domain.response import ExecuteRequest, ExecuteResponse
from pml.domain.run import Outcome, Returned, Run, RunState
from pml.domain.steering import ContinueRequest, DoubtAction, Resolution
from pml.runtime.sandbox.pool import SandboxPool
from pml.store.memory import memory_store
from tests.loop.processes import ADA, Process, Sandboxes, World, a_process, a_world
from tests.loop.test_sent_unheard import a_world_that_knows, the_root

pytestmark = pytest.mark.asyncio(loop_scope="module")

STEPS = """
  const a = await mcp.fs.read({ n: 1 });
  const b = await mcp.fs.write({ n: a.n + 1 });
  return [a.n, b.n];
"""
WRITE = "return (await mcp.fs.write({ n: 2 })).n;"
LONG_MS = 3_600_000


class Lost:
    """A run of process ``a`` that waits for an answer; its lease is over."""

    def __init__(self, pool: SandboxPool) -> None:
        self.world: World = a_world(pool)
        self.world.store = memory_store(clock=lambda: self.world.now_ms / 1000)
        self.sandboxes = Sandboxes(pool)
        self.world.pool = self.sandboxes  # type: ignore[assignment]  # what is needed of it
        self.answered = asyncio.Event()
        self.a: Process
        self.waiting: asyncio.Task[ExecuteResponse | None]

    async def begin(self, code: str, *, holds: str, stopped: bool) -> Run:
        """Ask for the run in ``a``, whose first call of a tool is not answered yet."""
        self.world.outside.answers[holds] = self._first_late
        self.a = await a_process(self.world, "a")
        await self.a.act.store.leases.renew("a", ttl_s=self.world.limits.lease_ttl_s)
        request = ExecuteRequest(intent="test", code=code)
        self.waiting = asyncio.create_task(self.a.do(self.a.act.execute(request)))
        await self.world.outside.called.wait()
        if stopped:
            self.a.stop()
        self.world.now_ms += LONG_MS
        (run,) = await self.world.store.runs.recent(5, RunState.RUNNING)
        return run

    async def _first_late(self, _tool: str, arguments: JsonText) -> Outcome:
        if self.sent == 1:
            await self.answered.wait()
        return Returned(value=arguments)

    @property
    def sent(self) -> int:
        return len(self.world.outside.requests)

    async def taken_over(self) -> Process:
        """Another server looks after what nobody runs."""
        b = await a_process(self.world, "b")
        await b.keeper.tend()
        await b.keeper.idle()
        return b

    async def answer_of_a(self) -> ExecuteResponse:
        """What is told to whoever asked ``a``, when it goes on and its call is answered."""
        self.a.wake()
        self.answered.set()
        answer = await self.waiting
        assert answer is not None
        return answer


@pytest.mark.parametrize("stopped", [True, False])
async def test_the_run_goes_on_elsewhere_and_its_first_process_is_fenced(
    pool: SandboxPool, *, stopped: bool
) -> None:
    lost = Lost(pool)
    run = await lost.begin(STEPS, holds="fs:read", stopped=stopped)
    b = await lost.taken_over()
    assert (await b.steering.status(run.id)).result == [1, 2]
    assert lost.sent == 3  # the read twice, the write once
    answer = await lost.answer_of_a()
    assert (answer.status, answer.result, answer.workflow_id) == ("success", [1, 2], run.id)
    assert lost.sent == 3
    assert lost.sandboxes.out == []
    assert lost.a.act.unclosed == {}


@pytest.mark.parametrize("stopped", [True, False])
async def test_a_write_that_was_under_way_is_decided_elsewhere(
    pool: SandboxPool, *, stopped: bool
) -> None:
    lost = Lost(pool)
    run = await lost.begin(WRITE, holds="fs:write", stopped=stopped)
    b = await lost.taken_over()
    doubt = await b.steering.status(run.id)
    assert (doubt.status, lost.sent) == ("in_doubt", 1)
    answer = await lost.answer_of_a()
    assert (answer.status, answer.workflow_id) == ("in_doubt", run.id)
    assert answer.checkpoint_id == doubt.checkpoint_id
    decided = Resolution(task_id="n1", action=DoubtAction.RESULT, result={"n": 2})
    request = ContinueRequest(workflow_id=run.id, resolutions=(decided,))
    for process in (lost.a, b):
        assert (await process.steering.go_on(request, by=ADA)).result == 2
    assert lost.sent == 1
    assert lost.sandboxes.out == []


@pytest.mark.parametrize("code", [STEPS, WRITE], ids=["a read", "a write"])
async def test_what_was_taken_over_is_stopped_though_no_answer_ever_comes(
    pool: SandboxPool, code: str
) -> None:
    """The keeper of the first process sees that the run is not its own any more."""
    lost = Lost(pool)
    holds = "fs:read" if code is STEPS else "fs:write"
    run = await lost.begin(code, holds=holds, stopped=True)
    b = await lost.taken_over()
    lost.a.wake()
    await lost.a.keeper.tend()
    answer = await lost.waiting
    assert answer is not None
    stands = await b.steering.status(run.id)
    assert (answer.status, answer.result) == (stands.status, stands.result)
    assert lost.sandboxes.out == []
    assert lost.a.act.unclosed == {}


async def test_what_a_stopped_server_was_resuming_goes_on_in_the_next_with_what_it_called(
    pool: SandboxPool,
) -> None:
    world = await a_world_that_knows(pool)
    first = await a_process(world, "first")
    code = "return (await mcp.fs.read({ n: 7 })).n;"
    known = await first.act.execute(ExecuteRequest(intent="reads", code=code))
    assert known.capability_id is not None
    await world.store.capabilities.rename(known.capability_id, "reads", now_ms=1)
    killed = await a_process(world, "killed")
    killed.die_unheard(0)
    code = "return await capabilities.reads({});"
    await killed.do(killed.act.execute(ExecuteRequest(intent="test", code=code)))

    world.outside.answers["fs:read"], answers = _never, world.outside.answers["fs:read"]
    world.outside.called.clear()
    stopped = await a_process(world, "stopped")
    await stopped.keeper.tend()
    await world.outside.called.wait()
    await stopped.keeper.__aexit__(None, None, None)
    world.outside.answers["fs:read"] = answers

    last = await a_process(world, "last")
    await last.keeper.tend()
    await last.keeper.idle()
    answer = await last.steering.status((await the_root(world)).id)
    assert (answer.status, answer.result) == ("success", 7)


async def _never(_tool: str, _arguments: JsonText) -> Outcome:
    await asyncio.Event().wait()
    raise AssertionError
