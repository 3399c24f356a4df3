"""Traces leave without their values, and come in whole or not at all (RW-5)."""

import datetime as dt
import json
import math
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from pml.cli.trace_exchange import export_imported, export_own, import_all
from pml.domain.run import RunState
from pml.domain.trace import ExecutionTrace, TaskResult
from pml.errors import DatasetError, RequestError
from pml.evaluation.loading import load
from pml.evaluation.trace_reader import BATCH as READ_AT_ONCE
from pml.evaluation.trace_schema import FILES, TRACES, VERSION_KEY
from pml.evaluation.trace_schema import TOOLS as TOOLS_SCHEMA
from pml.store.memory import memory_store
from pml.store.ports import Store
from tests.evaluation.random_traces import CANARY, TOOLS, traces
from tests.store.nouns import a_program, a_run

ALL = 10**6
NOW_MS = 5


async def a_store(own: list[ExecutionTrace]) -> Store:
    """In memory, with the tools and these traces."""
    store = memory_store()
    for server in {tool.server for tool in TOOLS}:
        listed = [tool for tool in TOOLS if tool.server == server]
        await store.tool_schemas.replace(server, listed)
    for number, trace in enumerate(own):
        run = a_run(f"run-{number}")
        await store.runs.create(run, a_program())
        await store.traces.finish(
            run.id,
            RunState.SUCCESS,
            reason="",
            now_ms=1,
            epoch=0,
            trace=msgspec.structs.replace(trace, run_id=run.id, capability_id=None),
            results=(),
            dependencies=(),
            result_expires_at_ms=1,
        )
    return store


def a_task(number: int, tool: str, args: dict[str, Any], result: object) -> TaskResult:
    return TaskResult(
        task_id=f"n{number}",
        node_id=f"n{number}",
        tool=tool,
        args=args,
        result=result,
        success=True,
        started_at_ms=10**12 + number,
        duration_ms=1,
        attempts=1,
        delivered=True,
    )


def a_trace(number: int, *tasks: TaskResult, success: bool = True) -> ExecutionTrace:
    return ExecutionTrace(
        id=f"trace-{number}",
        run_id="",
        intent_text="read the file and send its lines",
        initial_context={"path": "notes.md"},
        executed_at_ms=10**12 + number,
        success=success,
        state=RunState.SUCCESS if success else RunState.ERROR,
        duration_ms=2.5,
        executed_path=tuple(task.node_id for task in tasks),
        decisions=(),
        task_results=tasks,
    )


READ = a_task(1, "files:read_file", {"path": "notes.md"}, {"lines": ["first line", "second"]})
SEND = a_task(2, "chat:post", {"to": "#notes", "text": "first line"}, None)


def frames(folder: Path) -> dict[str, pl.DataFrame]:
    return {name: pl.read_parquet(folder / name) for name in FILES}


@given(st.lists(traces(), max_size=5))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_exported_imported_and_exported_again_is_equal(
    tmp_path_factory: pytest.TempPathFactory, own: list[ExecutionTrace]
) -> None:
    """The round trip, and that no text of a trace is anywhere in the files."""
    folder = tmp_path_factory.mktemp("round")
    store, empty = await a_store(own), memory_store()

    done = await export_own(store, folder / "1", since_ms=0, limit=ALL, keep_intents=False)
    taken = await import_all(empty, folder / "1", source="team", now_ms=NOW_MS)
    await export_imported(empty, folder / "2", limit=ALL)

    assert (done.traces, taken.traces, taken.known) == (len(own), len(own), 0)
    for name, frame in frames(folder / "1").items():
        assert_frame_equal(frame, frames(folder / "2")[name])
        assert CANARY not in json.dumps(frame.to_dicts()).lower()
        assert CANARY.encode() not in (folder / "1" / name).read_bytes()


async def test_an_export_is_a_data_set_with_proven_data_flow(tmp_path: Path) -> None:
    store = await a_store([a_trace(number, READ, SEND) for number in range(5)])

    await export_own(store, tmp_path / "out", since_ms=0, limit=ALL, keep_intents=False)

    found = load(tmp_path / "out")
    assert found.notes == ()
    assert [tool.id for tool in found.dataset.tools] == ["chat:post", "files:read_file"]
    assert [one.split for one in found.dataset.workflows] == ["train"] * 4 + ["test"]
    first = found.dataset.workflows[0]
    assert (first.nodes, first.edges) == (("files:read_file", "chat:post"), ((0, 1),))
    assert first.intent.split()[:3] == ["read", "the", "file"]
    assert [(one.reward, one.n_errors) for one in found.dataset.episodes] == [(1.0, 0)] * 5
    assert [call.ok for call in found.dataset.calls] == [True] * 10


