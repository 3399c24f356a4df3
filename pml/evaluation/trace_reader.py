"""Reads an export of traces, a batch at a time, and trusts nothing in it (RW-5).

A file that is not what `pml.evaluation.trace_writer` writes is an error that names file, column,
row and what was expected.  Values, ids and errors have to be tokens: what an import keeps may be
exported again, so nothing gets in that is not anonymous (intents excepted, which whoever
exported them could keep).  Numbers have to be ones that a trace can have, and ids its own.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from pml.domain.record import Record
from pml.domain.tools import Tool
from pml.domain.trace import BranchDecision, ExecutionTrace, TaskResult
from pml.errors import DatasetError
from pml.evaluation.anonymity import Vocabulary, breach, vocabulary
from pml.evaluation.trace_schema import (
    TOOLS,
    TOOLS_FILE,
    TRACES,
    TRACES_FILE,
    VERSION,
    VERSION_KEY,
)

BATCH = 500
"""Rows in memory at a time."""
_END_MS = 253_402_300_800_000
"""The year 10,000, which no clock of a run has reached, and few date types can write."""
_Row = dict[str, Any]
_R = TypeVar("_R", bound=Record)


def read_tools(folder: Path) -> tuple[Tool, ...]:
    """The tools of an export.

    Raises:
        DatasetError: the file is missing, damaged, or holds something else.
    """
    path = folder / TOOLS_FILE
    return tuple(_tool(path, number, row) for number, row in _rows(path, TOOLS))


def read_traces(folder: Path, tools: Iterable[Tool]) -> Iterator[tuple[ExecutionTrace, ...]]:
    """The traces of an export, in batches; ``tools`` are those of the same export.

    Beside a batch only the ids are held.

    Raises:
        DatasetError: the file is missing, damaged, of another version, or holds something else.
    """
    path, batch, public = folder / TRACES_FILE, list[ExecutionTrace](), vocabulary(tools)
    rows_by_id: dict[str, int] = {}
    for number, row in _rows(path, TRACES):
        trace = _trace(path, number, row, public)
        if (first := rows_by_id.setdefault(trace.id, number)) != number:
            message = f"expected unique ids, found {trace.id!r} again, as in row {first}"
            raise DatasetError(str(path), message, column="id", row=number)
        batch.append(trace)
        if len(batch) == BATCH:
            yield tuple(batch)
            batch.clear()
    if batch:
        yield tuple(batch)


def _rows(path: Path, schema: pa.Schema) -> Iterator[tuple[int, _Row]]:
    """Numbered rows with the columns of the schema."""
    try:
        with pq.ParquetFile(path) as file:
            _check_version(path, schema, file.metadata.metadata or {})
            for column in schema:
                _check_column(path, column, file.schema_arrow)
            number = 0
            for batch in file.iter_batches(batch_size=BATCH, columns=schema.names):
                for row in batch.to_pylist():
                    yield number, row
                    number += 1
    except FileNotFoundError as exc:
        message = "there is no such file: expected a folder that `pml export-traces` wrote"
        raise DatasetError(str(path), message) from exc
    except (OSError, pa.ArrowException) as exc:
        message = f"expected a Parquet file, found something else or a damaged one: {exc}"
        raise DatasetError(str(path), message) from exc


def _check_version(path: Path, expected: pa.Schema, found: Mapping[bytes, bytes]) -> None:
    if VERSION_KEY not in (expected.metadata or {}):
        return
    version = found.get(VERSION_KEY, b"none").decode(errors="replace")
    if version != VERSION:
        message = f"expected version {VERSION} of the format, found {version}"
        raise DatasetError(str(path), message)


def _check_column(path: Path, column: pa.Field, found: pa.Schema) -> None:
    index, expected = found.get_field_index(column.name), _kind(column.type)
    if index < 0:
        message = f"expected a column of {expected}, found none (or several)"
        raise DatasetError(str(path), message, column=column.name)
    if (kind := _kind(found.field(index).type)) != expected:
        raise DatasetError(str(path), f"expected {expected}, found {kind}", column=column.name)


def _kind(of: pa.DataType) -> str:
    """The type, however its writer lays it out: polars and pyarrow have several of text."""
    if pa.types.is_list(of) or pa.types.is_large_list(of) or pa.types.is_list_view(of):
        return f"list of {_kind(of.value_type)}"
    if pa.types.is_struct(of):
        return f"struct ({', '.join(f'{field.name}: {_kind(field.type)}' for field in of)})"
    text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return "text" if any(is_text(of) for is_text in text) else str(of)


def _tool(path: Path, number: int, row: _Row) -> Tool:
    values = row | {name: _json(path, number, name, row[name]) for name in _TOOL_JSON}
    del values["tool_id"]
    tool = _record(Tool, path, number, values)
    if tool.id != row["tool_id"]:
        message = f"expected {tool.id!r} as server and name say, found {row['tool_id']!r}"
        raise DatasetError(str(path), message, column="tool_id", row=number)
    return tool


def _trace(path: Path, number: int, row: _Row, public: Vocabulary) -> ExecutionTrace:
    values = row | {
        "run_id": row["id"],
        "initial_context": _json(path, number, "initial_context", row["initial_context"]),
        "task_results": [_task(path, number, task) for task in row["task_results"] or ()],
        "decisions": [_camel(BranchDecision, one) for one in row["decisions"] or ()],
    }
    trace = _record(ExecutionTrace, path, number, values)
    for column, expected, value, holds in _numbers(trace):
        if not holds:
            message = f"expected {expected}, found {value}"
            raise DatasetError(str(path), message, column=column, row=number)
    if (field := breach(trace, public)) is not None:
        message = "expected tokens as `pml export-traces` makes them, found something else"
        raise DatasetError(str(path), message, column=field, row=number)
    return trace


def _numbers(trace: ExecutionTrace) -> Iterator[tuple[str, str, float, bool]]:
    """Column, what is expected, the value, and whether it is that.

    That times and spans are no less than 0 was checked as the record was made.
    """
    a_time, a_span = "a time before the year 10,000 in ms", "a finite number of ms"
    yield "priority", "a number from 0 to 1", trace.priority, 0 <= trace.priority <= 1
    yield "executed_at_ms", a_time, trace.executed_at_ms, trace.executed_at_ms < _END_MS
    yield "duration_ms", a_span, trace.duration_ms, math.isfinite(trace.duration_ms)
    for task in trace.task_results:
        yield "task_results", a_time, task.started_at_ms, task.started_at_ms < _END_MS
        yield "task_results", a_span, task.duration_ms, math.isfinite(task.duration_ms)


def _task(path: Path, number: int, task: _Row) -> _Row:
    values = {name: _json(path, number, "task_results", task[name]) for name in ("args", "result")}
    return _camel(TaskResult, task | values)


_TOOL_JSON = ("input_schema", "output_schema", "annotations")


def _json(path: Path, number: int, column: str, text: str | None) -> Any:  # noqa: ANN401  # JSON
    """The value; null for null."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as exc:
        message = f"expected JSON, found something else: {exc}"
        raise DatasetError(str(path), message, column=column, row=number) from exc


def _camel(kind: type[Record], row: _Row) -> _Row:
    """The row under the names that the record's JSON has."""
    names = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    return {names[name]: value for name, value in row.items()}


def _record(kind: type[_R], path: Path, number: int, values: _Row) -> _R:
    try:
        return msgspec.convert(_camel(kind, values), kind)
    except msgspec.ValidationError as exc:
        raise DatasetError(str(path), str(exc), row=number) from exc
