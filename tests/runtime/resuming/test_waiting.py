"""What a run waits for, and how it goes on: approval, doubt, children, its clock (EX-3, HIL-2)."""

import dataclasses
from collections.abc import Collection

import pytest

from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.permissions import ApprovalMode, Effect, Permission
from pml.domain.response import ExecuteResponse
from pml.domain.run import Failed, Issued, Outcome, Returned, RunState, Undelivered
from pml.domain.tools import Tool
from pml.errors import OutcomeUnknownError
from pml.runtime.calls import ChildWaits
from pml.runtime.sandbox.pool import SandboxPool
from tests.oracle.scenario import EPOCH_MS, Case
from tests.runtime.resuming.lives import Life, Prepared, live, prepared
from tests.runtime.resuming.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")


def ready(source: str) -> Prepared:
    program = prepared(Case(source=source, seed=1))
    assert program is not None
    return program


class Asks:
    """Every write needs consent."""

    def of(self, tool: Tool) -> Permission:
        effect = Effect.WRITE if tool.name == "write" else Effect.READ
        mode = ApprovalMode.HIL if effect is Effect.WRITE else ApprovalMode.AUTO
        return Permission(tool=tool.id, effect=effect, approval_mode=mode)


class Agreed:
    """Consent to some calls, some of which is withdrawn at the last moment."""

    def __init__(self, calls: Collection[int], withdrawn: Collection[int] = ()) -> None:
        self.calls = calls
        self.withdrawn = withdrawn
        self.used: list[int] = []

    def covers(self, issued: Issued, tool: Tool) -> bool:
        return issued.call in self.calls

    async def use(self, issued: Issued, tool: Tool) -> bool:
        self.used.append(issued.call)
        return issued.call not in self.withdrawn


def waiting(life: Life, state: RunState) -> tuple[int, ...]:
    """The calls that wait, of a run in that state."""
    assert life.ending is not None
    assert life.ending.state is state
    return tuple(issued.call for issued in life.ending.calls)


TWO_WRITES = """
const n = await mcp.db.count();
await Promise.all([mcp.fs.write({ n }), mcp.fs.read({ n }), mcp.fs.write({ m: n })]);
return await mcp.fs.write({ last: 1 });
"""


async def test_all_calls_of_a_turn_are_asked_for_at_once_and_nothing_of_it_goes(
    pool: SandboxPool,
) -> None:
    program, asks = ready(TWO_WRITES), Asks()
    first = await live(program, pool, permissions=asks)
    assert waiting(first, RunState.APPROVAL_REQUIRED) == (1, 3)
    assert first.ending is not None
    assert [each.tool for each in first.ending.approvals] == ["fs:write"]
    assert set(first.sent) == {0}
    consents = Agreed((1, 3))
    second = await live(program, pool, Ledger(first.records), permissions=asks, consents=consents)
    assert waiting(second, RunState.APPROVAL_REQUIRED) == (4,)
    assert (set(second.sent), consents.used) == ({1, 2, 3}, [1, 3])
    third = await live(
        program, pool, Ledger(second.records), permissions=asks, consents=Agreed((1, 3, 4))
    )
    assert third.ending is not None
    assert (third.ending.state, set(third.sent)) == (RunState.SUCCESS, {4})


async def test_consent_that_is_withdrawn_at_the_last_moment_stops_the_call(
    pool: SandboxPool,
) -> None:
    consents = Agreed((1, 3), withdrawn=(3,))
    life = await live(ready(TWO_WRITES), pool, permissions=Asks(), consents=consents)
    assert waiting(life, RunState.APPROVAL_REQUIRED) == (3,)
    assert set(life.sent) == {0, 1, 2}
    held = [record.call for record in life.records if isinstance(record, Undelivered)]
    assert set(held) == {1, 2}  # they were on their way, and are delivered when it goes on


async def test_a_call_at_the_very_end_is_asked_for_although_the_program_is_over(
    pool: SandboxPool,
) -> None:
    program = ready("mcp.fs.write({ a: 1 }); return 7;")
    life = await live(program, pool, permissions=Asks())
    assert waiting(life, RunState.APPROVAL_REQUIRED) == (0,)
    after = await live(
        program, pool, Ledger(life.records), permissions=Asks(), consents=Agreed((0,))
    )
    assert after.ending is not None
    assert (after.ending.state, after.ending.result, after.sent[0]) == (RunState.SUCCESS, "7", 1)


class Silent(World):
    """A server that takes a write and never answers."""

    async def call(self, issued: Issued) -> Outcome:
        if issued.effect is Effect.WRITE:
            self.sent[issued.call] += 1
            raise OutcomeUnknownError(issued.tool, "it is gone", timed_out=False)
        return await super().call(issued)


