"""A data set loads whole, or an error says which file, column and row and what to do (RW-6)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from pml.errors import DatasetError
from pml.evaluation.dataset import Call, Dependency, Episode, Tool, Workflow
from pml.evaluation.loading import load
from tests.evaluation.folders import (
    DEPENDENCIES,
    EPISODES,
    EXECUTIONS,
    TOOLS,
    WHOLE,
    WORKFLOWS,
    without,
    write,
)


def test_every_file_becomes_its_records(tmp_path: Path) -> None:
    dataset = load(write(tmp_path / "mine")).dataset

    assert dataset.name == "mine"
    assert dataset.tools[1] == Tool(id="b", server="s", name="beta")
    assert dataset.tools[2].input_schema == {"properties": {"x": {}}}
    assert dataset.workflows[0] == Workflow(
        id="w0", intent="do alpha then beta", nodes=("a", "b"), edges=((0, 1),)
    )
    assert dataset.calls == (
        Call(episode_id="e0", step=0, tool_id="a", arguments={}, ok=False),
        Call(episode_id="e0", step=1, tool_id="b", result="cut {"),
        Call(episode_id="e1", step=0, tool_id="a", arguments={"x": 1}, ok=True, result={"y": 2}),
    )
    assert dataset.episodes[0] == Episode(
        id="e0", workflow_id="w0", intent="do alpha", reward=1.0, n_errors=1
    )
    assert dataset.dependencies == (Dependency(provider="a", consumer="b", type="TOOL"),)


def test_only_tools_are_needed(tmp_path: Path) -> None:
    folder = write(tmp_path, workflows=None, executions=None, episodes=None, dependencies=None)

    loaded = load(folder)

    assert [tool.id for tool in loaded.dataset.tools] == ["a", "b", "c"]
    assert not loaded.dataset.workflows
    assert [file.name for file in loaded.files] == ["tools.parquet"]


def test_other_files_and_columns_are_left_alone(tmp_path: Path) -> None:
    folder = write(tmp_path, tools={**TOOLS, "stars": [1, 2, 3]})
    (folder / "graph.parquet").write_bytes(b"not looked at")

    assert len(load(folder).dataset.tools) == 3


def test_a_file_is_named_by_its_hash_and_its_rows(tmp_path: Path) -> None:
    first, second = load(write(tmp_path / "x")), load(write(tmp_path / "y"))
    changed = load(write(tmp_path / "z", tools={**TOOLS, "name": ["alpha", "beta", "delta"]}))

    assert first.files == second.files
    assert first.files[0].sha256 != changed.files[0].sha256
    assert [file.rows for file in first.files] == [3, 2, 3, 2, 1]


def test_tools_that_the_catalogue_lacks_are_named_and_noted(tmp_path: Path) -> None:
    loaded = load(
        write(
            tmp_path,
            workflows={**WORKFLOWS, "nodes": [["a", "gone"], ["c"]]},
            executions={**EXECUTIONS, "tool_id": ["a", "lost", "a"]},
        )
    )

    assert loaded.dataset.unknown_tools == {"gone", "lost"}
    assert len(loaded.notes) == 2
    assert "workflows.parquet, column 'nodes': 1 of the tools" in loaded.notes[0]


def test_a_cut_value_of_another_source_counts_as_missing_and_is_noted(tmp_path: Path) -> None:
    loaded = load(
        write(
            tmp_path,
            tools={**TOOLS, "input_schema": ['{"a": 1}', '"{cut"', None]},
            executions={**EXECUTIONS, "arguments": ['{"x": 1}', '{"x": 1', "[1]"]},
        )
    )

    assert [tool.input_schema for tool in loaded.dataset.tools] == [{"a": 1}, None, None]
    assert [call.arguments for call in loaded.dataset.calls] == [None, None, {"x": 1}]
    assert len(loaded.notes) == 2


Columns: TypeAlias = Mapping[str, Sequence[Any]]
TOO_DEEP = "[" * 100_000
BROKEN: list[tuple[str, Columns, tuple[str | None, int | None], str]] = [
    ("tools", without(TOOLS, "tool_id"), ("tool_id", None), "the column is missing"),
    (
        "tools",
        {**without(TOOLS, "description"), "descripton": ["", "", ""]},
        ("description", None),
        "did you mean 'descripton'?",
    ),
    ("tools", {**TOOLS, "tool_id": [1, 2, 3]}, ("tool_id", None), "expected text (String), found"),
    ("tools", {**TOOLS, "tool_id": ["a", "b", "a"]}, ("tool_id", 2), "'a' again, as in row 0"),
    ("tools", {**TOOLS, "server": ["s", None, "s"]}, ("server", 1), "found null in 1 of 3 rows"),
    ("tools", {**TOOLS, "input_schema": [None, "{", "{}"]}, ("input_schema", 1), "a JSON object"),
    (
        "tools",
        {**TOOLS, "input_schema": [None, TOO_DEEP, "{}"]},
        ("input_schema", 1),
        "JSON object",
    ),
    (
        "tools",
        {**TOOLS, "output_schema": [None, "[]", "3"]},
        ("output_schema", 1),
        "none in 2 texts",
    ),
    ("tools", {name: [] for name in TOOLS}, (None, None), "at least one tool"),
    ("workflows", without(WORKFLOWS, "split"), ("split", None), "the column is missing"),
    ("workflows", {**WORKFLOWS, "nodes": ["a,b", "c"]}, ("nodes", None), "lists of texts"),
    ("workflows", {**WORKFLOWS, "edges": [[0, 1], [1]]}, ("edges", None), "lists of pairs"),
    ("workflows", {**WORKFLOWS, "edges": [[[0.0, 1.0]], []]}, ("edges", None), "lists of pairs"),
    ("workflows", {**WORKFLOWS, "edges": [[[0, 2]], []]}, ("edges", 0), "places in nodes, 0 to 1"),
    ("workflows", {**WORKFLOWS, "edges": [[[-1, 1]], []]}, ("edges", 0), "places in nodes"),
    ("workflows", {**WORKFLOWS, "edges": [[[1, 1]], []]}, ("edges", 0), "two different places"),
    ("workflows", {**WORKFLOWS, "edges": [[[1, 0]], []]}, ("edges", 0), "topological order"),
    ("workflows", {**WORKFLOWS, "edges": [[[0, 1, 1]], []]}, ("edges", 0), "a pair [from, to]"),
    ("workflows", {**WORKFLOWS, "edges": [[[0, None]], []]}, ("edges", 0), "a pair [from, to]"),
    ("workflows", {**WORKFLOWS, "edges": [[None], []]}, ("edges", 0), "a pair [from, to]"),
    ("workflows", {**WORKFLOWS, "nodes": [["a", None], ["c"]]}, ("nodes", 0), "null in it"),
    ("workflows", {**WORKFLOWS, "nodes": [["x", "y"], ["z"]]}, ("nodes", None), "belong together?"),
    ("workflows", {**WORKFLOWS, "workflow_id": ["w", "w"]}, ("workflow_id", 1), "'w' again"),
    ("workflows", {**WORKFLOWS, "main_tool": ["c", None]}, ("main_tool", 0), "one of the nodes"),
    ("workflows", {**WORKFLOWS, "node_names": [["A"], ["C"]]}, ("node_names", 0), "found 1"),
    ("executions", {**EXECUTIONS, "ok": ["yes", "no", "no"]}, ("ok", None), "true or false"),
    ("executions", {**EXECUTIONS, "step": [0, 0, 0]}, ("step", 2), "as in row 1"),
    ("executions", {**EXECUTIONS, "step": ["0", "1", "2"]}, ("step", None), "whole numbers"),
    ("executions", {**EXECUTIONS, "arguments": ["x=1", "y", None]}, ("arguments", 0), "in 2 texts"),
    ("executions", {**EXECUTIONS, "tool_id": ["x", "x", "x"]}, ("tool_id", None), "none of the 1"),
    ("episodes", {**EPISODES, "reward": ["good", "bad"]}, ("reward", None), "numbers"),
    ("episodes", {**EPISODES, "reward": [1.0, float("nan")]}, ("reward", 1), "finite numbers"),
    ("episodes", {**EPISODES, "reward": [float("-inf"), None]}, ("reward", 0), "found -inf; write"),
    ("episodes", {**EPISODES, "episode_id": ["e", "e"]}, ("episode_id", 1), "unique"),
    ("dependencies", {**DEPENDENCIES, "provider": ["x"]}, ("provider", 0), "tools.parquet lacks"),
]


@pytest.mark.parametrize(("file", "columns", "place", "said"), BROKEN)
def test_what_is_wrong_is_said_with_file_column_and_row(
    tmp_path: Path, file: str, columns: Columns, place: tuple[str | None, int | None], said: str
) -> None:
    folder = write(tmp_path, **{file: columns})

    with pytest.raises(DatasetError) as caught:
        load(folder)

    assert Path(caught.value.file) == folder / f"{file}.parquet"
    assert (caught.value.column, caught.value.row) == place
    assert said in str(caught.value)
    assert len(str(caught.value)) < 700


def test_a_folder_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()

    for name, said in (("gone", "nothing of that name"), ("file", "a file"), ("empty", "is empty")):
        with pytest.raises(DatasetError, match=said):
            load(tmp_path / name)


def test_a_folder_without_tools_is_said(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"tools\.parquet: there is no such file"):
        load(write(tmp_path, tools=None))


@pytest.mark.parametrize("file", list(WHOLE))
def test_a_file_that_is_no_parquet_is_said(tmp_path: Path, file: str) -> None:
    folder = write(tmp_path)
    (folder / f"{file}.parquet").write_text("tool_id,server\n")

    with pytest.raises(DatasetError, match="expected a whole Parquet file"):
        load(folder)


@pytest.mark.parametrize("kept", [0.0, 0.01, 0.3, 0.6, 0.9, 0.999])
@pytest.mark.parametrize("file", list(WHOLE))
def test_a_truncated_file_is_said(tmp_path: Path, file: str, kept: float) -> None:
    path = write(tmp_path) / f"{file}.parquet"
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * kept)])

    with pytest.raises(DatasetError, match="expected a whole Parquet file"):
        load(tmp_path)


def test_a_file_that_is_a_folder_is_said(tmp_path: Path) -> None:
    (write(tmp_path, episodes=None) / "episodes.parquet").mkdir()

    with pytest.raises(DatasetError, match="cannot be read"):
        load(tmp_path)
