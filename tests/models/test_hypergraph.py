"""Levels and incidence of the hypergraph against a recursion that says them (LE-5)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.features.members import Members
from pml.models.hypergraph import Hypergraph, hypergraph
from tests.models.worlds import DEEP, World, worlds


def level_of(world: World, capability: int) -> int:
    _, inside = world.capabilities[capability]
    return 1 + max((level_of(world, inner) for inner in inside), default=0)


def pairs_of(graph: Hypergraph) -> list[tuple[str, str]]:
    ids = [*graph.tools, *graph.capabilities]
    return [
        (ids[member], ids[container])
        for member, container in zip(graph.members, graph.containers, strict=True)
    ]


@given(worlds())
def test_a_level_is_one_more_than_the_highest_inside(world: World) -> None:
    graph = world.graph
    every = range(len(world.capabilities))
    highest = max((level_of(world, own) for own in every), default=0)
    expected = [
        tuple(f"c{own}" for own in every if level_of(world, own) == level)
        for level in range(1, highest + 1)
    ]
    assert graph.levels == (tuple(world.tool_ids), *expected)


@given(worlds())
def test_pairs_are_who_is_in_whom_and_rise(world: World) -> None:
    graph = world.graph
    expected = {
        (member, one.id) for one in world.members for member in (*one.tools, *one.capabilities)
    }
    assert set(pairs_of(graph)) == expected
    pairs = list(zip(graph.containers.tolist(), graph.members.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    levels = np.searchsorted(graph.starts[1:], [graph.members, graph.containers], side="right")
    assert (levels[0] < levels[1]).all()


@given(worlds())
def test_numbers_run_through_the_levels(world: World) -> None:
    graph = world.graph
    assert graph.nodes == world.tools + len(world.capabilities) == graph.starts[-1]
    ids = [key for level in graph.levels for key in level]
    assert ids == [*graph.tools, *graph.capabilities]
    assert [ids[start:end] for start, end in zip(graph.starts, graph.starts[1:], strict=False)] == [
        list(level) for level in graph.levels
    ]


@given(worlds(), worlds())
def test_graphs_are_identical_exactly_when_ids_and_pairs_are(one: World, other: World) -> None:
    same = one.graph.levels == other.graph.levels and pairs_of(one.graph) == pairs_of(other.graph)
    assert (one.graph.identity == other.graph.identity) == same


@given(worlds())
def test_the_order_of_members_makes_no_difference(world: World) -> None:
    turned = [
        Members(
            id=one.id,
            tools=(*reversed(one.tools), *one.tools),
            capabilities=tuple(reversed(one.capabilities)),
        )
        for one in world.members
    ]
    assert hypergraph(world.tool_ids, turned).identity == world.graph.identity


@pytest.mark.parametrize(
    "other",
    [
        hypergraph([*DEEP.tool_ids, "t9"], DEEP.members),
        hypergraph([*reversed(DEEP.tool_ids)], DEEP.members),
        hypergraph(DEEP.tool_ids, DEEP.members[:-1]),
        hypergraph(DEEP.tool_ids, [*DEEP.members[:-1], Members(id="c4", tools=("t4",))]),
        hypergraph(DEEP.tool_ids, [*DEEP.members[:-1], Members(id="other")]),
    ],
)
def test_another_id_order_or_pair_is_another_graph(other: Hypergraph) -> None:
    assert other.identity != DEEP.graph.identity


def test_identity_stays_the_same_between_programs() -> None:
    graph = hypergraph(["b", "a"], [Members(id="a", tools=("a",))])
    # Parameters are kept with it: a change here makes all saved ones useless.
    assert graph.identity == "054b0ee63fec1f6d69ba7d6e0d0dc3204bca76456e708b604450f3d5ce41f9c9"


def test_unknown_members_are_passed_over() -> None:
    graph = hypergraph(["a"], [Members(id="c", tools=("a", "gone"), capabilities=("gone",))])
    assert pairs_of(graph) == [("a", "c")]


def test_a_tool_and_a_capability_may_have_the_same_id() -> None:
    graph = hypergraph(["a"], [Members(id="a", tools=("a",))])
    assert (graph.members.tolist(), graph.containers.tolist()) == ([0], [1])


@given(st.integers(1, 5))
def test_a_capability_that_contains_itself_is_refused(length: int) -> None:
    ring = [Members(id=f"c{at}", capabilities=(f"c{(at + 1) % length}",)) for at in range(length)]
    with pytest.raises(ValueError, match="contains itself"):
        hypergraph([], ring)


@pytest.mark.parametrize(
    ("tools", "capabilities", "twice"),
    [(["a", "a"], [], "tool 'a'"), ([], [Members(id="c")] * 2, "capability 'c'")],
)
def test_an_id_that_comes_twice_is_refused(
    tools: list[str], capabilities: list[Members], twice: str
) -> None:
    with pytest.raises(ValueError, match=f"{twice} comes twice"):
        hypergraph(tools, capabilities)


@pytest.mark.parametrize("step", [1, -1])
def test_nesting_may_be_deep(step: int) -> None:
    depth = 5000
    chain = [Members(id="c0", tools=("a",))]
    chain += [Members(id=f"c{at}", capabilities=(f"c{at - 1}",)) for at in range(1, depth)]
    graph = hypergraph(["a"], chain[::step])
    assert len(graph.levels) == depth + 1
    assert graph.members.tolist() == list(range(depth))
