"""Writes an export of traces, a batch at a time (RW-5).

Whatever number of traces there is, only one batch of them is in memory.  Files get their names
when all of them are complete, so a folder never looks like an export that it is not.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pml.domain.record import encode
from pml.domain.tools import Tool
from pml.domain.trace import ExecutionTrace
from pml.errors import RequestError
from pml.evaluation.trace_schema import FILES, TOOLS_FILE, TRACES, TRACES_FILE
from pml.evaluation.trace_sets import TEST, TRAIN, Row, calls, episode, workflow

TRAIN_SHARE = 0.8
"""Of the traces, the earliest; what came later is asked about."""
_PARTIAL = ".partial"


class TraceWriter:
    """Takes anonymous traces, the earliest first; see `writing`."""

    def __init__(self, tables: dict[str, pq.ParquetWriter], tools: Sequence[Tool], n: int) -> None:
        self._tables = tables
        self._tools = frozenset(tool.id for tool in tools)
        self._last_of_train = TRAIN_SHARE * n
        self.written = 0
        self.workflows = 0
        self._write(TOOLS_FILE, map(_tool_row, tools))

    def add(self, traces: Iterable[ExecutionTrace]) -> None:
        """Write a batch."""
        rows: dict[str, list[Row]] = {name: [] for name in self._tables}
        for trace in traces:
            split = TRAIN if self.written < self._last_of_train else TEST
            self.written += 1
            served = workflow(trace, self._tools, split=split)
            rows[TRACES_FILE].append(_trace_row(trace))
            rows["workflows.parquet"] += [] if served is None else [served]
            rows["executions.parquet"] += calls(trace, self._tools)
            served_id = None if served is None else trace.id
            rows["episodes.parquet"].append(episode(trace, served_id))
        self.workflows += len(rows["workflows.parquet"])
        for name, some in rows.items():
            if some:
                self._write(name, some)

    def _write(self, name: str, rows: Iterable[Row]) -> None:
        self._tables[name].write_table(pa.Table.from_pylist(list(rows), schema=FILES[name]))


@contextmanager
def writing(folder: Path, tools: Sequence[Tool], *, traces: int) -> Iterator[TraceWriter]:
    """Write an export into an empty or new folder; on an error nothing of it stays.

    Args:
        folder: where.
        tools: those that are listed.
        traces: how many will come, by which they are split into train and test.

    Raises:
        RequestError: the folder holds something, or cannot be written.
    """
    _prepare(folder)
    partial = {name: folder / f"{name}{_PARTIAL}" for name in FILES}
    try:
        with ExitStack() as stack:
            tables = {
                name: stack.enter_context(pq.ParquetWriter(path, FILES[name], compression="zstd"))
                for name, path in partial.items()
            }
            yield TraceWriter(tables, tools, traces)
        for name, path in partial.items():
            path.rename(folder / name)
    finally:
        for path in partial.values():
            path.unlink(missing_ok=True)


def _prepare(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        empty = next(folder.iterdir(), None) is None
    except OSError as exc:
        message = f"{folder}: expected a folder that can be made and written: {exc.strerror}"
        raise RequestError(message) from exc
    if not empty:
        message = f"{folder}: expected an empty or new folder, found something in it"
        raise RequestError(message)


def _tool_row(tool: Tool) -> Row:
    output = tool.output_schema
    return {
        "tool_id": tool.id,
        "server": tool.server,
        "name": tool.name,
        "description": tool.description,
        "input_schema": _json(tool.input_schema),
        "output_schema": None if output is None else _json(output),
        "annotations": _json(tool.annotations),
    }


def _trace_row(trace: ExecutionTrace) -> Row:
    row: Row = {name: getattr(trace, name) for name in TRACES.names}
    return row | {
        "initial_context": _json(trace.initial_context),
        "state": str(trace.state),
        "executed_path": list(trace.executed_path),
        "decisions": [_fields(decision) for decision in trace.decisions],
        "task_results": [
            _fields(task) | {"args": _json(task.args), "result": _json(task.result)}
            for task in trace.task_results
        ],
    }


def _fields(record: Any) -> Row:  # noqa: ANN401  # a struct
    return {name: getattr(record, name) for name in record.__struct_fields__}


def _json(value: object) -> str:
    return encode(value).decode()
