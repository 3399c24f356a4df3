"""Which files and columns a data set has, and of which types (`docs/reference/datasets.md`).

Only what PML reads is listed: other files and columns are left alone, so that a set can hold more.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

import polars as pl

Dtype: TypeAlias = Any
"""A `pl.DataType`; beartype, which checks annotations while tests run, cannot check that class."""


class Kind(Enum):
    """What a column holds; the value is how an error calls it."""

    TEXT = "text (String)"
    JSON_OBJECT = "text (String) with a JSON object"
    WHOLE = "whole numbers (Int32 or another integer type)"
    NUMBER = "numbers (Float64 or another numeric type)"
    TRUTH = "true or false (Boolean)"
    TEXTS = "lists of texts (List(String))"
    PAIRS = "lists of pairs of whole numbers (List(List(Int32)))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column that PML reads."""

    name: str
    kind: Kind = Kind.TEXT
    required: bool = True
    nullable: bool = False
    """A column that may be missing may hold nulls as well."""
    meaning: str
    """For the reference page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One file that PML reads."""

    file: str
    required: bool = False
    meaning: str
    columns: tuple[Column, ...]


def _maybe(name: str, meaning: str, kind: Kind = Kind.TEXT) -> Column:
    return Column(name=name, kind=kind, required=False, nullable=True, meaning=meaning)


TOOLS = Table(
    file="tools.parquet",
    required=True,
    meaning="what can be called, a row per tool",
    columns=(
        Column(name="tool_id", meaning="its name everywhere else; unique"),
        Column(name="server", meaning="which server it belongs to"),
        Column(name="name", meaning="what its server calls it"),
        Column(name="description", nullable=True, meaning="what it says that it does"),
        _maybe("input_schema", "JSON Schema of its arguments", Kind.JSON_OBJECT),
        _maybe("output_schema", "JSON Schema of its result", Kind.JSON_OBJECT),
    ),
)
WORKFLOWS = Table(
    file="workflows.parquet",
    meaning="intents, and what served them; a row per request",
    columns=(
        Column(name="workflow_id", meaning="unique"),
        Column(name="intent", meaning="what was asked for"),
        Column(name="nodes", kind=Kind.TEXTS, meaning="ids of tools, each after what feeds it"),
        Column(name="edges", kind=Kind.PAIRS, meaning="[from, to], places in nodes, from 0"),
        Column(name="split", meaning="`train`, `dev`, or a name that says test"),
        _maybe("description", "a paraphrase of the intent, written apart from it"),
        _maybe("notes", "what its author wrote beside it"),
        _maybe("node_names", "what its author called each node", Kind.TEXTS),
        _maybe("main_tool", "the tool that was asked for, among those it depends on"),
    ),
)
CALLS = Table(
    file="executions.parquet",
    meaning="recorded calls and how they ended, a row per call",
    columns=(
        Column(name="episode_id", meaning="which run the call belongs to"),
        Column(name="step", kind=Kind.WHOLE, meaning="order within the run; unique there"),
        Column(name="tool_id", meaning="what was called"),
        Column(name="ok", kind=Kind.TRUTH, nullable=True, meaning="whether it succeeded, if known"),
        _maybe("arguments", "what it was called with", Kind.JSON_OBJECT),
        _maybe("result_first", "its first result, JSON or text"),
        _maybe("response_head", "the beginning of its answer, where `result_first` is missing"),
    ),
)
EPISODES = Table(
    file="episodes.parquet",
    meaning="recorded runs, a row per run",
    columns=(
        Column(name="episode_id", meaning="unique"),
        _maybe("workflow_id", "which request it served"),
        Column(name="intent", meaning="what was asked for"),
        _maybe("reward", "how good it was, as its source says", Kind.NUMBER),
        _maybe("n_errors", "how many of its calls failed", Kind.WHOLE),
    ),
)
DEPENDENCIES = Table(
    file="dependencies.parquet",
    meaning="what a tool needs of another, a row per need",
    columns=(
        Column(name="provider", meaning="id of the tool that gives"),
        Column(name="consumer", meaning="id of the tool that needs"),
        Column(name="type", meaning="kind of the dependency"),
        _maybe("parameter", "which parameter of the consumer it is about"),
    ),
)
TABLES = (TOOLS, WORKFLOWS, CALLS, EPISODES, DEPENDENCIES)


def holds(dtype: Dtype, kind: Kind) -> bool:
    """Whether a column of this type can hold that; a column of nulls can hold anything."""
    return isinstance(dtype, pl.Null) or _FITS[kind](dtype)


def _is_text(dtype: Dtype) -> bool:
    return isinstance(dtype, (pl.String, pl.Categorical, pl.Enum, pl.Null))


def _is_list(dtype: Dtype, inner: Callable[[Dtype], bool]) -> bool:
    if not isinstance(dtype, (pl.List, pl.Array)):
        return False
    item = dtype.inner
    return inner(item if isinstance(item, pl.DataType) else item())


def _is_whole(dtype: Dtype) -> bool:
    return dtype.is_integer() or isinstance(dtype, pl.Null)


_FITS: dict[Kind, Callable[[Dtype], bool]] = {
    Kind.TEXT: _is_text,
    Kind.JSON_OBJECT: _is_text,
    Kind.WHOLE: _is_whole,
    Kind.NUMBER: lambda dtype: dtype.is_numeric(),
    Kind.TRUTH: lambda dtype: isinstance(dtype, pl.Boolean),
    Kind.TEXTS: lambda dtype: _is_list(dtype, _is_text),
    Kind.PAIRS: lambda dtype: _is_list(dtype, lambda pair: _is_null_or_list(pair, _is_whole)),
}


def _is_null_or_list(dtype: Dtype, inner: Callable[[Dtype], bool]) -> bool:
    return isinstance(dtype, pl.Null) or _is_list(dtype, inner)