ONE_WRITE = "const [a] = await Promise.all([mcp.kv.set({ a: 1 }), mcp.fs.read({})]); return a;"


async def test_a_write_in_doubt_is_frozen_and_goes_on_with_what_somebody_says(
    pool: SandboxPool,
) -> None:
    program = ready(ONE_WRITE)
    frozen = await live(program, pool, world=Silent)
    waiting(frozen, RunState.IN_DOUBT)
    again = await live(program, pool, Ledger(frozen.records))
    waiting(again, RunState.IN_DOUBT)
    assert not again.sent
    for outcome in (Returned(value='"done"'), Failed(code="skipped", message="never mind")):
        ledger = Ledger(frozen.records)
        ledger.hold(0, outcome, ledger.last_ms)
        life = await live(program, pool, ledger)
        assert life.ending is not None
        assert not life.sent
        if isinstance(outcome, Returned):
            assert life.ending.result == '"done"'
        else:
            assert life.ending.error is not None
            assert life.ending.error.code == "skipped"
    ledger = Ledger(frozen.records)
    ledger.allow_retry(0, ledger.last_ms)
    retried = await live(program, pool, ledger)
    assert retried.ending is not None
    assert (retried.ending.state, retried.sent[0]) == (RunState.SUCCESS, 1)
    assert retried.ledger.calls[0].attempts == 2


class Parent(World):
    """Capabilities whose own run waits for somebody."""

    async def call(self, issued: Issued) -> Outcome:
        if issued.of_capability:
            response = ExecuteResponse(status="in_doubt", workflow_id=f"child-{issued.call}")
            self.sent[issued.call] += 1
            raise ChildWaits(RunState.IN_DOUBT, response)
        return await super().call(issued)


async def test_a_run_waits_for_the_run_of_a_capability_and_asks_it_again(
    pool: SandboxPool,
) -> None:
    program = ready("await capabilities.clean({}); return 1;")
    first = await live(program, pool, world=Parent)
    assert first.ending is not None
    assert first.ending.state is RunState.IN_DOUBT
    assert [(call, child.workflow_id) for call, child in first.ending.children] == [(0, "child-0")]
    assert not first.ledger.in_doubt
    second = await live(program, pool, Ledger(first.records))
    assert second.ending is not None
    assert (second.ending.state, second.ledger.calls[0].attempts) == (RunState.SUCCESS, 2)


async def test_time_that_the_run_did_not_run_counts_for_nothing(pool: SandboxPool) -> None:
    """Clock and deadline go on where the log ends, however late that is."""

    class Later(World):
        def now_ms(self) -> int:
            return super().now_ms() + 86_400_000

    program = ready(
        "const t = Date.now(); await new Promise((f) => setTimeout(f, 40));"
        "await mcp.db.count(); return Date.now() - t;"
    )
    whole = await live(program, pool)
    cut = Ledger(whole.records[:3])
    resumed = await live(program, pool, cut, world=Later, timeout_ms=whole.ledger.last_ms)
    assert resumed.outcome() == whole.outcome()
    assert resumed.ledger.last_ms < EPOCH_MS + 1000


async def test_a_run_whose_time_was_up_when_it_stopped_has_none_left(pool: SandboxPool) -> None:
    program = ready("await new Promise((f) => setTimeout(f, 500)); await mcp.db.count(); return 1;")
    whole = await live(program, pool)
    cut = Ledger(whole.records[:2])
    late = await live(program, pool, cut, timeout_ms=100)
    assert late.ending is not None
    assert late.ending.error is not None
    assert (late.ending.state, late.ending.error.code) == (RunState.ERROR, "timeout")


async def test_results_of_one_run_are_bounded_together(pool: SandboxPool) -> None:
    program = ready("for (let i = 0; i < 99; i++) await mcp.fs.read({ i }); return 1;")
    life = await live(program, pool, limits=Limits(results_bytes_per_run=100))
    assert life.ending is not None
    assert life.ending.error is not None
    assert "(results_bytes_per_run)" in life.ending.error.message
    assert 100 < life.ledger.results_bytes < 200


async def test_the_answer_for_a_paused_run_is_the_same_from_its_log(pool: SandboxPool) -> None:
    program = ready("await mcp.db.count(); await mcp.fs.read({}); await mcp.kv.set({}); return 1;")
    first = await live(program, pool, per_layer=True)
    assert waiting(first, RunState.PAUSED) == (1,)
    assert first.ending is not None
    assert [call.issued.call for call in first.ending.layer_calls] == [0]
    again = await live(program, pool, Ledger(first.records), per_layer=True)
    assert again.ending == dataclasses.replace(first.ending)
    assert not again.sent
