"""The tables of epics 10.1 to 10.3, row by row: patterns, node and edge types, arguments, coverage.

The rows carry the number of their acceptance criterion (AC) in the seed.  Where the specification
says otherwise it holds, and the test says so.
"""

# ruff: noqa: E501  # programs and what they become, a row each

from typing import Any

import pytest

from pml.analysis.analyse import analyse
from pml.domain.record import to_builtins
from pml.domain.structure import Edge, EdgeType, StaticStructure, Task
from pml.domain.tools import Catalog, Tool
from tests.analysis.programs import EPIC_10, program, schema

CATALOG = Catalog(
    {
        "fs": [
            Tool(
                server="fs",
                name="read",
                input_schema=schema("path"),
                output_schema=schema("content"),
            )
        ],
        "api": [Tool(server="api", name="fetch", input_schema=schema("url"))],
        "db": [Tool(server="db", name="write", input_schema=schema("data"))],
        "json": [
            Tool(
                server="json",
                name="parse",
                input_schema=schema("json"),
                output_schema=schema("value", value="object"),
            )
        ],
        "http": [
            Tool(
                server="http",
                name="post",
                input_schema=schema("url body", "note", body="object"),
            )
        ],
        "capabilities": [
            Tool(
                server="capabilities",
                name="summarize",
                input_schema=schema("text"),
                annotations={"capabilityId": "cap-xxx"},
            )
        ],
    }
)


def structure(source: str) -> StaticStructure:
    analysed = analyse(source, CATALOG)
    assert analysed.errors == ()
    return analysed.structure


def nodes(found: StaticStructure) -> list[str]:
    """``n1 task fs:read`` and so on, in order."""
    rows = []
    for node in found.nodes:
        row: dict[str, Any] = to_builtins(node)
        said = row.get("tool") or row.get("capabilityId") or row.get("condition") or ""
        rows.append(f"{row['id']} {row['type']} {said}".strip())
    return rows


def edges(found: StaticStructure) -> list[str]:
    """``d1 -conditional true-> n1`` and so on, in order."""
    return [f"{e.source} -{e.type}{_outcome(e)}-> {e.target}" for e in found.edges]


def _outcome(edge: Edge) -> str:
    return f" {edge.outcome}" if edge.outcome else f" {edge.coverage}" if edge.coverage else ""


def test_the_example_of_epic_10_comes_out_as_it_is_drawn() -> None:
    """10.1, the example; its `provides` edge is the one by schemas (SA-3)."""
    found = program(EPIC_10).structure
    assert nodes(found) == [
        "n1 task fs:stat",
        "d1 decision file.exists",
        "n2 task fs:read",
        "n3 task fs:create",
        "n4 task fs:write",
    ]
    assert [row for row in edges(found) if "provides" not in row] == [
        "n1 -sequence-> d1",
        "d1 -conditional true-> n2",
        "d1 -conditional false-> n3",
        "n3 -sequence-> n4",
    ]
    provided = [(e.source, e.target) for e in found.edges if e.type is EdgeType.PROVIDES]
    assert provided == [("n1", "n2")]


