"""Starting, continuing, aborting, dying, expiring, in any order (EX-3, EX-5, OP-4).

Held at every step: no write is sent more often than somebody asked for it, and what is asked
twice is answered as it stands.  Held in the end: every run has ended or can be brought to its
end, with the result that it would have had undisturbed.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pml.domain.limits import Limits
from pml.domain.record import JsonText
from pml.domain.response import ExecuteRequest, ExecuteResponse
from pml.domain.run import Outcome, Returned, RunState
from pml.domain.steering import AbortRequest, ContinueRequest, DoubtAction, Resolution
from pml.errors import OutcomeUnknownError
from pml.runtime.reaper import Reaper
from pml.runtime.sandbox.pool import SandboxPool
from tests.loop.processes import (
    ADA,
    Process,
    a_process,
    a_world,
    found_out,
    see_through,
    the_call,
)

PROGRAMS = (
    """const a = await mcp.fs.write({ by: args.by, step: 1 });
       const b = await mcp.fs.write({ by: a.by, step: 2 });
       return [a.by, b.step];""",
    """const steps = [1, 2].map((step) => mcp.fs.write({ by: args.by, step }));
       const [a, b] = await Promise.all(steps);
       return [a.by, b.step];""",
    """const a = await capabilities.inner({ by: args.by });
       const b = await mcp.fs.write({ by: a, step: 2 });
       return [b.by, b.step];""",
    """await new Promise((f) => setTimeout(f, 1));
       let n = 0;
       for (let step = 1; step < 3; step++) {
         n = (await mcp.fs.write({ by: args.by, step })).step;
       }
       return [args.by, n];""",
)
"""Each writes twice and returns ``[by, 2]``."""
INNER = "return (await mcp.fs.write({ by: args.by, step: 1 })).by;"
DEATHS = st.none() | st.tuples(st.integers(0, 12), st.booleans())
"""At which of the store's operations the process dies, before or after it; mostly never."""
RUNS = st.integers(0, 3)
STANDS = {"layer_complete", "in_doubt"}


