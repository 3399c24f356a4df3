"""Loads a data set: a folder of Parquet files in, one `Dataset` out, or an error that says where.

Nothing is loaded by half: every row of every file is checked before anything is returned.
What is wrong with a *format* is an error (a missing column, an edge to no node, a schema that
is no JSON).  What only says little is a note: a recorded argument that its source had cut, a
workflow with a tool that the catalogue lacks.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pml.errors import DatasetError
from pml.evaluation.cells import Cells
from pml.evaluation.dataset import Call, Dataset, Dependency, Episode, Tool, Workflow
from pml.evaluation.schema import CALLS, DEPENDENCIES, EPISODES, TOOLS, WORKFLOWS, Table
from pml.evaluation.tables import FileFacts, Values, read_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A data set, and what there is to say about how it was read."""

    dataset: Dataset
    files: tuple[FileFacts, ...]
    notes: tuple[str, ...]
    """What was left out or is odd, a sentence each."""


def load(folder: Path) -> Loaded:
    """Read a folder in the format of ``docs/reference/datasets.md``.

    Raises:
        DatasetError: the folder or a file of it is not in the format.
    """
    _check_folder(folder)
    tables = {table: read_table(folder, table) for table in (TOOLS, *_OPTIONAL)}
    notes: list[str] = []
    cells = {table: Cells(folder / table.file, notes) for table in tables}
    read = {table: _values(tables[table], table) for table in tables}
    tools = _tools(read[TOOLS], cells[TOOLS])
    workflows = _workflows(read[WORKFLOWS], cells[WORKFLOWS])
    calls = _calls(read[CALLS], cells[CALLS])
    known = {tool.id for tool in tools}
    dataset = Dataset(
        name=folder.resolve().name,
        tools=tools,
        workflows=workflows,
        calls=calls,
        episodes=_episodes(read[EPISODES], cells[EPISODES]),
        dependencies=_dependencies(read[DEPENDENCIES], cells[DEPENDENCIES], known),
        unknown_tools=_unknown(workflows, known, cells[WORKFLOWS], "nodes")
        | _unknown(calls, known, cells[CALLS], "tool_id"),
    )
    files = tuple(found[1] for found in tables.values() if found is not None)
    return Loaded(dataset=dataset, files=files, notes=tuple(notes))


_OPTIONAL = (WORKFLOWS, CALLS, EPISODES, DEPENDENCIES)


def _check_folder(folder: Path) -> None:
    expected = "expected a folder with tools.parquet (docs/reference/datasets.md)"
    if not folder.exists():
        raise DatasetError(str(folder), f"{expected}, but there is nothing of that name")
    if not folder.is_dir():
        raise DatasetError(str(folder), f"{expected}, but this is a file; give its folder")
    if not any(folder.iterdir()):
        raise DatasetError(str(folder), f"{expected}, but the folder is empty")


def _values(found: tuple[Values, FileFacts] | None, table: Table) -> Values:
    return {column.name: [] for column in table.columns} if found is None else found[0]


def _tools(values: Values, cells: Cells) -> tuple[Tool, ...]:
    cells.check_unique("tool_id", values["tool_id"])
    if not values["tool_id"]:
        raise DatasetError(str(cells.path), "expected at least one tool, found no rows")
    inputs = cells.json_objects("input_schema", values["input_schema"], strict=True)
    outputs = cells.json_objects("output_schema", values["output_schema"], strict=True)
    return tuple(
        Tool(
            id=tool_id,
            server=values["server"][row],
            name=values["name"][row],
            description=values["description"][row] or "",
            input_schema=inputs[row],
            output_schema=outputs[row],
        )
        for row, tool_id in enumerate(values["tool_id"])
    )


def _workflows(values: Values, cells: Cells) -> tuple[Workflow, ...]:
    cells.check_unique("workflow_id", values["workflow_id"])
    return tuple(
        _workflow(row, {name: column[row] for name, column in values.items()}, cells)
        for row in range(len(values["workflow_id"]))
    )


def _workflow(row: int, value: Mapping[str, Any], cells: Cells) -> Workflow:
    nodes = cells.texts("nodes", row, value["nodes"])
    names = cells.texts("node_names", row, value["node_names"] or ())
    if names and len(names) != len(nodes):
        message = f"expected a name for each of the {len(nodes)} nodes, found {len(names)}"
        raise cells.error(message, "node_names", row)
    main_tool = value["main_tool"]
    if main_tool is not None and main_tool not in nodes:
        message = f"expected one of the nodes, found {main_tool!r}"
        raise cells.error(message, "main_tool", row)
    return Workflow(
        id=value["workflow_id"],
        intent=value["intent"],
        nodes=nodes,
        edges=cells.edges("edges", row, value["edges"], n_nodes=len(nodes)),
        split=value["split"],
        description=value["description"],
        notes=value["notes"],
        node_names=names,
        main_tool=main_tool,
    )


def _calls(values: Values, cells: Cells) -> tuple[Call, ...]:
    keys = list(zip(values["episode_id"], values["step"], strict=True))
    cells.check_unique("step", keys)
    arguments = cells.json_objects("arguments", values["arguments"], strict=False)
    results = [
        head if first is None else first
        for first, head in zip(values["result_first"], values["response_head"], strict=True)
    ]
    calls = [
        Call(
            episode_id=episode_id,
            step=step,
            tool_id=values["tool_id"][row],
            arguments=arguments[row],
            ok=values["ok"][row],
            result=cells.json_or_text(results[row]),
        )
        for row, (episode_id, step) in enumerate(keys)
    ]
    return tuple(sorted(calls, key=lambda call: (call.episode_id, call.step)))


def _episodes(values: Values, cells: Cells) -> tuple[Episode, ...]:
    cells.check_unique("episode_id", values["episode_id"])
    return tuple(
        Episode(
            id=episode_id,
            workflow_id=values["workflow_id"][row],
            intent=values["intent"][row],
            reward=values["reward"][row],
            n_errors=values["n_errors"][row],
        )
        for row, episode_id in enumerate(values["episode_id"])
    )


def _dependencies(values: Values, cells: Cells, known: set[str]) -> tuple[Dependency, ...]:
    for column in ("provider", "consumer"):
        for row, tool_id in enumerate(values[column]):
            if tool_id not in known:
                message = f"expected the id of a tool, found {tool_id!r}, which tools.parquet lacks"
                raise cells.error(message, column, row)
    return tuple(
        Dependency(
            provider=provider,
            consumer=values["consumer"][row],
            type=values["type"][row],
            parameter=values["parameter"][row],
        )
        for row, provider in enumerate(values["provider"])
    )


def _unknown(
    records: Iterable[Workflow | Call], known: set[str], cells: Cells, column: str
) -> frozenset[str]:
    """Tools that records name and the catalogue lacks: few are noted, all are an error."""
    named = {
        tool_id
        for record in records
        for tool_id in (record.nodes if isinstance(record, Workflow) else (record.tool_id,))
    }
    unknown = named - known
    if unknown and unknown == named:
        message = (
            f"none of the {len(named):,} tools that it names (as {min(named)!r}) is a tool_id of "
            "tools.parquet: do both files belong together?"
        )
        raise cells.error(message, column)
    if unknown:
        cells.note(f"{len(unknown):,} of the tools that it names are not in tools.parquet", column)
    return frozenset(unknown)
