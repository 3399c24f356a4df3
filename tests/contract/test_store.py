"""What every store keeps to (ST-1, ST-2, ST-5, EX-7; design, section 5, rules 6, 8 and 15)."""

import asyncio
from typing import Any

import msgspec
import pytest

from pml.domain.run import NEXT_STATES, RunState
from pml.domain.trace import DependencyType
from pml.errors import NotFoundError, RunStateError
from pml.store.ports import Store
from tests.store.nouns import (
    a_program,
    a_run,
    a_trace,
    an_edge,
    some_records,
)

HOUR_MS = 3_600_000


async def a_stored_run(store: Store, run_id: str = "run-1", **fields: object) -> None:
    await store.runs.create(a_run(run_id, **fields), a_program())


async def finish(store: Store, trace_id: str = "trace-1", run_id: str = "run-1") -> None:
    await store.traces.finish(
        run_id,
        RunState.SUCCESS,
        reason="done",
        now_ms=2_000,
        epoch=0,
        trace=a_trace(trace_id, run_id),
        results=[("n1", '{"z":1,"a":"\U0001f600é"}'), ("n1_2", '"two"')],
        dependencies=[an_edge(), an_edge("fs:a", "fs:b", type=DependencyType.CO_OCCURRENCE)],
        result_expires_at_ms=2_000 + HOUR_MS,
    )


# Runs ---------------------------------------------------------------------------------------


async def test_a_run_and_its_program_come_back_as_they_were(any_store: Store) -> None:
    await a_stored_run(any_store)
    run = await any_store.runs.get("run-1")
    assert msgspec.structs.replace(run, user_id="local") == a_run()
    assert run.user_id.startswith("test-")
    assert await any_store.runs.program("run-1") == a_program()


async def test_an_unknown_run_is_not_found_with_a_hint(any_store: Store) -> None:
    for read in (any_store.runs.get, any_store.runs.program):
        with pytest.raises(NotFoundError, match="no run 'x': `pml runs` lists"):
            await read("x")
    with pytest.raises(NotFoundError, match="no run 'x'"):
        await any_store.runs.move("x", RunState.CANCELLED, now_ms=1, epoch=0)


async def test_a_run_id_is_taken_once(any_store: Store) -> None:
    await a_stored_run(any_store)
    with pytest.raises(ValueError, match="there is a run 'run-1' already"):
        await a_stored_run(any_store, intent="another")
    assert (await any_store.runs.get("run-1")).intent == "read the log"


async def test_texts_for_people_lose_only_what_no_text_can_hold(any_store: Store) -> None:
    await a_stored_run(any_store, intent="a\x00b\u2028'\\\ud800\U0001f600")
    assert (await any_store.runs.get("run-1")).intent == "a\ufffdb\u2028'\\\ufffd\U0001f600"


@pytest.mark.parametrize("unfit", ["\x00", "run\x001", "\ud800"])
async def test_ids_that_no_text_can_hold_are_of_nothing(any_store: Store, unfit: str) -> None:
    for question in (
        any_store.runs.get(unfit),
        any_store.runs.program(unfit),
        any_store.runs.move(unfit, RunState.CANCELLED, now_ms=1, epoch=0),
        any_store.traces.get(unfit),
        any_store.task_results.page(unfit, unfit, offset=0, limit=1, now_ms=1),
        any_store.capabilities.get(unfit),
        any_store.capabilities.rename(unfit, "a", now_ms=1),
    ):
        with pytest.raises(NotFoundError):
            await question
    assert await any_store.traces.of_run(unfit) == ()
    assert await any_store.run_log.read(unfit) == ()
    assert await any_store.capabilities.named([unfit]) == {}
    assert await any_store.capabilities.intents(unfit) == ()
    assert await any_store.tool_schemas.find([f"fs:{unfit}"]) == {}
    assert (await any_store.tool_schemas.catalog([unfit])).servers == {}


