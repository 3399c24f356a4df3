"""Who is in whom, and on which level, as nodes come and go: as a graph made anew says (LE-5)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.features.members import Members
from pml.models.hypergraph import hypergraph
from pml.models.nesting import Node, above, below, link, unlink

MOST = 6
STEPS = st.lists(
    st.tuples(st.integers(0, MOST - 1), st.sets(st.integers(0, MOST - 1), max_size=3)), max_size=15
)
"""A capability, and the members it gets; none at all takes it away."""


def after(steps: list[tuple[int, set[int]]]) -> dict[str, Node]:
    """Capabilities, once each step that makes no cycle was taken."""
    nodes: dict[str, Node] = {}
    for own, inner in steps:
        key = f"c{own}"
        if key in nodes and not inner:
            unlink(nodes.pop(key))
            continue
        node = nodes.setdefault(key, Node(id=key, level=1, row=0))
        members = [nodes[f"c{number}"] for number in sorted(inner) if f"c{number}" in nodes]
        if not set(members) & set(above([node])):
            link(node, members)
    return nodes


@given(STEPS)
def test_levels_are_those_of_a_graph_made_anew(steps: list[tuple[int, set[int]]]) -> None:
    nodes = after(steps)
    members = [
        Members(id=node.id, capabilities=tuple(one.id for one in node.members))
        for node in nodes.values()
    ]
    levels = hypergraph((), members).levels
    expected = {key: level for level, ids in enumerate(levels) for key in ids}
    assert {key: node.level for key, node in nodes.items()} == expected


@given(STEPS)
def test_members_and_containers_say_the_same(steps: list[tuple[int, set[int]]]) -> None:
    nodes = after(steps)
    down = {(node.id, one.id) for node in nodes.values() for one in node.members}
    up = {(one.id, node.id) for node in nodes.values() for one in node.containers}
    assert down == up
    assert {key for pair in down for key in pair} <= nodes.keys()


@given(STEPS)
def test_above_and_below_are_in_the_order_in_which_messages_go(
    steps: list[tuple[int, set[int]]],
) -> None:
    nodes = after(steps)
    for node in nodes.values():
        up, down = above([node]), below([node])
        assert up[0] is down[0] is node
        assert all(up.index(one) < up.index(over) for one in up for over in one.containers)
        assert all(down.index(one) < down.index(inner) for one in down for inner in one.members)


def test_a_cycle_is_refused_and_nothing_is_changed() -> None:
    lower, upper = Node(id="lower", level=1, row=0), Node(id="upper", level=1, row=1)
    link(upper, [lower])
    with pytest.raises(ValueError, match="'lower' contains itself"):
        link(lower, [upper])
    assert (list(upper.members), list(lower.members)) == ([lower], [])
    assert (lower.level, upper.level) == (1, 2)
