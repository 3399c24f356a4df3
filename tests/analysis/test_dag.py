"""Explicit workflows become programs that take the same path (EX-1)."""

# ruff: noqa: E501  # programs and their results, a row each

import json
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pml.analysis.dag import compile_dag
from pml.domain.dag import DagTask, ExplicitDag, TaskType, read_dag
from pml.domain.structure import EdgeType, Reference, Task
from pml.errors import DagError, RequestError
from tests.analysis.programs import codes, program


def dag(*tasks: "Row") -> ExplicitDag:
    made = [DagTask(id=i, tool=t, arguments=a, depends_on=d) for i, t, a, d in tasks]
    return ExplicitDag(tasks=tuple(made))


def test_a_workflow_compiles_to_readable_code() -> None:
    source = compile_dag(
        dag(
            ("read", "fs:read", {"path": "a.txt"}, ()),
            ("my-task", "my-server:read-file", {"of": ["$OUTPUT[read].rows[0]", 1]}, ("read",)),
            ("end", "s:b", {"text": "<$OUTPUT[read]> `${x}`\n"}, ("my-task",)),
        )
    ).source
    assert source == (
        "// read\n"
        'const task1 = mcp.fs.read({ path: "a.txt" });\n'
        "// my-task\n"
        "const task2 = (async () => {\n"
        "  const [task1Output] = await Promise.all([task1]);\n"
        '  return await mcp["my-server"]["read-file"]({ of: [task1Output.rows[0], 1] });\n'
        "})();\n"
        "// end\n"
        "const task3 = (async () => {\n"
        "  const [, task1Output] = await Promise.all([task2, task1]);\n"
        '  return await mcp.s.b({ text: `<${typeof task1Output === "string" ? task1Output : JSON.stringify(task1Output)}> \\`\\${x}\\`\\n` });\n'
        "})();\n"
        "const [task1Output, task2Output, task3Output] = await Promise.all([task1, task2, task3]);\n"
        'return { read: task1Output, "my-task": task2Output, end: task3Output };\n'
    )
    assert codes(program(source)) == []


def test_code_sees_its_arguments_and_the_outputs_that_it_names() -> None:
    compiled = compile_dag(
        ExplicitDag(
            tasks=(
                DagTask(id="read", tool="fs:read", arguments={"path": "a"}),
                code_task("sum", "const task1 = $OUTPUT[read].rows;\nreturn [task1, args.z]"),
                DagTask(id="again", tool="capabilities:tidy", arguments={"x": "$OUTPUT[sum].k"}),
            )
        )
    )
    assert compiled.source == (
        "// read\n"
        'const task_1 = mcp.fs.read({ path: "a" });\n'
        "// sum\n"
        "const task_2 = (async () => {\n"
        "  const [task_1Output] = await Promise.all([task_1]);\n"
        "  return JSON.parse(JSON.stringify(await (async (args, $OUTPUT) => {\n"
        'const task1 = $OUTPUT["read"].rows;\n'
        "return [task1, args.z]\n"
        '  })({}, JSON.parse(JSON.stringify({ read: task_1Output })))) ?? "null");\n'
        "})();\n"
        "// again\n"
        "const task_3 = (async () => {\n"
        "  const [task_2Output] = await Promise.all([task_2]);\n"
        "  return await capabilities.tidy({ x: task_2Output.k });\n"
        "})();\n"
        "const [task_1Output, task_2Output, task_3Output] = await Promise.all([task_1, task_2, task_3]);\n"
        "return { read: task_1Output, sum: task_2Output, again: task_3Output };\n"
    )
    where = {line: compiled.place(line) for line in (1, 2, 3, 7, 8, 11, 14)}
    assert where == {
        1: "task 'read'",
        2: "task 'read'",
        3: "task 'sum'",
        7: "task 'sum', line 1 of its code",
        8: "task 'sum', line 2 of its code",
        11: "task 'again'",
        14: "task 'again'",
    }