async def test_recent_runs_come_latest_first(any_store: Store) -> None:
    for name, created in (("a", 1), ("c", 3), ("b", 3), ("d", 2)):
        await a_stored_run(any_store, name, created_at_ms=created)
    await any_store.runs.move("d", RunState.PAUSED, now_ms=9, epoch=0)
    assert [run.id for run in await any_store.runs.recent(3)] == ["b", "c", "d"]
    assert [run.id for run in await any_store.runs.recent(9, RunState.PAUSED)] == ["d"]
    assert [run.id for run in await any_store.runs.recent(9, RunState.RUNNING)] == ["b", "c", "a"]


@pytest.mark.parametrize("start", list(RunState))
async def test_only_next_states_follow(any_store: Store, start: RunState) -> None:
    for to in RunState:
        run_id = f"{start}-{to}"
        await a_stored_run(any_store, run_id, state=start)
        if to in NEXT_STATES[start]:
            moved = await any_store.runs.move(run_id, to, reason="why", now_ms=5, epoch=0)
            assert (moved.state, moved.reason, moved.updated_at_ms) == (to, "why", 5)
            assert moved.owner == "host/1"
        else:
            with pytest.raises(RunStateError, match=f"is {start} and cannot become {to}"):
                await any_store.runs.move(run_id, to, now_ms=5, epoch=0)
            assert (await any_store.runs.get(run_id)).state == start


async def test_of_many_who_end_a_run_one_succeeds(any_store: Store) -> None:
    await a_stored_run(any_store)
    ends = [RunState.SUCCESS, RunState.ERROR, RunState.CANCELLED] * 4
    moves = [any_store.runs.move("run-1", end, now_ms=5, epoch=0) for end in ends]
    outcomes = await asyncio.gather(*moves, return_exceptions=True)
    assert sum(not isinstance(outcome, RunStateError) for outcome in outcomes) == 1


# Log ------------------------------------------------------------------------------------------


async def test_the_log_comes_back_in_order_and_exact(any_store: Store) -> None:
    await a_stored_run(any_store)
    assert await any_store.run_log.read("run-1") == ()
    await any_store.run_log.append("run-1", some_records(0, 1), epoch=0)
    await any_store.run_log.append("run-1", [], epoch=0)
    await any_store.run_log.append("run-1", some_records(1, 4), epoch=0)
    assert await any_store.run_log.read("run-1") == tuple(some_records(0, 5))


@pytest.mark.parametrize("bad", [[1], [3], [2, 4], [2, 2], [2, 3, 2], [0, 1, 2]])
async def test_a_gap_or_repetition_writes_nothing(any_store: Store, bad: list[int]) -> None:
    await a_stored_run(any_store)
    await any_store.run_log.append("run-1", some_records(0, 2), epoch=0)
    records = [some_records(seq, 1)[0] for seq in bad]
    with pytest.raises(ValueError, match="do not continue the log of run 'run-1'"):
        await any_store.run_log.append("run-1", records, epoch=0)
    assert await any_store.run_log.read("run-1") == tuple(some_records(0, 2))


async def test_an_unknown_run_has_no_log(any_store: Store) -> None:
    with pytest.raises(ValueError, match="do not continue the log of run 'x'"):
        await any_store.run_log.append("x", some_records(0, 1), epoch=0)
    assert await any_store.run_log.read("x") == ()


async def test_of_many_who_append_at_one_place_one_succeeds(any_store: Store) -> None:
    await a_stored_run(any_store)
    appends = [any_store.run_log.append("run-1", some_records(0, 2), epoch=0) for _ in range(8)]
    outcomes = await asyncio.gather(*appends, return_exceptions=True)
    assert sum(outcome is None for outcome in outcomes) == 1
    assert all(outcome is None or isinstance(outcome, ValueError) for outcome in outcomes)
    assert await any_store.run_log.read("run-1") == tuple(some_records(0, 2))


