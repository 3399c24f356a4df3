"""PageRank of tools and of hyperedges (LE-5); oracles: networkx, rustworkx, a linear solve."""

import networkx as nx
import numpy as np
import pytest
import rustworkx
from hypothesis import given, settings
from hypothesis import strategies as st

from pml.features.graph import feature_graph
from pml.features.members import Members
from pml.features.pagerank import carried, distribution, hypergraph_pagerank, pagerank, stationary
from pml.features.walks import Walk, activity_walk, capability_walk, tool_walk
from tests.features.graphs import RECORDS, TOOLS, Records, capabilities, graph_of, relabelled
from tests.features.test_walks import dense

DAMPINGS = st.sampled_from([0.0, 0.5, 0.85, 0.99])


def solved(walk: Walk, damping: float) -> np.ndarray:
    """The same by a linear solve: x = d P' x + (1 - d + d leak . x) / n."""
    count = len(walk.leak)
    into = dense(walk).T + np.outer(np.ones(count), walk.leak) / max(count, 1)
    return np.linalg.solve(np.eye(count) - damping * into, (1 - damping) / np.full(count, count))


@given(records=RECORDS)
def test_tools_rank_as_networkx_and_rustworkx_rank_them(records: Records) -> None:
    graph = graph_of(records)
    ranks = pagerank(graph)
    other = nx.from_scipy_sparse_array(graph.links, create_using=nx.DiGraph)
    expected = nx.pagerank(other, tol=1e-12, max_iter=1_000)
    assert ranks == pytest.approx([expected[node] for node in range(len(ranks))], abs=1e-8)
    rust = rustworkx.PyDiGraph.from_adjacency_matrix(graph.links.toarray())
    by_rust = rustworkx.pagerank(rust, weight_fn=float, tol=1e-12, max_iter=1_000)
    assert ranks == pytest.approx([by_rust[node] for node in range(len(ranks))], abs=1e-8)


@settings(max_examples=40)
@given(records=RECORDS, damping=DAMPINGS)
def test_every_walk_settles_where_a_linear_solve_says(records: Records, damping: float) -> None:
    graph = graph_of(records)
    for walk in (tool_walk(graph), capability_walk(graph), activity_walk(graph)):
        ranks = stationary(walk, damping=damping)
        assert np.abs(ranks - solved(walk, damping)).sum() <= 2e-9


@given(records=RECORDS)
def test_ranks_are_a_distribution(records: Records) -> None:
    graph = graph_of(records)
    for ranks in (pagerank(graph), hypergraph_pagerank(graph)):
        assert (ranks > 0).all()
        assert len(ranks) == 0 or ranks.sum() == pytest.approx(1)


@settings(max_examples=40)
@given(records=RECORDS)
def test_names_and_order_do_not_count(records: Records) -> None:
    graph, turned = graph_of(records), relabelled(records)
    assert pagerank(turned)[::-1] == pytest.approx(pagerank(graph), abs=1e-8)
    assert hypergraph_pagerank(turned)[::-1] == pytest.approx(hypergraph_pagerank(graph), abs=1e-8)


@settings(max_examples=40)
@given(old=RECORDS, new=RECORDS)
def test_where_it_starts_changes_nothing(old: Records, new: Records) -> None:
    before, after = graph_of(old), graph_of(new)
    warm = pagerank(after, start=pagerank(before))
    assert np.abs(warm - pagerank(after)).sum() <= 2e-9


@given(records=RECORDS)
def test_without_restarts_the_walk_on_a_hypergraph_spends_time_by_size(records: Records) -> None:
    """Zhou et al. 2006, section 4: the stationary distribution is proportional to the degree."""
    full = [*records[0], frozenset(TOOLS)]
    ranks = stationary(capability_walk(feature_graph(TOOLS, capabilities(full))), damping=0.9999)
    sizes = np.array([len(tools) for tools in full], dtype=float)
    assert ranks == pytest.approx(sizes / sizes.sum(), abs=5e-3)


def test_capabilities_that_weigh_more_rank_higher() -> None:
    graph = feature_graph((), [Members(id=key, tools=("s:a",)) for key in "cde"])
    low, middle, high = hypergraph_pagerank(graph, weights=np.array([0.0, 1.0, 9.0]))
    assert low < middle < high


def test_nothing_has_no_rank() -> None:
    assert len(pagerank(feature_graph(()))) == 0
    assert len(hypergraph_pagerank(feature_graph(["s:a"]))) == 0


def test_isolated_nodes_rank_alike() -> None:
    assert pagerank(feature_graph(["s:a", "s:b"])).tolist() == [0.5, 0.5]


def test_ranks_are_carried_over_by_id() -> None:
    assert carried({"a": 0.75, "b": 0.25}, ("b", "new", "a")).tolist() == [0.25, 0.5, 0.75]
    assert carried({}, ("a",)).tolist() == [1.0]


def test_bad_arguments_are_refused() -> None:
    walk = tool_walk(feature_graph(["s:a", "s:b"]))
    with pytest.raises(ValueError, match="damping"):
        stationary(walk, damping=1.0)
    with pytest.raises(ValueError, match="expected 2 weights, got 1"):
        stationary(walk, restart=np.ones(1))
    with pytest.raises(ValueError, match="not all zero"):
        distribution(np.zeros(2), 2)
    with pytest.raises(ValueError, match="finite"):
        distribution(np.array([np.nan, 1.0]), 2)
