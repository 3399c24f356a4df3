"""Louvain communities of tools (LE-5); oracle: networkx."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pml.features.communities import communities, community_of, modularity
from pml.features.graph import FeatureGraph, feature_graph
from pml.features.labels import compact
from tests.features.graphs import RECORDS, TOOLS, Records, edge, graph_of, planted
from tests.features.test_labels import partition


def found(graph: FeatureGraph, previous: np.ndarray | None = None) -> np.ndarray:
    return communities(graph, np.random.default_rng(1), previous=previous)


@given(records=RECORDS, labels=st.lists(st.integers(0, 3), min_size=8, max_size=8).map(np.array))
def test_modularity_is_what_networkx_says(records: Records, labels: np.ndarray) -> None:
    graph = graph_of(records)
    other = nx.from_scipy_sparse_array(graph.ties)
    expected = nx.community.modularity(other, partition(labels)) if graph.ties.nnz else 0.0
    assert modularity(graph.ties, labels) == pytest.approx(expected)


@settings(max_examples=40)
@given(records=RECORDS)
def test_no_single_move_would_raise_modularity(records: Records) -> None:
    graph = graph_of(records)
    labels = found(graph)
    reached = modularity(graph.ties, labels)
    for node in range(len(labels)):
        for label in set(labels.tolist()):
            moved = labels.copy()
            moved[node] = label
            assert modularity(graph.ties, moved) <= reached + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_communities_are_as_good_as_those_of_networkx(seed: int) -> None:
    """On graphs without a structure of their own, where Louvain differs most between runs."""
    rng = np.random.default_rng(seed)
    graph, _ = planted(rng, 1, 80, inside=0.08, between=0)
    other = nx.from_scipy_sparse_array(graph.ties)
    theirs = [
        nx.community.modularity(other, nx.community.louvain_communities(other, seed=number))
        for number in range(5)
    ]
    assert modularity(graph.ties, found(graph)) >= np.mean(theirs) - 0.02


@pytest.mark.parametrize("seed", range(3))
def test_no_single_move_would_raise_modularity_of_a_larger_graph(seed: int) -> None:
    graph, _ = planted(np.random.default_rng(seed), 1, 60, inside=0.1, between=0)
    labels = found(graph)
    reached = modularity(graph.ties, labels)
    for node in range(60):
        for label in set(labels.tolist()):
            moved = labels.copy()
            moved[node] = label
            assert modularity(graph.ties, moved) <= reached + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_planted_communities_are_found(seed: int) -> None:
    graph, truth = planted(np.random.default_rng(seed), 4, 25, inside=0.5, between=0.02)
    assert partition(found(graph)) == partition(np.array(truth))


@given(records=RECORDS)
def test_communities_do_not_reach_over_components(records: Records) -> None:
    graph = graph_of(records)
    labels = found(graph)
    for component in nx.connected_components(nx.from_scipy_sparse_array(graph.ties)):
        inside = set(labels[list(component)].tolist())
        outside = set(labels[[n for n in range(8) if n not in component]].tolist())
        assert not inside & outside


@settings(max_examples=40)
@given(records=RECORDS, factor=st.sampled_from([1e-9, 3.0, 1e90]))
def test_the_unit_of_weights_does_not_count(records: Records, factor: float) -> None:
    sets, edges = records
    scaled = [
        edge(one.source, one.target, kind=one.type, weight=one.weight * factor) for one in edges
    ]
    once, again = found(graph_of(records)), found(graph_of((sets, scaled)))
    ties = graph_of(records).ties
    assert modularity(ties, once) == pytest.approx(modularity(ties, again))


@settings(max_examples=40)
@given(records=RECORDS)
def test_the_same_seed_gives_the_same_labels_and_a_second_run_keeps_them(records: Records) -> None:
    graph = graph_of(records)
    labels = found(graph)
    assert (found(graph) == labels).all()
    again = found(graph, previous=labels)
    if modularity(graph.ties, again) <= modularity(graph.ties, labels) + 1e-9:
        assert (again == labels).all()


@pytest.mark.parametrize("seed", range(5))
def test_one_more_edge_moves_no_label(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph, _ = planted(rng, 4, 20, inside=0.5, between=0.02)
    labels = found(graph)
    rows, columns = graph.links.nonzero()
    edges = [edge(graph.tools[a], graph.tools[b]) for a, b in zip(rows, columns, strict=True)]
    more = feature_graph([*graph.tools, "s:new"], (), [*edges, edge("s:new", graph.tools[0])])
    kept = communities(more, rng, previous=np.append(labels, -1))
    assert kept.tolist() == [*labels.tolist(), labels[0]]


def test_a_group_that_is_clearly_better_elsewhere_moves() -> None:
    """Where what grew is far from what there is, the fresh start wins."""
    graph, truth = planted(np.random.default_rng(0), 4, 20, inside=0.5, between=0.02)
    wrong = np.zeros(80, dtype=np.int64)  # no single move leads out of one community
    assert partition(found(graph, previous=wrong)) == partition(np.array(truth))


@settings(max_examples=40)
@given(records=RECORDS, seed=st.integers(0, 99))
def test_a_new_tool_joins_where_modularity_is_highest(records: Records, seed: int) -> None:
    _, edges = records
    graph = graph_of(records)
    labels = compact(found(graph))
    rng = np.random.default_rng(seed)
    ties = rng.integers(0, 3, size=8) * (rng.random(8) < 0.4).astype(float)
    label = community_of(graph, labels, ties)
    more = [edge("s:new", tool, weight=weight) for tool, weight in zip(TOOLS, ties, strict=True)]
    whole = feature_graph([*TOOLS, "s:new"], (), [*edges, *more]).ties
    chosen = modularity(whole, np.append(labels, label if label >= 0 else 99))
    touched = set(labels[ties > 0].tolist())
    others = [modularity(whole, np.append(labels, one)) for one in touched]
    assert chosen == pytest.approx(max(others, default=chosen))


def test_without_ties_everything_is_alone() -> None:
    assert found(feature_graph(["s:a", "s:b"])).tolist() == [0, 1]
    assert found(feature_graph(())).tolist() == []
    assert modularity(feature_graph(["s:a"]).ties, np.zeros(1, dtype=np.int64)) == 0
    assert community_of(feature_graph(["s:a"]), np.zeros(1, dtype=np.int64), np.zeros(1)) == -1


def test_the_least_weights_that_there_are_make_communities_too() -> None:
    """The inverse of their sum is infinite."""
    pairs = [("s:a", "s:b"), ("s:c", "s:d")]
    graph = feature_graph((), (), [edge(*pair, weight=5e-324) for pair in pairs])
    assert partition(found(graph)) == {frozenset((0, 1)), frozenset((2, 3))}
    assert modularity(graph.ties, found(graph)) == pytest.approx(0.5)