def test_what_flows_through_code_is_seen() -> None:
    source = compile_dag(
        ExplicitDag(
            tasks=(
                DagTask(id="read", tool="fs:stat", arguments={"path": "a"}),
                code_task("pick", "const { size } = $OUTPUT.read; return { size };"),
                DagTask(id="use", tool="s:a", arguments={"x": "$OUTPUT[pick].size", "y": 1}),
                DagTask(id="other", tool="s:b", arguments={"x": "no"}),
            )
        )
    ).source
    provides = [e for e in program(source).structure.edges if e.type is EdgeType.PROVIDES]
    # "other" comes before "use": it waits for nothing
    assert [(e.source, e.target) for e in provides] == [("n1", "n3")]


def test_a_workflow_without_tasks_returns_nothing() -> None:
    assert program(compile_dag(ExplicitDag(tasks=())).source).instrumented == "return {};\n"


def code_task(name: str, code: str, depends_on: tuple[str, ...] = ()) -> DagTask:
    return DagTask(id=name, type=TaskType.CODE_EXECUTION, code=code, depends_on=depends_on)


Row = tuple[str, str, dict[str, Any], tuple[str, ...]]
WRONG: dict[str, tuple[list[Row], str]] = {
    "twice": (
        [("a", "s:a", {}, ()), ("a", "s:b", {}, ())],
        "task 'a': the id is used twice: every task needs its own",
    ),
    "unknown dependency": (
        [("read", "s:a", {}, ()), ("b", "s:a", {}, ("raed",))],
        "task 'b': depends_on names 'raed', which is no task; did you mean 'read'?",
    ),
    "circle": (
        [("z", "s:a", {}, ()), ("a", "s:a", {}, ("b",)), ("b", "s:b", {}, ("c",)), ("c", "s:b", {"x": "$OUTPUT[a]"}, ())],
        "task 'a': the tasks go round in a circle: a waits for b waits for c waits for a",
    ),
    "itself": (
        [("a", "s:a", {}, ("a",))],
        "task 'a': depends_on names the task itself: it would wait for ever",
    ),
    "its own output": (
        [("a", "s:a", {"x": "$OUTPUT[a].y"}, ())],
        "task 'a': $OUTPUT[a] is its own output: it would wait for itself",
    ),
    "no tool": ([("a", "read", {}, ())], "task 'a': the tool is 'read', expected server:tool"),
    "unknown reference": (
        [("a", "s:a", {"x": {"y": ["$OUTPUT[b].z"]}}, ())],
        "task 'a': $OUTPUT[b] refers to 'b', which is no task",
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


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (
            code_task("a", "const x = 1;\nreturn (;"),
            "task 'a': line 2, column",
        ),
        (code_task("a", "return 1; }, () => { return 2;"), "task 'a': line 1, column"),
        (code_task("a", "return $OUTPUT[b].x;"), "task 'a': $OUTPUT[b] refers to 'b', which is"),
        (code_task("a", "return `${$OUTPUT.a}`;"), "task 'a': $OUTPUT[a] is its own output"),
        (DagTask(id="a", type=TaskType.CODE_EXECUTION), "task 'a': a task of type code_execution"),
        (DagTask(id="a", tool="s:a", code="1"), "task 'a': it has code and is of type mcp_tool"),
        (
            DagTask(id="a", type=TaskType.CAPABILITY, tool="s:a"),
            "task 'a': the tool is 's:a', expected capabilities:name",
        ),
    ],
)
def test_what_is_wrong_with_one_task_is_said(task: DagTask, message: str) -> None:
    with pytest.raises(DagError) as caught:
        compile_dag(ExplicitDag(tasks=(task,)))
    assert str(caught.value).startswith(message)


def test_a_name_in_brackets_that_is_a_variable_names_no_task() -> None:
    code = "for (const each of ['read']) { if ($OUTPUT[each]) return 1; }"
    compiled = compile_dag(
        ExplicitDag(
            tasks=(
                DagTask(id="read", tool="fs:read", arguments={"path": "a"}),
                code_task("b", code, depends_on=("read",)),
            )
        )
    )
    assert code in compiled.source