async def test_the_time_and_the_number_of_traces_can_be_bounded(tmp_path: Path) -> None:
    store = await a_store([a_trace(number, READ) for number in range(5)])

    since = await export_own(
        store, tmp_path / "1", since_ms=10**12 + 3, limit=ALL, keep_intents=False
    )
    latest = await export_own(store, tmp_path / "2", since_ms=0, limit=3, keep_intents=True)

    assert (since.traces, latest.traces) == (2, 3)
    times = pl.read_parquet(tmp_path / "2" / "traces.parquet")["executed_at_ms"].to_list()
    assert times == [0, 1, 2]


async def test_a_second_import_changes_nothing(tmp_path: Path) -> None:
    store, other = await a_store([a_trace(1, READ), a_trace(2, READ, SEND)]), memory_store()
    await export_own(store, tmp_path / "out", since_ms=0, limit=ALL, keep_intents=False)

    first = await import_all(other, tmp_path / "out", source="team", now_ms=NOW_MS)
    again = await import_all(other, tmp_path / "out", source="team", now_ms=NOW_MS + 1)

    assert (first.traces, first.known) == (2, 0)
    assert (again.traces, again.known) == (0, 2)
    (source,) = await other.imports.sources()
    assert (source.traces, source.imported_at_ms) == (2, NOW_MS)


async def test_a_folder_that_holds_something_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")

    with pytest.raises(RequestError, match="expected an empty or new folder"):
        await export_own(await a_store([]), tmp_path, since_ms=0, limit=ALL, keep_intents=False)

    assert sorted(tmp_path.glob("*")) == [tmp_path / "mine.txt"]  # noqa: ASYNC240


Row = dict[str, Any]
END_MS = int(dt.datetime(9999, 12, 31, 23, 59, 59, tzinfo=dt.UTC).timestamp() + 1) * 1000
SHARE = "expected a number from 0 to 1"
SPAN = "expected a finite number of ms, found"
MADE_TASK: Row = {
    "task_id": "n1",
    "node_id": "n1",
    "tool": "files:read_file",
    "args": "{}",
    "result": None,
    "success": True,
    "error": None,
    "error_code": None,
    "started_at_ms": END_MS - 1,
    "duration_ms": 1.0,
    "attempts": 1,
    "delivered": True,
    "mocked": False,
}
"""A call as an export may hold it."""
DAMAGE: dict[str, tuple[Row, str]] = {
    "a value": (
        {"initial_context": '{"path":"notes.md"}'},
        "'initial_context', row 1: expected to",
    ),
    "a name": ({"initial_context": '{"ada":null}'}, "'initial_context', row 1: expected tokens"),
    "no JSON": ({"initial_context": "{"}, "'initial_context', row 1: expected JSON"),
    "no state": ({"state": "happy"}, "row 1: Invalid enum value 'happy'"),
    "a name as id": ({"capability_id": "report_for_ada"}, "'id', row 1: expected tokens"),
    "null": ({"intent_text": None}, r"row 1: Expected `str`, got `null` - at `\$.intentText`"),
    "a negative time": (
        {"executed_at_ms": -1},
        r"row 1: Expected `int` >= 0 - at `\$.executedAtMs`",
    ),
    "a time that never comes": (
        {"executed_at_ms": 2**62},
        r"'executed_at_ms', row 1: expected a time before the year 10,000 in ms, found 4611\d+",
    ),
    "a call that starts then": (
        {"task_results": [MADE_TASK | {"started_at_ms": END_MS}]},
        "'task_results', row 1: expected a time before the year 10,000 in ms, found 2534",
    ),
    "no number as priority": ({"priority": math.nan}, f"'priority', row 1: {SHARE}, found nan"),
    "an endless priority": ({"priority": math.inf}, f"'priority', row 1: {SHARE}, found inf"),
    "a priority above 1": ({"priority": 1.5}, f"'priority', row 1: {SHARE}, found 1.5"),
    "a priority below 0": ({"priority": -0.5}, f"'priority', row 1: {SHARE}, found -0.5"),
    "no number as duration": (
        {"duration_ms": math.nan},
        r"row 1: Expected `float` >= 0.0 - at `\$.durationMs`",
    ),
    "an endless duration": ({"duration_ms": math.inf}, f"'duration_ms', row 1: {SPAN} inf"),
    "an endless call": (
        {"task_results": [MADE_TASK | {"duration_ms": math.inf}]},
        f"'task_results', row 1: {SPAN} inf",
    ),
}