async def test_a_log_outlives_its_run_for_its_ttl(any_store: Store) -> None:
    for run_id in ("run-1", "moved", "waiting"):
        await a_stored_run(any_store, run_id)
        await any_store.run_log.append(run_id, some_records(0, 2), epoch=0)
    await finish(any_store)
    await any_store.runs.move("moved", RunState.CANCELLED, now_ms=2_001, epoch=0)
    await any_store.runs.move("waiting", RunState.IN_DOUBT, now_ms=1, epoch=0)
    assert await any_store.run_log.delete_expired(2_000 + HOUR_MS - 1) == 0
    assert await any_store.run_log.delete_expired(2_000 + HOUR_MS) == 2
    assert await any_store.run_log.read("run-1") == ()
    with pytest.raises(NotFoundError, match="deleted with the run's log"):
        await any_store.runs.program("run-1")
    with pytest.raises(ValueError, match="do not continue"):
        await any_store.run_log.append("run-1", some_records(0, 1), epoch=0)
    assert await any_store.runs.program("moved") == a_program()
    assert await any_store.run_log.delete_expired(10 * HOUR_MS) == 2
    assert await any_store.run_log.read("waiting") == tuple(some_records(0, 2))
    assert await any_store.run_log.delete_expired(10 * HOUR_MS) == 0


# Traces ---------------------------------------------------------------------------------------


async def test_finishing_writes_everything_at_once(any_store: Store) -> None:
    await a_stored_run(any_store)
    await finish(any_store)
    run = await any_store.runs.get("run-1")
    assert (run.state, run.reason, run.updated_at_ms) == (RunState.SUCCESS, "done", 2_000)
    trace = await any_store.traces.get("trace-1")
    assert msgspec.structs.replace(trace, user_id="local") == a_trace()
    assert list(trace.task_results[0].args) == ["z", "a"]
    assert await any_store.traces.of_run("run-1") == (trace,)
    assert await any_store.tool_dependencies.all() == (
        an_edge("fs:a", "fs:b", type=DependencyType.CO_OCCURRENCE),
        an_edge(),
    )


async def test_finishing_twice_with_one_trace_changes_nothing(any_store: Store) -> None:
    await a_stored_run(any_store)
    await asyncio.gather(*(finish(any_store) for _ in range(5)))
    edges = await any_store.tool_dependencies.all()
    assert [edge.count for edge in edges] == [1, 1]


async def test_a_run_that_is_final_takes_no_other_trace(any_store: Store) -> None:
    await a_stored_run(any_store)
    await finish(any_store)
    with pytest.raises(RunStateError, match="is success and cannot become success"):
        await finish(any_store, "trace-2")
    assert [edge.count for edge in await any_store.tool_dependencies.all()] == [1, 1]
    with pytest.raises(NotFoundError, match="no trace 'trace-2'"):
        await any_store.traces.get("trace-2")


async def test_a_run_that_resumed_has_two_traces_and_the_later_results(any_store: Store) -> None:
    await a_stored_run(any_store)
    await any_store.run_log.append("run-1", some_records(0, 2), epoch=0)
    await any_store.traces.finish(
        "run-1",
        RunState.INTERRUPTED,
        reason="its server died",
        now_ms=1_500,
        epoch=0,
        trace=a_trace("trace-0", executed_at_ms=500, success=False, error_message="a\x00"),
        results=[("n1", '"early"')],
        dependencies=[],
        result_expires_at_ms=1_600,
    )
    assert await any_store.run_log.delete_expired(1_600) == 0  # not final: the log stays
    await any_store.runs.move("run-1", RunState.RUNNING, now_ms=1_700, epoch=0)
    await finish(any_store)
    traces = await any_store.traces.of_run("run-1")
    assert [trace.id for trace in traces] == ["trace-0", "trace-1"]
    assert traces[0].error_message == "a\ufffd"
    page = await any_store.task_results.page("run-1", "n1", offset=0, limit=99, now_ms=1_700)
    assert page.text == '{"z":1,"a":"\U0001f600é"}'