def test_ten_thousand_tasks_in_a_row_are_compiled() -> None:
    """Nothing recurses or compares all with all."""
    tasks = [DagTask(id="t0", tool="s:a")]
    tasks += [
        DagTask(id=f"t{place}", tool="s:a", depends_on=(f"t{place - 1}",))
        for place in range(1, 10_000)
    ]
    compiled = compile_dag(ExplicitDag(tasks=tuple(reversed(tasks))))
    assert compiled.source.startswith("// t0\n")
    ring = msgspec.structs.replace(tasks[0], depends_on=("t9999",))
    with pytest.raises(
        DagError, match=r"t0 waits for t9999 waits for t9998 .* \.\.\. waits for t0"
    ):
        compile_dag(ExplicitDag(tasks=(ring, *tasks[1:])))


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
    source = compile_dag(workflow).source
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


STRANGE = st.sampled_from(
    [
        *("a", "b", "1", "$OUTPUT[a]", "$OUTPUT[b].x[0]", "$OUTPUT[a", "`${$OUTPUT[1]}`", "\\", ""),
        *("*/", "${", "\u2028", "\r", "//", "\0", "s:a", "fs:", "my-server:read-file", "é", "'\""),
        *(
            "return 1",
            "return $OUTPUT[a]",
            "}",
            "await mcp.s.a({x: $OUTPUT.b})",
            "const task1 = 1;",
        ),
    ]
)
STRANGE_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | STRANGE,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(STRANGE, inner, max_size=2),
    max_leaves=5,
)
STRANGE_TASKS = st.fixed_dictionaries(
    {"id": st.sampled_from(["a", "b", "1"]) | STRANGE_VALUES},
    optional={
        "type": st.sampled_from([*TaskType]) | STRANGE_VALUES,
        "tool": st.sampled_from(["s:a", "fs:read"]) | STRANGE_VALUES,
        "code": STRANGE_VALUES,
        "args": st.dictionaries(STRANGE, STRANGE_VALUES, max_size=2) | STRANGE_VALUES,
        "dependsOn": st.lists(STRANGE, max_size=2) | STRANGE_VALUES,
    },
)


@st.composite
def mostly_right(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Tasks that name each other as they should, with odd texts wherever texts may be odd."""
    tasks: list[dict[str, Any]] = []
    for name in ("1", "a-b", "c")[: draw(st.integers(1, 3))]:
        named = [f"<$OUTPUT[{task['id']}].x['y']>" for task in tasks] + ["$", "\\$OUT"]
        texts = STRANGE.filter(lambda text: "$OUTPUT" not in text) | st.sampled_from(named)
        values = st.recursive(texts | st.none(), st.lists, max_leaves=3)
        task: dict[str, Any] = {"id": name, "args": draw(st.dictionaries(STRANGE, values))}
        if draw(st.booleans()):
            task |= {"tool": f"s:{draw(STRANGE)}x"}
        else:
            said = draw(st.lists(values.map(json.dumps), max_size=2))
            task |= {"type": "code_execution", "code": f"return [{', '.join(said)}] //"}
        tasks.append(task)
    return tasks


@given(mostly_right() | st.lists(STRANGE_TASKS, max_size=3) | STRANGE_VALUES)
@settings(max_examples=300, deadline=None)
def test_whatever_comes_is_refused_in_words_or_becomes_a_program_that_parses(tasks: object) -> None:
    """A law: a workflow that is taken gives code without errors of syntax (MCP-6)."""
    message = ""
    try:
        source = compile_dag(read_dag({"tasks": tasks})).source
    except (RequestError, DagError) as exc:
        source, message = "return 1;", str(exc)
    assert not message or re.match(r"(dag|task ).*?: .{8}", message, re.DOTALL)
    assert {"syntax", "too-deep"} & set(codes(program(source))) == set()
