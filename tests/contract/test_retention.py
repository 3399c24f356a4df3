"""What is kept no longer, and what always is (ST-7)."""

import pytest

from pml.domain.run import RunState
from pml.errors import NotFoundError
from pml.store.memory import memory_store
from pml.store.ports import Collected, Store
from tests.contract.capability_runs import kept
from tests.store.nouns import (
    a_program,
    a_run,
    a_trace,
    an_approval,
    some_records,
)

LATE = 10**12
NOTHING = Collected(traces=0, runs=0, results=0, log_records=0, leases=0)


async def ran(store: Store, number: int, capability_id: str | None = None) -> None:
    """A run with a log and a result that ended at ``number``."""
    run_id = f"run-{number}"
    await store.runs.create(a_run(run_id, capability_id=capability_id), a_program())
    await store.run_log.append(run_id, some_records(0, 2), epoch=0)
    await store.approvals.ask(an_approval(f"ask-{number}", run_id), epoch=0)
    await store.traces.finish(
        run_id,
        RunState.SUCCESS,
        reason="",
        now_ms=number,
        epoch=0,
        trace=a_trace(f"t{number}", run_id, executed_at_ms=number, capability_id=capability_id),
        results=[("n1", "1")],
        dependencies=(),
        result_expires_at_ms=number + 1,
    )


async def traces(store: Store) -> list[str]:
    return [trace.id for trace in await store.traces.recent(99)]


async def runs(store: Store) -> set[str]:
    return {run.id for run in await store.runs.recent(99)}


async def test_the_oldest_traces_beyond_the_number_go(any_store: Store) -> None:
    for number in range(1, 6):
        await ran(any_store, number)
    collected = await any_store.retention.collect(now_ms=LATE, traces_kept=2, trace_age_ms=LATE)
    assert collected == Collected(traces=3, runs=2, results=5, log_records=10, leases=0)
    assert await traces(any_store) == ["t5", "t4"]
    assert await runs(any_store) == {"run-3", "run-4", "run-5"}  # not older than what is kept
    again = await any_store.retention.collect(now_ms=LATE, traces_kept=2, trace_age_ms=LATE)
    assert again == NOTHING


async def test_traces_and_runs_beyond_the_age_go(any_store: Store) -> None:
    for number in range(1, 6):
        await ran(any_store, number)
    collected = await any_store.retention.collect(now_ms=5 + 3, traces_kept=99, trace_age_ms=3)
    assert (collected.traces, collected.runs) == (4, 4)
    assert (await traces(any_store), await runs(any_store)) == (["t5"], {"run-5"})
    with pytest.raises(NotFoundError, match="no such run"):
        await any_store.task_results.page("run-4", "n1", offset=0, limit=1, now_ms=1)
    with pytest.raises(NotFoundError):
        await any_store.approvals.get("ask-4")


async def test_what_was_learned_and_the_audit_log_stay(any_store: Store) -> None:
    capability = await kept(any_store)
    for number in range(1, 4):
        await ran(any_store, number, capability.id)
    before = await any_store.capabilities.get(capability.id)
    intents = await any_store.capabilities.intents(capability.id)
    entries = await any_store.audit.recent(99)
    await any_store.retention.collect(now_ms=LATE, traces_kept=0, trace_age_ms=0)
    assert (await traces(any_store), await runs(any_store)) == ([], set())
    assert await any_store.capabilities.get(capability.id) == before
    assert await any_store.capabilities.intents(capability.id) == intents
    assert await any_store.audit.recent(99) == entries
    assert {entry.run_id for entry in entries} == {"run-1", "run-2", "run-3"}


@pytest.mark.parametrize("state", [state for state in RunState if not state.final])
async def test_a_run_that_has_not_ended_stays_whole(any_store: Store, state: RunState) -> None:
    await any_store.runs.create(a_run(), a_program())
    await any_store.run_log.append("run-1", some_records(0, 2), epoch=0)
    if state is not RunState.RUNNING:
        await any_store.runs.move("run-1", state, now_ms=1, epoch=0)
    assert await any_store.retention.collect(now_ms=LATE, traces_kept=0, trace_age_ms=0) == NOTHING
    assert await any_store.runs.program("run-1") == a_program()
    assert len(await any_store.run_log.read("run-1")) == 2


async def test_the_log_of_a_child_stays_while_its_parent_has_not_ended(any_store: Store) -> None:
    """A parent that resumes takes the child's end from the child's log."""
    await any_store.runs.create(a_run("parent"), a_program())
    await any_store.runs.create(a_run("run-1", parent_run_id="parent"), a_program())
    await any_store.run_log.append("run-1", some_records(0, 2), epoch=0)
    await any_store.runs.move("run-1", RunState.SUCCESS, now_ms=1, epoch=0)
    assert await any_store.run_log.delete_expired(LATE) == 0
    assert await any_store.runs.program("run-1") == a_program()
    await any_store.runs.move("parent", RunState.ABORTED, now_ms=1, epoch=0)
    assert await any_store.run_log.delete_expired(LATE) == 2


async def test_more_than_one_step_is_deleted_whole(
    any_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pml.store.batches.ROWS_AT_ONCE", 2)
    monkeypatch.setattr("pml.store.run_log._RUNS_AT_ONCE", 2)
    for number in range(1, 8):
        await ran(any_store, number)
    collected = await any_store.retention.collect(now_ms=LATE, traces_kept=0, trace_age_ms=0)
    assert collected == Collected(traces=7, runs=7, results=7, log_records=14, leases=0)


@pytest.mark.parametrize(("number", "age"), [(-1, 0), (0, -1)])
async def test_bounds_are_not_negative(any_store: Store, number: int, age: int) -> None:
    with pytest.raises(ValueError, match="expected 0 or more of both"):
        await any_store.retention.collect(now_ms=1, traces_kept=number, trace_age_ms=age)


async def test_leases_go_long_after_they_were_over() -> None:
    times = [0.0]
    store = memory_store(clock=lambda: times[-1])
    for owner, ttl_s in (("short", 5), ("long", 60)):
        await store.leases.renew(owner, ttl_s=ttl_s)
    for now_s, leases in ((3_605.0, 0), (3_606.0, 1), (3_661.0, 1), (9_999.0, 0)):
        times.append(now_s)
        collected = await store.retention.collect(now_ms=1, traces_kept=0, trace_age_ms=0)
        assert collected.leases == leases
