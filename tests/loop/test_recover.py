"""What becomes of a run whose process died, at every point of its log (EX-3, OP-4, rule 7)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.capability import NewCapability
from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.permissions import Effect
from pml.domain.record import encode
from pml.domain.run import (
    Attempted,
    Delivered,
    Failed,
    Issued,
    LogRecord,
    Outcome,
    Returned,
    Run,
    RunProgram,
    RunState,
    Settled,
)
from pml.domain.structure import StaticStructure
from pml.loop.bookkeeping import Bookkeeping
from pml.loop.close import latest_trace
from pml.loop.recover import recover
from pml.store.memory import memory_store
from pml.store.ports import Store

EMPTY = StaticStructure(nodes=(), edges=(), complete=True)


def whole_log(effects: list[Effect], outcome: Outcome) -> list[LogRecord]:
    """Calls one after the other, then the end of the program."""
    ledger = Ledger()
    for effect in effects:
        call = ledger.issue(site="n1", tool="a:b", arguments="{}", effect=effect, at_ms=1).call
        ledger.attempt(call, 2)
        ledger.deliver(call, Returned(value="1"), 3, 1.0)
    ledger.settle(outcome, 4)
    return list(ledger.records)


def books(store: Store) -> Bookkeeping:
    return Bookkeeping(store=store, owner="here", now_ms=lambda: 9, limits=Limits())


async def store_with(
    records: list[LogRecord], owner: str = "dead", capability: NewCapability | None = None
) -> Store:
    store = memory_store()
    if capability is not None:
        await store.capabilities.keep(capability, now_ms=0)
    run = Run(
        id="r",
        intent="x",
        state=RunState.RUNNING,
        source_hash="0",
        owner=owner,
        created_at_ms=0,
        updated_at_ms=0,
        timeout_ms=1,
        capability_id=None if capability is None else capability.id,
    )
    program = RunProgram(
        source="", instrumented="", structure=encode(EMPTY).decode(), arguments={}, seed=1
    )
    await store.runs.create(run, program)
    if records:
        await store.run_log.append("r", records, epoch=0)
    return store


def expected(records: list[LogRecord]) -> RunState:
    """The rule in words: an unanswered write, else the recorded end, else interrupted."""
    writes = {r.call for r in records if isinstance(r, Issued) and r.effect is Effect.WRITE}
    sent = {r.call for r in records if isinstance(r, Attempted)}
    answered = {r.call for r in records if isinstance(r, Delivered)}
    if writes & sent - answered:
        return RunState.IN_DOUBT
    ends = [r for r in records if isinstance(r, Settled)]
    if not ends:
        return RunState.INTERRUPTED
    return RunState.ERROR if isinstance(ends[0].outcome, Failed) else RunState.SUCCESS


@given(
    effects=st.lists(st.sampled_from(Effect), max_size=3),
    outcome=st.sampled_from([Returned(value="7"), Failed(code="program_error", message="no")]),
    data=st.data(),
)
async def test_the_log_alone_says_how_a_run_was_left(
    effects: list[Effect], outcome: Outcome, data: st.DataObject
) -> None:
    records = whole_log(effects, outcome)
    records = records[: data.draw(st.integers(0, len(records)), label="cut")]
    store = await store_with(records)
    (found,) = await recover(books(store), alive=lambda owner: owner != "dead")
    assert found.id == "r"
    run = await store.runs.get("r")
    assert run.state is expected(records)
    assert run.state is RunState.SUCCESS or run.reason
    assert len(await store.traces.of_run("r")) == run.state.final
    trace = await latest_trace(store, run, limits=Limits())
    assert (trace.state, len(trace.task_results)) == (
        run.state,
        sum(isinstance(record, Issued) for record in records),
    )
    assert await recover(books(store), alive=lambda _: False) == ()


@pytest.mark.parametrize("cut", [0, 2])
async def test_a_run_of_a_living_process_is_left_alone(cut: int) -> None:
    store = await store_with(whole_log([Effect.WRITE], Returned(value="1"))[:cut])
    await store.leases.renew("dead", ttl_s=60)
    assert await recover(books(store), alive=lambda _: True) == ()
    assert (await store.runs.get("r")).state is RunState.RUNNING


@pytest.mark.parametrize(
    ("outcome", "successes"),
    [(Returned(value="7"), 1), (Failed(code="program_error", message="no"), 0)],
)
async def test_a_run_whose_end_only_its_log_knew_still_teaches_its_capability(
    outcome: Outcome, successes: int
) -> None:
    capability = NewCapability(
        canonical_hash="ab" * 32, name="it", intent="x", code="", instrumented="", structure=EMPTY
    )
    store = await store_with(whole_log([Effect.WRITE], outcome), capability=capability)
    await recover(books(store), alive=lambda _: False)
    kept = await store.capabilities.get(capability.id)
    assert (kept.usage_count, kept.success_count, kept.hidden) == (1, successes, successes == 0)
    (trace,) = await store.traces.of_run("r")
    assert trace.capability_id == capability.id
