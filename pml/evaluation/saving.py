"""Writes a `Dataset` as a folder: the inverse of `pml.evaluation.loading`."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from pml.evaluation.dataset import Dataset
from pml.evaluation.schema import CALLS, DEPENDENCIES, EPISODES, TOOLS, WORKFLOWS, Kind, Table

_TYPES: Mapping[Kind, Any] = {
    Kind.TEXT: pl.String,
    Kind.JSON_OBJECT: pl.String,
    Kind.WHOLE: pl.Int32,
    Kind.NUMBER: pl.Float64,
    Kind.TRUTH: pl.Boolean,
    Kind.TEXTS: pl.List(pl.String),
    Kind.PAIRS: pl.List(pl.List(pl.Int32)),
}
_Row: TypeAlias = tuple[Any, ...]


def save(dataset: Dataset, folder: Path) -> None:
    """Write the files that the set has rows for; ``folder`` is made if need be.

    A result that is no JSON text comes back as the JSON value that it is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for table, frame in frames(dataset).items():
        frame.write_parquet(folder / table.file, compression="zstd", compression_level=19)


def frames(dataset: Dataset) -> dict[Table, pl.DataFrame]:
    """The set's tables; without those that have no rows."""
    rows = {
        TOOLS: _tools(dataset),
        WORKFLOWS: _workflows(dataset),
        CALLS: _calls(dataset),
        EPISODES: _episodes(dataset),
        DEPENDENCIES: _dependencies(dataset),
    }
    return {table: _frame(table, found) for table, found in rows.items() if found}


def _frame(table: Table, rows: Sequence[_Row]) -> pl.DataFrame:
    """Rows as a table, without the columns that may be missing and hold nothing."""
    names = [column.name for column in table.columns if column.name != "response_head"]
    kinds = {column.name: _TYPES[column.kind] for column in table.columns}
    frame = pl.DataFrame(rows, schema={name: kinds[name] for name in names}, orient="row")
    empty = [
        column.name
        for column in table.columns
        if not column.required and column.name in names and frame[column.name].is_null().all()
    ]
    return frame.drop(empty)


def _tools(dataset: Dataset) -> list[_Row]:
    return [
        (t.id, t.server, t.name, t.description, _json(t.input_schema), _json(t.output_schema))
        for t in dataset.tools
    ]


def _workflows(dataset: Dataset) -> list[_Row]:
    return [
        (
            w.id,
            w.intent,
            list(w.nodes),
            [list(edge) for edge in w.edges],
            w.split,
            w.description,
            w.notes,
            list(w.node_names) or None,
            w.main_tool,
        )
        for w in dataset.workflows
    ]


def _calls(dataset: Dataset) -> list[_Row]:
    return [
        (c.episode_id, c.step, c.tool_id, c.ok, _json(c.arguments), _json(c.result))
        for c in dataset.calls
    ]


def _episodes(dataset: Dataset) -> list[_Row]:
    return [(e.id, e.workflow_id, e.intent, e.reward, e.n_errors) for e in dataset.episodes]


def _dependencies(dataset: Dataset) -> list[_Row]:
    return [(d.provider, d.consumer, d.type, d.parameter) for d in dataset.dependencies]


def _json(value: object) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)
