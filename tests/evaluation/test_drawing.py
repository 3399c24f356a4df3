"""Where the nodes of a drawn structure stand: order goes down, nothing is covered (RW-1)."""

import matplotlib as mpl
from matplotlib.figure import Figure

from pml.analysis.analyse import analyse
from pml.domain.structure import EdgeType, Loop, StaticStructure
from pml.evaluation.drawing import draw_structure, places
from pml.evaluation.style import STYLE, styled
from tests.analysis.programs import CATALOG, EPIC_10
from tests.oracle.snippets import SNIPPETS

FLOW = (EdgeType.SEQUENCE, EdgeType.CONDITIONAL, EdgeType.CONTAINS)
STRUCTURES = {
    name: structure
    for name, source in {
        "epic 10": EPIC_10,
        **{name: case.source for name, case in SNIPPETS.items()},
    }.items()
    if (structure := analyse(source, CATALOG).structure).nodes
}


def nodes_covered(structure: StaticStructure) -> list[tuple[float, float]]:
    at = list(places(structure).values())
    return [place for place in at if at.count(place) > 1]


def test_every_node_has_a_place_of_its_own_and_order_goes_down() -> None:
    assert len(STRUCTURES) > 50
    for structure in STRUCTURES.values():
        at = places(structure)
        assert set(at) == {node.id for node in structure.nodes}
        assert nodes_covered(structure) == []
        upwards = [
            edge
            for edge in structure.edges
            if edge.type in FLOW and at[edge.source][1] <= at[edge.target][1]
        ]
        assert upwards == []


def test_what_follows_a_loop_stands_below_its_body() -> None:
    structure = analyse(
        "for (const x of args.xs) { await mcp.s.a({ x }); await mcp.s.b({}); } await mcp.s.c({});",
        CATALOG,
    ).structure
    at = places(structure)

    assert [node.id for node in structure.nodes if isinstance(node, Loop)] == ["l1"]
    assert at["n3"][1] < at["n2"][1] < at["n1"][1] < at["l1"][1]


def test_all_of_it_is_drawn_in_the_style_of_the_block() -> None:
    before = dict(mpl.rcParams)
    with styled():
        axes = Figure().subplots()
        draw_structure(STRUCTURES["epic 10"], axes)
        assert mpl.rcParams["figure.figsize"] == list(STYLE["figure.figsize"])

    shown = {text.get_text() for text in axes.texts}
    assert {"n1  fs:stat", "if file.exists", "true", "false"} <= shown
    assert dict(mpl.rcParams) == before


def test_an_empty_program_draws_nothing() -> None:
    axes = Figure().subplots()

    draw_structure(StaticStructure(nodes=(), edges=(), complete=True), axes)

    assert [text.get_text() for text in axes.texts] == []


def test_one_call_stands_alone() -> None:
    assert places(STRUCTURES["one call"]) == {"n1": (0, 0)}
