"""Explicit workflows are read in every spelling that agents use (EX-1, MCP-6)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.dag import DagTask, ExplicitDag, TaskType, read_dag
from pml.domain.record import to_builtins
from pml.errors import RequestError

IDS = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,5}", fullmatch=True)
VALUES = st.recursive(st.none() | st.integers(0, 9) | st.text(max_size=3), st.lists, max_leaves=4)


@st.composite
def tasks(draw: st.DrawFn) -> DagTask:
    kind = draw(st.sampled_from(TaskType))
    tools = {TaskType.MCP_TOOL: "fs:read", TaskType.CAPABILITY: "capabilities:tidy"}
    return DagTask(
        id=draw(IDS),
        type=kind,
        tool=tools.get(kind, ""),
        code=None if kind in tools else draw(st.text(max_size=9)),
        arguments=draw(st.dictionaries(st.text(max_size=3), VALUES, max_size=2)),
        depends_on=tuple(draw(st.lists(IDS, max_size=2))),
    )


@given(st.lists(tasks(), min_size=1, max_size=3), st.data())
def test_every_spelling_says_the_same(listed: list[DagTask], data: st.DataObject) -> None:
    """A law: what is spelled otherwise, or said twice over with null, is the same workflow."""
    dag = ExplicitDag(tasks=tuple(listed))
    document: Any = to_builtins(dag)
    document["tasks"] = [respelled(task, data) for task in document["tasks"]]
    if data.draw(st.booleans()):
        document = {"workflow": document}
    assert read_dag(document) == dag


def respelled(task: dict[str, Any], data: st.DataObject) -> dict[str, Any]:
    new: dict[str, Any] = {}
    if data.draw(st.booleans()):
        new["sideEffects"] = data.draw(st.booleans())
    for name in ("type", "code", "arguments", "depends_on"):
        if name not in task and data.draw(st.booleans()):
            new[name] = None
    others = {"arguments": "args", "depends_on": "dependsOn"}
    for name, value in task.items():
        other = name in others and name not in new and data.draw(st.booleans())
        new[others[name] if other else name] = list(value) if name == "depends_on" else value
    if task.get("type") == TaskType.CAPABILITY:
        new["tool"] = data.draw(st.sampled_from(["tidy", "capabilities:tidy"]))
    if task.get("type") == TaskType.CODE_EXECUTION and data.draw(st.booleans()):
        new["tool"] = "pml:execute_code"
    return new


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (None, "dag: expected an object with tasks, got nothing"),
        ([], "dag: expected an object with tasks, got a list"),
        ({"workflow": 3}, "dag.workflow: expected an object with tasks, got a number"),
        ({"tasks": [], "x": 1}, "dag: expected only tasks, found x too"),
        ({"tasks": []}, "dag.tasks: expected at least one task"),
        ({"tasks": {}}, "dag.tasks: expected a list of tasks, got an object without tasks"),
        (
            {"workflow": {"tasks": [1]}},
            "dag.workflow.tasks[0]: expected an object with id and tool, got a number",
        ),
        ([{"tool": "a:b"}], "dag.tasks[0]: missing id"),
        ([{"id": "a b", "tool": "a:b"}], "dag.tasks[0].id: expected letters, digits, _ and -"),
        ([{"id": "a", "tool": "read"}], "dag.tasks[0].tool: expected server:tool"),
        (
            [{"id": "a", "tool": "a:b", "dependsOn": "b"}],
            "dag.tasks[0].depends_on: expected a list, got str",
        ),
        (
            [{"id": "a", "tool": "a:b", "args": []}],
            "dag.tasks[0].arguments: expected an object, got array",
        ),
        (
            [{"id": "a", "tool": "a:b", "args": {}, "arguments": {}}],
            "dag.tasks[0].arguments: means the same as arguments: give one of them",
        ),
        (
            [{"id": "a", "tool": "a:b", "depnds_on": []}],
            "dag.tasks[0].depnds_on: no such field; did you mean 'depends_on'",
        ),
        (
            [{"id": "a", "type": "tool", "tool": "a:b"}],
            "dag.tasks[0].type: expected one of mcp_tool, code_execution, capability, got 'tool'",
        ),
    ],
)
def test_what_is_no_workflow_is_refused_with_the_field(document: Any, message: str) -> None:  # noqa: ANN401  # JSON
    if isinstance(document, list) and document:
        document = {"tasks": document}
    with pytest.raises(RequestError) as caught:
        read_dag(document)
    assert str(caught.value).startswith(message)
