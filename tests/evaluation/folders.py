"""Small data sets as folders, whole ones and broken ones."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

TOOLS: Mapping[str, Sequence[Any]] = {
    "tool_id": ["a", "b", "c"],
    "server": ["s", "s", "t"],
    "name": ["alpha", "beta", "gamma"],
    "description": ["First tool", None, "Third tool"],
    "input_schema": ['{"type": "object"}', None, '{"properties": {"x": {}}}'],
    "output_schema": [None, None, None],
}
WORKFLOWS: Mapping[str, Sequence[Any]] = {
    "workflow_id": ["w0", "w1"],
    "intent": ["do alpha then beta", "do gamma"],
    "nodes": [["a", "b"], ["c"]],
    "edges": [[[0, 1]], []],
    "split": ["train", "test"],
}
EXECUTIONS: Mapping[str, Sequence[Any]] = {
    "episode_id": ["e1", "e0", "e0"],
    "step": [0, 1, 0],
    "tool_id": ["a", "b", "a"],
    "ok": [True, None, False],
    "arguments": ['{"x": 1}', None, "{}"],
    "response_head": ['{"y": 2}', "cut {", None],
}
EPISODES: Mapping[str, Sequence[Any]] = {
    "episode_id": ["e0", "e1"],
    "workflow_id": ["w0", None],
    "intent": ["do alpha", "do beta"],
    "reward": [1.0, None],
    "n_errors": [1, 0],
}
DEPENDENCIES: Mapping[str, Sequence[Any]] = {
    "provider": ["a"],
    "consumer": ["b"],
    "type": ["TOOL"],
    "parameter": [None],
}
WHOLE: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "tools": TOOLS,
    "workflows": WORKFLOWS,
    "executions": EXECUTIONS,
    "episodes": EPISODES,
    "dependencies": DEPENDENCIES,
}


def write(folder: Path, **changed: Mapping[str, Sequence[Any]] | None) -> Path:
    """A whole set with some files changed; None leaves a file out."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, columns in {**WHOLE, **changed}.items():
        if columns is not None:
            pl.DataFrame(dict(columns)).write_parquet(folder / f"{name}.parquet")
    return folder


def without(columns: Mapping[str, Sequence[Any]], name: str) -> dict[str, Sequence[Any]]:
    """The columns but one."""
    return {key: values for key, values in columns.items() if key != name}
