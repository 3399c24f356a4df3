"""Explicit workflows become programs that take the same path (EX-1)."""

# ruff: noqa: E501  # programs and their results, a row each

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.analysis.dag import compile_dag
from pml.domain.dag import DagTask, ExplicitDag
from pml.domain.structure import EdgeType, Reference, Task
from pml.errors import DagError
from tests.analysis.programs import codes, program


def dag(*tasks: "Row") -> ExplicitDag:
    made = [DagTask(id=i, tool=t, arguments=a, depends_on=d) for i, t, a, d in tasks]
    return ExplicitDag(tasks=tuple(made))


def test_a_workflow_compiles_to_readable_code() -> None:
    source = compile_dag(
        dag(
            ("read", "fs:read", {"path": "a.txt"}, ()),
            ("my task", "my-server:read-file", {"of": ["$OUTPUT[read].rows[0]", 1]}, ("read",)),
            ("end", "s:b", {"text": "<$OUTPUT[read]> `${x}`\n"}, ("my task",)),
        )
    )
    assert source == (
        'const text = (value: unknown) => typeof value === "string" ? value : JSON.stringify(value);\n'
        "// read\n"
        'const task1 = mcp.fs.read({ path: "a.txt" });\n'
        "// my task\n"
        "const task2 = (async () => {\n"
        "  const [task1Output] = await Promise.all([task1]);\n"
        '  return await mcp["my-server"]["read-file"]({ of: [task1Output.rows[0], 1] });\n'
        "})();\n"
        "// end\n"
        "const task3 = (async () => {\n"
        "  const [, task1Output] = await Promise.all([task2, task1]);\n"
        "  return await mcp.s.b({ text: `<${text(task1Output)}> \\`\\${x}\\`\\n` });\n"
        "})();\n"
        "const [task1Output, task2Output, task3Output] = await Promise.all([task1, task2, task3]);\n"
        'return { read: task1Output, "my task": task2Output, end: task3Output };\n'
    )
    assert codes(program(source)) == []


def test_a_workflow_without_tasks_returns_nothing() -> None:
    assert program(compile_dag(ExplicitDag(tasks=()))).instrumented == "return {};\n"


Row = tuple[str, str, dict[str, Any], tuple[str, ...]]
WRONG: dict[str, tuple[list[Row], str]] = {
    "twice": (
        [("a", "s:a", {}, ()), ("a", "s:b", {}, ())],
        "task 'a': the id is used twice: every task needs its own",
    ),
    "unknown dependency": (
        [("a", "s:a", {}, ("b",))],
        "task 'a': depends_on names 'b', which is no task",
    ),
    "cycle": (
        [("a", "s:a", {}, ("b",)), ("b", "s:b", {}, ("a",))],
        "task 'a': depends_on goes round in a circle among a, b",
    ),
    "no tool": ([("a", "read", {}, ())], "task 'a': the tool is 'read', expected server:tool"),
    "unknown reference": (
        [("a", "s:a", {"x": {"y": ["$OUTPUT[b].z"]}}, ())],
        "task 'a': $OUTPUT[b].z refers to 'b', which is no task",
    ),
    "reference without waiting": (
        [("a", "s:a", {"x": "$OUTPUT[b]"}, ()), ("b", "s:b", {}, ())],
        "task 'a': $OUTPUT[b] is used without waiting: add 'b' to depends_on",
    ),
    "malformed reference": (
        [("a", "s:a", {"x": "$OUTPUT.b"}, ())],
        "task 'a': '$OUTPUT.b' holds a malformed reference, expected $OUTPUT[id].field[0]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_a_workflow_is_said(name: str) -> None:
    tasks, message = WRONG[name]
    with pytest.raises(DagError) as caught:
        compile_dag(dag(*tasks))
    assert str(caught.value) == message


@st.composite
def workflows(draw: st.DrawFn) -> ExplicitDag:
    """Up to seven tasks, each waiting for some earlier ones and using one of them."""
    tasks: list[DagTask] = []
    for place in range(draw(st.integers(0, 7))):
        waits: set[int] = draw(st.sets(st.integers(0, place - 1))) if place else set()
        names = tuple(f"t-{w}" for w in sorted(waits))
        uses: bool = draw(st.booleans())
        arguments = {"x": f"$OUTPUT[{names[0]}].y"} if names and uses else {}
        tasks.append(DagTask(id=f"t-{place}", tool="s:a", arguments=arguments, depends_on=names))
    shuffled: list[DagTask] = draw(st.permutations(tasks))
    return ExplicitDag(tasks=tuple(shuffled))


@given(workflows())
def test_the_structure_of_the_program_is_the_workflow(workflow: ExplicitDag) -> None:
    """A law: A happens before B in the program exactly where the workflow says so."""
    source = compile_dag(workflow)
    analysed = program(source)
    assert analysed.errors == ()
    comments = [line[3:] for line in source.splitlines() if line.startswith("// ")]
    ids = {f"n{place}": name for place, name in enumerate(comments, start=1)}
    before: dict[str, set[str]] = {name: set() for name in ids.values()}
    for edge in analysed.structure.edges:
        if edge.type is EdgeType.SEQUENCE:
            before[ids[edge.target]].add(ids[edge.source])
    wanted = {task.id: set(task.depends_on) for task in workflow.tasks}
    assert closure(before) == closure(wanted)
    uses = {ids[n.id]: n.arguments for n in analysed.structure.nodes if isinstance(n, Task)}
    for task in workflow.tasks:
        assert isinstance(uses[task.id].get("x"), Reference) == bool(task.arguments)


def closure(before: dict[str, set[str]]) -> dict[str, set[str]]:
    """All predecessors, not only the direct ones."""
    found = {name: set(direct) for name, direct in before.items()}
    for _ in found:
        for earlier in found.values():
            earlier.update(*(found[name] for name in list(earlier)))
    return found