class SteeringMachine(RuleBasedStateMachine):
    """One world, one process after the other; some requests go to two at once."""

    runner: asyncio.Runner
    pool: SandboxPool

    @initialize()
    def begin(self) -> None:
        self.runner.run(self._begin())

    async def _begin(self) -> None:
        self.world = a_world(self.pool)
        self.world.outside.answers["fs:write"] = self._write
        self.losing = 0
        self.allowed: Counter[tuple[str, str]] = Counter()
        self.runs: list[str] = []
        self.ended_by_us: set[str] = set()
        self.names = iter(range(1_000))
        self.process = await self._another()
        code = INNER.replace("args.by", "by")
        answer = await self.process.act.execute(
            ExecuteRequest(intent="inner", code=code, args={"by": 99})
        )
        assert answer.capability_id is not None, answer.error
        await self.world.store.capabilities.rename(answer.capability_id, "inner", now_ms=1)

    async def _write(self, _tool: str, arguments: JsonText) -> Outcome:
        await asyncio.sleep(0)
        if self.losing:
            self.losing -= 1
            server, message = "fs", "the connection was lost"
            raise OutcomeUnknownError(server, message, timed_out=False)
        return Returned(value=arguments)

    async def _another(self) -> Process:
        return await a_process(self.world, f"p{next(self.names)}")

    async def _do(self, work: object, *, death: tuple[int, bool] | None) -> ExecuteResponse | None:
        if death is not None:
            self.process.die_at(death[0], after=death[1])
        answer = await self.process.do(work)  # type: ignore[arg-type]  # a coroutine
        self.process.left = None
        if self.process.dead:
            self.process = await self._another()
        return answer

    @rule(program=st.sampled_from(PROGRAMS), by_layer=st.booleans(), death=DEATHS)
    def start(self, program: str, by_layer: bool, death: tuple[int, bool] | None) -> None:
        self.runner.run(self._start(program, by_layer, death))

    async def _start(self, program: str, by_layer: bool, death: tuple[int, bool] | None) -> None:
        request = ExecuteRequest(
            intent="test",
            code=program,
            args={"by": len(self.runs)},
            per_layer_validation=by_layer,
        )
        known = set(self.runs)
        await self._do(self.process.act.execute(request), death=death)
        for run in await self.world.store.runs.recent(100):
            if run.parent_run_id is None and run.intent == "test" and run.id not in known:
                self.runs.append(run.id)

    @precondition(lambda self: self.runs)
    @rule(which=RUNS, death=DEATHS, retry=st.booleans(), twice=st.booleans())
    def go_on(
        self, *, which: int, death: tuple[int, bool] | None, retry: bool, twice: bool
    ) -> None:
        self.runner.run(self._go_on(self.runs[which % len(self.runs)], death, retry, twice))

    async def _go_on(
        self, run_id: str, death: tuple[int, bool] | None, retry: bool, twice: bool
    ) -> None:
        before = await self.process.steering.status(run_id)
        request = ContinueRequest(
            workflow_id=run_id,
            checkpoint_id=before.checkpoint_id,
            resolutions=await self._decided(run_id, before, retry),
        )
        if twice:
            other = await self._another()
            rival = asyncio.create_task(other.do(other.steering.go_on(request, by=ADA)))
        answer = await self._do(self.process.steering.go_on(request, by=ADA), death=death)
        if twice:
            await rival
        if answer is None or not before.checkpoint_id:
            return
        sent = len(self.world.outside.requests)
        again = await self.process.steering.go_on(request, by=ADA)
        now = await self.process.steering.status(run_id)
        assert (again.status, again.checkpoint_id) == (now.status, now.checkpoint_id)
        if again.error is None or again.error.code != "interrupted":
            assert len(self.world.outside.requests) == sent

    async def _decided(
        self, run_id: str, before: ExecuteResponse, retry: bool
    ) -> tuple[Resolution, ...]:
        found = []
        for task in before.in_doubt:
            if retry:
                call = await the_call(self.world, run_id, task.task_id)
                self.allowed[call.tool, call.arguments] += 1
                found.append(Resolution(task_id=task.task_id, action=DoubtAction.RETRY))
            else:
                found.append(await found_out(self.world, run_id, task.task_id))
        return tuple(found)

    @precondition(lambda self: self.runs)
    @rule(which=RUNS, death=DEATHS)
    def abort(self, which: int, death: tuple[int, bool] | None) -> None:
        run_id = self.runs[which % len(self.runs)]
        request = AbortRequest(workflow_id=run_id)
        self.ended_by_us.add(run_id)
        self.runner.run(self._do(self.process.steering.abort(request, by=ADA), death=death))

    @rule(death=DEATHS)
    def tend(self, death: tuple[int, bool] | None) -> None:
        self.runner.run(self._tend(death))

    async def _tend(self, death: tuple[int, bool] | None) -> None:
        async def round_() -> ExecuteResponse:
            await self.process.keeper.tend()
            await self.process.keeper.idle()
            return ExecuteResponse(status="success")

        await self._do(round_(), death=death)

    @rule()
    def wait_too_long(self) -> None:
        self.world.now_ms += Limits().waiting_ttl_s * 1000
        waiting = [
            run
            for run in self.runner.run(self.world.store.runs.recent(100))
            if run.state.waits and run.id in self.runs
        ]
        self.ended_by_us.update(run.id for run in waiting)

    @rule(count=st.integers(1, 2))
    def lose_answers(self, count: int) -> None:
        self.losing = count

    @invariant()
    def no_write_is_sent_more_often_than_somebody_asked_for(self) -> None:
        if not hasattr(self, "world"):
            return
        sent = Counter(self.world.outside.requests)
        for call, count in sent.items():
            assert count <= 1 + self.allowed[call], call

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.runner.run(self._end())

    async def _end(self) -> None:
        self.losing = 0
        for run_id in self.runs:
            answer = await see_through(self.world, self.process, run_id)
            run = await self.world.store.runs.get(run_id)
            assert run.state.final, run
            if run_id not in self.ended_by_us:
                assert answer.status == "success", answer.error
            if answer.status == "success":
                kept = await self.world.store.runs.program(run_id)
                assert answer.result == [json.loads(kept.arguments["by"]), 2]
        for run in await self.world.store.runs.recent(100):
            assert run.state.final, run
            assert run.state is not RunState.DIVERGED


@pytest.fixture(scope="module")
def machine() -> Iterator[type[SteeringMachine]]:
    with ExitStack() as stack:
        runner = stack.enter_context(asyncio.Runner())
        reaper = Reaper.start()
        stack.callback(reaper.close)
        pool = SandboxPool(limits=Limits(), reaper=reaper, size=2)
        runner.run(pool.__aenter__())
        stack.callback(lambda: runner.run(pool.__aexit__(None, None, None)))
        SteeringMachine.runner, SteeringMachine.pool = runner, pool
        yield SteeringMachine


def test_whatever_is_asked_and_whoever_dies(machine: type[SteeringMachine]) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=30,
            stateful_step_count=12,
            phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
        ),
    )
