"""The baseline is what it says: Dijkstra on pairs, and what it leaves out is told (LE-6)."""

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from pml.pathfinding.drdsp import DRDSP
from pml.pathfinding.records import START, Hyperedge
from pml.pathfinding.two_section import TwoSection
from tests.oracle.hyperpaths import NODES, exact_weights, hyperedges

source_sets = st.sets(st.sampled_from(NODES), min_size=1, max_size=3)


@given(hyperedges(exact_weights), source_sets, st.sampled_from(NODES))
def test_costs_are_those_of_networkx(
    edges: list[Hyperedge], sources: set[str], target: str
) -> None:
    pairs: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    pairs.add_nodes_from(NODES)
    pairs.add_weighted_edges_from((s, e.target, e.weight) for e in edges for s in e.sources)
    walk = TwoSection(edges).shortest_path(sources, target)
    costs = nx.multi_source_dijkstra_path_length(pairs, sources)
    assert (None if walk is None else walk.cost) == costs.get(target)


@given(hyperedges(exact_weights), source_sets, st.sampled_from(NODES))
def test_it_is_never_dearer_than_the_hyperpath_and_reaches_no_less(
    edges: list[Hyperedge], sources: set[str], target: str
) -> None:
    path = DRDSP.from_hyperedges(edges, nodes=NODES).find_shortest_hyperpath(sources, target)
    walk = TwoSection(edges).shortest_path(sources, target)
    if path is not None:
        assert walk is not None
        assert walk.cost <= path.cost


def test_it_forgets_what_a_call_needs_besides() -> None:
    edges = [
        Hyperedge(id="s", sources=(START,), target="a", weight=1),
        Hyperedge(id="ab", sources=("a", "b"), target="c", weight=1),
    ]
    walk = TwoSection(edges).shortest_path([START], "c")
    assert walk is not None
    assert walk.nodes == (START, "a", "c")
    assert walk.cost == 2
    assert walk.missing == {"b"}
    assert TwoSection(edges).shortest_path([START], "nowhere") is None