async def test_a_trace_needs_its_run_and_its_capability(any_store: Store) -> None:
    with pytest.raises(NotFoundError, match="no run 'run-1'"):
        await finish(any_store)
    await a_stored_run(any_store)
    ends: dict[str, Any] = {
        "reason": "",
        "now_ms": 1,
        "epoch": 0,
        "results": (),
        "dependencies": (),
    }
    for trace, message in (
        (a_trace(run_id="other"), "trace 'trace-1' is of run 'other', not of 'run-1'"),
        (a_trace(capability_id="cap"), "there is no capability 'cap'"),
    ):
        with pytest.raises(ValueError, match=message):
            await any_store.traces.finish(
                "run-1", RunState.SUCCESS, trace=trace, result_expires_at_ms=2, **ends
            )
    assert (await any_store.runs.get("run-1")).state is RunState.RUNNING


async def test_recent_traces_come_latest_first(any_store: Store) -> None:
    for name, executed in (("a", 1), ("c", 3), ("b", 3)):
        await a_stored_run(any_store, name)
        await any_store.traces.finish(
            name,
            RunState.SUCCESS,
            reason="",
            now_ms=5,
            epoch=0,
            trace=a_trace(f"trace-{name}", name, executed_at_ms=executed),
            results=(),
            dependencies=(),
            result_expires_at_ms=5,
        )
    assert [trace.id for trace in await any_store.traces.recent(2)] == ["trace-b", "trace-c"]


async def test_dependencies_are_counted_and_keep_the_strongest_evidence(any_store: Store) -> None:
    seen = [("inferred", 2), ("template", 1), ("observed", 4), ("inferred", 1)]
    known = []
    for number, (evidence, count) in enumerate(seen):
        await a_stored_run(any_store, f"run-{number}")
        await any_store.traces.finish(
            f"run-{number}",
            RunState.SUCCESS,
            reason="",
            now_ms=5,
            epoch=0,
            trace=a_trace(f"trace-{number}", f"run-{number}"),
            results=(),
            dependencies=[an_edge(edge_source=evidence, count=count)],
            result_expires_at_ms=5,
        )
        (edge,) = await any_store.tool_dependencies.all()
        known.append((edge.edge_source, edge.count))
    assert known == [("inferred", 2), ("inferred", 3), ("observed", 7), ("observed", 8)]


# Results --------------------------------------------------------------------------------------


async def test_a_result_is_paged_by_characters(any_store: Store) -> None:
    await a_stored_run(any_store)
    await finish(any_store)
    whole = '{"z":1,"a":"\U0001f600é"}'
    for offset, limit in ((0, 5), (11, 3), (12, 1), (0, 10**12), (len(whole), 1), (10**12, 1)):
        page = await any_store.task_results.page(
            "run-1", "n1", offset=offset, limit=limit, now_ms=2_000
        )
        assert page.text == whole[offset : offset + limit]
        assert (page.offset, page.total_chars) == (offset, len(whole))
        assert page.expires_at_ms == 2_000 + HOUR_MS


@pytest.mark.parametrize(("offset", "limit"), [(-1, 5), (0, 0), (0, -1)])
async def test_a_page_has_a_place_and_a_size(any_store: Store, offset: int, limit: int) -> None:
    with pytest.raises(ValueError, match="must be"):
        await any_store.task_results.page("run-1", "n1", offset=offset, limit=limit, now_ms=1)


async def test_a_missing_result_says_whether_it_expired(any_store: Store) -> None:
    await a_stored_run(any_store)
    await finish(any_store)
    end = 2_000 + HOUR_MS
    with pytest.raises(NotFoundError, match="no such task"):
        await any_store.task_results.page("run-1", "n9", offset=0, limit=1, now_ms=1)
    with pytest.raises(NotFoundError, match="has expired"):
        await any_store.task_results.page("run-1", "n1", offset=0, limit=1, now_ms=end)
    assert await any_store.task_results.delete_expired(end - 1) == 0
    assert await any_store.task_results.delete_expired(end) == 2
    assert await any_store.task_results.delete_expired(end) == 0
    with pytest.raises(NotFoundError, match="has expired"):
        await any_store.task_results.page("run-1", "n1", offset=0, limit=1, now_ms=1)