@pytest.fixture
async def exported(tmp_path: Path) -> Path:
    """Two traces."""
    store = await a_store([a_trace(1, READ), a_trace(2, READ, SEND)])
    await export_own(store, tmp_path / "out", since_ms=0, limit=ALL, keep_intents=False)
    return tmp_path / "out"


async def assert_refused(folder: Path, said: str) -> None:
    """And nothing of it is kept."""
    store = memory_store()
    with pytest.raises(DatasetError, match=said):
        await import_all(store, folder, source="team", now_ms=NOW_MS)
    assert await store.imports.sources() == ()
    assert await store.imports.tools() == ()


@pytest.mark.parametrize("damage", DAMAGE)
async def test_a_row_that_no_export_writes_is_refused(exported: Path, damage: str) -> None:
    changes, said = DAMAGE[damage]
    path = exported / "traces.parquet"
    first, second = pq.read_table(path).to_pylist()
    pq.write_table(pa.Table.from_pylist([first, second | changes], schema=TRACES), path)

    await assert_refused(exported, rf"traces\.parquet.*{said}")


async def test_the_last_of_all_times_and_the_ends_of_priorities_are_taken(exported: Path) -> None:
    path, store = exported / "traces.parquet", memory_store()
    first, second = pq.read_table(path).to_pylist()
    first |= {"executed_at_ms": END_MS - 1, "priority": 0.0, "task_results": [MADE_TASK]}
    pq.write_table(pa.Table.from_pylist([first, second | {"priority": 1.0}], schema=TRACES), path)

    assert (await import_all(store, exported, source="team", now_ms=NOW_MS)).traces == 2


@pytest.mark.parametrize("between", [0, READ_AT_ONCE])
async def test_an_id_that_comes_twice_in_a_folder_is_refused(exported: Path, between: int) -> None:
    """Of batches that are read one after the other, too."""
    path = exported / "traces.parquet"
    first, second = pq.read_table(path).to_pylist()
    others = [second | {"id": f"{number:032x}"} for number in range(between)]
    pq.write_table(pa.Table.from_pylist([first, *others, first], schema=TRACES), path)

    said = rf"traces\.parquet, column 'id', row {between + 1}: expected unique ids, .* row 0"
    await assert_refused(exported, said)


async def test_a_file_with_other_columns_is_refused(exported: Path) -> None:
    path = exported / "traces.parquet"
    table = pq.read_table(path)

    pq.write_table(table.drop_columns("priority"), path)
    await assert_refused(exported, "column 'priority': expected a column of double, found none")
    times = table.schema.get_field_index("executed_at_ms")
    pq.write_table(
        table.set_column(times, "executed_at_ms", table["executed_at_ms"].cast("string")), path
    )
    await assert_refused(exported, "column 'executed_at_ms': expected int64, found text")


async def test_another_version_no_version_and_no_parquet_are_refused(exported: Path) -> None:
    path = exported / "traces.parquet"
    table = pq.read_table(path)

    pq.write_table(table.replace_schema_metadata({VERSION_KEY: b"2"}), path)
    await assert_refused(exported, "expected version 1 of the format, found 2")
    pq.write_table(table.replace_schema_metadata({}), path)
    await assert_refused(exported, "expected version 1 of the format, found none")
    path.write_bytes(b"PAR1")
    await assert_refused(exported, "expected a Parquet file")
    path.unlink()
    await assert_refused(exported, "there is no such file: expected a folder that")


async def test_a_tool_under_another_id_is_refused(exported: Path) -> None:
    path = exported / "tools.parquet"
    rows = pq.read_table(path).to_pylist()
    rows[0]["tool_id"] = "chat:other"
    pq.write_table(pa.Table.from_pylist(rows, schema=TOOLS_SCHEMA), path)

    await assert_refused(exported, r"'tool_id', row 0: expected 'chat:post' as server and name say")


async def test_polars_may_have_rewritten_the_columns(exported: Path) -> None:
    path = exported / "traces.parquet"
    metadata = {VERSION_KEY.decode(): "1"}
    pl.read_parquet(path).head(1).write_parquet(path, metadata=metadata)
    store = memory_store()

    done = await import_all(store, exported, source="team", now_ms=NOW_MS)

    assert done.traces == 1
