"""Reads one Parquet file, checked against its `Table`: columns of plain values, or an error.

A file is read into memory once, and hashed and parsed from there: what a report names by its
hash is what was measured, even if somebody writes the file meanwhile.
"""

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from pml.domain.nearest import did_you_mean
from pml.errors import DatasetError
from pml.evaluation.schema import Column, Table, holds

Values: TypeAlias = Mapping[str, list[Any]]
"""Of each column, its values by row; a column that the file lacks has None in every row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """A file that was read."""

    name: str
    sha256: str
    size_bytes: int
    rows: int


def read_table(folder: Path, table: Table) -> tuple[Values, FileFacts] | None:
    """The columns of a file; None where the folder lacks it and may.

    Raises:
        DatasetError: the file is needed and missing, is no Parquet, or its columns are not those
            of the format.
    """
    path = folder / table.file
    if not path.exists() and not table.required:
        return None
    content = _content(path)
    frame = _parsed(path, content)
    for column in table.columns:
        _check(path, frame, column)
    facts = FileFacts(
        name=table.file,
        sha256=hashlib.sha256(content).hexdigest(),
        size_bytes=len(content),
        rows=frame.height,
    )
    return {column.name: _values(frame, column) for column in table.columns}, facts


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        message = "there is no such file: a data set needs it (docs/reference/datasets.md)"
        raise DatasetError(str(path), message) from None
    except OSError as exc:
        raise DatasetError(str(path), f"cannot be read: {exc.strerror or exc}") from exc


def _parsed(path: Path, content: bytes) -> pl.DataFrame:
    try:
        return pl.read_parquet(io.BytesIO(content))
    except (pl.exceptions.PolarsError, OSError, ValueError) as exc:
        reason = " ".join(str(exc).split())[:200]
        message = (
            f"expected a whole Parquet file, and it cannot be parsed ({reason}): write it anew"
        )
        raise DatasetError(str(path), message) from exc


def _check(path: Path, frame: pl.DataFrame, column: Column) -> None:
    if column.name not in frame.columns:
        if column.required:
            hint = did_you_mean(column.name, frame.columns)
            message = f"the column is missing; expected {column.kind.value}{hint}"
            raise DatasetError(str(path), message, column=column.name)
        return
    dtype = frame.schema[column.name]
    if not holds(dtype, column.kind):
        message = f"expected {column.kind.value}, found {dtype}; convert the column"
        raise DatasetError(str(path), message, column=column.name)
    if not column.nullable:
        _check_no_null(path, frame, column)
    if dtype.is_float():
        _check_finite(path, frame, column)


def _check_no_null(path: Path, frame: pl.DataFrame, column: Column) -> None:
    nulls = frame[column.name].is_null().arg_true()
    if len(nulls):
        found = f"null in {len(nulls):,} of {frame.height:,} rows"
        message = f"expected {column.kind.value}, found {found}"
        raise DatasetError(str(path), message, column=column.name, row=int(nulls[0]))


def _check_finite(path: Path, frame: pl.DataFrame, column: Column) -> None:
    """NaN compares as neither less nor more, so that it would pass for some right value."""
    odd = (~frame[column.name].is_finite()).fill_null(value=False).arg_true()
    if len(odd):
        row = int(odd[0])
        message = (
            f"expected finite {column.kind.value}, found {frame[column.name][row]}; "
            "write null where a value is not known"
        )
        raise DatasetError(str(path), message, column=column.name, row=row)


def _values(frame: pl.DataFrame, column: Column) -> list[Any]:
    if column.name not in frame.columns:
        return [None] * frame.height
    values: list[Any] = frame[column.name].to_list()
    return values