PATTERNS = {
    "AC5, AC9: a tool": (
        'const result = await mcp.fs.read({ path: "config.json" });',
        ["n1 task fs:read"],
        [],
    ),
    "AC5, AC12: a capability": (
        "const content = args.text; const summary = await capabilities.summarize({ text: content });",
        ["n1 capability cap-xxx"],
        [],
    ),
    "AC5, AC11: Promise.all": (
        "const [a, b] = await Promise.all([mcp.api.fetch({ url: urlA }), mcp.api.fetch({ url: urlB })]);",
        ["f1 fork", "n1 task api:fetch", "n2 task api:fetch", "j1 join"],
        ["f1 -sequence-> n1", "f1 -sequence-> n2", "n1 -sequence-> j1", "n2 -sequence-> j1"],
    ),
    "AC5: Promise.allSettled": (
        "await Promise.allSettled([mcp.api.fetch({ url: u }), mcp.api.fetch({ url: v })]);",
        ["f1 fork", "n1 task api:fetch", "n2 task api:fetch", "j1 join"],
        ["f1 -sequence-> n1", "f1 -sequence-> n2", "n1 -sequence-> j1", "n2 -sequence-> j1"],
    ),
    "AC5, AC10: if": (
        "if (condition) { await mcp.db.write({ data }); }",
        ["d1 decision condition", "n1 task db:write"],
        ["d1 -conditional true-> n1"],
    ),
    "AC6, AC10: if and else": (
        "if (c) { await mcp.db.write({ data }); } else { await mcp.fs.read({ path }); }",
        ["d1 decision c", "n1 task db:write", "n2 task fs:read"],
        ["d1 -conditional true-> n1", "d1 -conditional false-> n2"],
    ),
    "AC3, AC5: switch": (
        "switch (k) { case 1: await mcp.db.write({ data }); break; default: await mcp.fs.read({ path }); }",
        ["d1 decision k", "n1 task db:write", "n2 task fs:read"],
        ["d1 -conditional case:1-> n1", "d1 -conditional default-> n2"],
    ),
    "AC5: ternary": (
        "const x = c ? await mcp.db.write({ data }) : await mcp.fs.read({ path });",
        ["d1 decision c", "n1 task db:write", "n2 task fs:read"],
        ["d1 -conditional true-> n1", "d1 -conditional false-> n2"],
    ),
    "AC6: awaited one after the other": (
        "await mcp.db.write({ data }); await mcp.fs.read({ path });",
        ["n1 task db:write", "n2 task fs:read"],
        ["n1 -sequence-> n2"],
    ),
    "AC6, AC13: what flows": (
        "const file = await mcp.fs.read({ path }); await mcp.json.parse({ json: file.content });",
        ["n1 task fs:read", "n2 task json:parse"],
        ["n1 -sequence-> n2", "n1 -provides strict-> n2"],
    ),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_of_story_10_1_becomes_its_nodes_and_edges(name: str) -> None:
    """10.1.  An outcome of ``switch`` is ``case:1`` by the specification (SA-3), not ``case1``."""
    source, wanted_nodes, wanted_edges = PATTERNS[name]
    found = structure(source)
    assert nodes(found) == wanted_nodes
    assert edges(found) == wanted_edges


def test_all_tools_of_all_branches_are_known_to_whoever_approves() -> None:
    """10.1 AC8."""
    found = structure("if (c) await mcp.db.write({ data }); else await mcp.fs.read({ path });")
    assert found.tools() == ("db:write", "fs:read")


ARGUMENTS = {
    "AC3: a string": ('{ path: "config.json" }', {"path": ("literal", "config.json")}),
    "AC3: a number": ("{ path: 42 }", {"path": ("literal", 42)}),
    "AC3: an object": ("{ path: { a: [1, null] } }", {"path": ("literal", {"a": [1, None]})}),
    "AC3: an array": ("{ path: [1, 'x', true] }", {"path": ("literal", [1, "x", True])}),
    "AC4: a member of a result": (
        "{ path: file.content }",
        {"path": ("reference", "file.content")},
    ),
    "AC4: a whole result": ("{ path: file }", {"path": ("reference", "file")}),
    "AC5: a name from outside": ("{ path: userPath }", {"path": ("parameter", "userPath")}),
    "AC5: a member of args": ("{ path: args.userPath }", {"path": ("parameter", "userPath")}),
    "AC7: mixed": (
        '{ path: "a", b: file.content, c: userPath }',
        {
            "path": ("literal", "a"),
            "b": ("reference", "file.content"),
            "c": ("parameter", "userPath"),
        },
    ),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_of_story_10_2_has_its_type(name: str) -> None:
    """10.2.  What is none of the three is ``computed`` by the specification (SA-4)."""
    written, wanted = ARGUMENTS[name]
    tools = Catalog({"fs": [Tool(server="fs", name="read")]})
    source = f"const file = await mcp.fs.read({{}}); await mcp.fs.read({written});"
    analysed = analyse(source, tools)
    last = [node for node in analysed.structure.nodes if isinstance(node, Task)][-1]
    keys = {"literal": "value", "reference": "expression", "parameter": "parameterName"}
    given: dict[str, Any] = to_builtins(last.arguments)
    assert {n: (one["type"], one[keys[one["type"]]]) for n, one in given.items()} == wanted


def test_a_tool_that_is_called_without_arguments_has_none() -> None:
    """10.2 AC2: by the specification arguments are always there, and then empty."""
    (node,) = program("await mcp.s.a()").structure.nodes
    assert isinstance(node, Task)
    assert node.arguments == {}


COVERAGE = {
    "AC7: all required inputs": (
        "const file = await mcp.fs.read({ path }); await mcp.json.parse({ json: file.content });",
        "strict",
    ),
    "AC8: some required inputs": (
        'const p = await mcp.json.parse({ json }); await mcp.http.post({ url: "u", body: p.value });',
        "partial",
    ),
    "only optional inputs": (
        "const f = await mcp.fs.read({ path }); await mcp.http.post({ url, body, note: f.content });",
        "optional",
    ),
    "AC4: nothing in common": (
        "await mcp.json.parse({ json }); await mcp.db.write({ data });",
        None,
    ),
}


@pytest.mark.parametrize("name", COVERAGE)
def test_a_provides_edge_of_story_10_3_says_how_much_it_covers(name: str) -> None:
    """10.3: strict, partial, optional, or no edge.

    The seed tells it of pairs of schemas with equal names; the specification lets values in the
    code tell it too (SA-3, SA-10), and here they do.
    """
    source, wanted = COVERAGE[name]
    found = [e for e in structure(source).edges if e.type is EdgeType.PROVIDES]
    assert [e.coverage for e in found] == ([] if wanted is None else [wanted])


def test_the_types_of_edges_are_those_of_the_seed() -> None:
    """10.1 AC3.  10.3 AC1 lists those between tools, which `pml.store` has (ST-2)."""
    assert {str(kind) for kind in EdgeType} == {"sequence", "provides", "conditional", "contains"}
