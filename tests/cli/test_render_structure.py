"""A structure as text holds every node and every edge, at any width (SA-2, SA-3)."""

import re

from hypothesis import given
from hypothesis import strategies as st

from pml.cli.render_structure import render_structure
from pml.domain.structure import (
    Decision,
    Edge,
    EdgeType,
    Fork,
    Join,
    Literal,
    Location,
    Loop,
    Node,
    Parameter,
    Reference,
    StaticStructure,
    Task,
)

EPIC = StaticStructure(
    nodes=(
        Task(id="n1", tool="fs:stat", arguments={"path": Parameter(parameter_name="path")}),
        Decision(id="d1", condition="file.exists"),
        Task(id="n2", tool="fs:read", arguments={"path": Parameter(parameter_name="path")}),
        Task(id="n3", tool="fs:create", arguments={"mode": Literal(value={"deep": [1]})}),
    ),
    edges=(
        Edge(source="n1", target="d1", type=EdgeType.SEQUENCE),
        Edge(source="d1", target="n2", type=EdgeType.CONDITIONAL, outcome="true"),
        Edge(source="d1", target="n3", type=EdgeType.CONDITIONAL, outcome="false"),
        Edge(source="n1", target="n2", type=EdgeType.PROVIDES),
    ),
    complete=True,
    parameters=("path",),
    layers=(("n1",), ("n2", "n3")),
    locations={
        "n1": Location(line=1, column=20, start=19, end=40),
        "d1": Location(line=2, column=1, start=42, end=150),
        "n2": Location(line=3, column=3, start=70, end=90),
        "n3": Location(line=5, column=3, start=110, end=130),
    },
)

EPIC_TEXT = """\
3 call sites, 3 tools, 1 decision, 2 layers; parameters: path

line  node what                              after
   1  n1   fs:stat(path: args.path)
   2  d1   decide file.exists                n1
   3  n2     fs:read(path: args.path)        d1=true
   5  n3     fs:create(mode: {"deep": [1]})  d1=false

results that flow into arguments: n1 -> n2"""


def test_the_example_of_epic_10_reads_as_an_outline() -> None:
    assert render_structure(EPIC, width=80) == EPIC_TEXT


def test_an_incomplete_structure_says_so() -> None:
    text = render_structure(
        StaticStructure(nodes=(Task(id="n1", tool="*"),), edges=(), complete=False), width=80
    )

    assert "Incomplete" in text


def test_an_empty_program_has_no_outline() -> None:
    text = render_structure(StaticStructure(nodes=(), edges=(), complete=True), width=80)

    assert text == "0 call sites, 0 tools, 0 decisions, 0 layers"


@st.composite
def structures(draw: st.DrawFn) -> StaticStructure:
    """Nodes of all kinds at increasing offsets, with edges between any of them."""
    words = st.text(max_size=60)
    nodes: list[Node] = []
    for number in range(1, draw(st.integers(1, 6)) + 1):
        nodes += [
            Task(
                id=f"n{number}",
                tool=f"s:{draw(st.sampled_from('abc'))}",
                arguments={"x": Reference(expression=draw(words), node="n1")},
            ),
            Decision(id=f"d{number}", condition=draw(words)),
            Fork(id=f"f{number}", combinator="all"),
            Join(id=f"j{number}"),
            Loop(id=f"l{number}", condition=draw(words)),
        ]
    ids = [node.id for node in nodes]
    edges = st.builds(
        Edge,
        source=st.sampled_from(ids),
        target=st.sampled_from(ids),
        type=st.sampled_from(EdgeType),
        outcome=st.none() | st.just("true"),
    )
    places = {
        node_id: Location(line=i + 1, column=1, start=10 * i, end=10 * i + draw(st.integers(1, 99)))
        for i, node_id in enumerate(ids)
        if draw(st.booleans())
    }
    return StaticStructure(
        nodes=tuple(nodes),
        edges=tuple(draw(st.lists(edges, max_size=10))),
        complete=True,
        locations=places,
    )


@given(structure=structures(), width=st.integers(60, 120))
def test_every_node_has_exactly_one_line_and_no_line_is_too_wide(
    structure: StaticStructure, width: int
) -> None:
    text = render_structure(structure, width=width)

    shown = re.findall(r"^ *\d* {2}([ndfjl]\d+)\b", text.split("\n\n")[1], flags=re.MULTILINE)
    assert sorted(shown) == sorted(node.id for node in structure.nodes)
    assert all(len(line) <= width for line in text.split("\n")[2:])
