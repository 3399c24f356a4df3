"""Spectral clusters of capabilities (LE-5) against dense linear algebra and planted truth."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from scipy.sparse import csr_array

from pml.features.clusters import (
    DENSE,
    cluster_of,
    normalised_incidence,
    spectral_clusters,
    spectrum,
)
from pml.features.graph import FeatureGraph, feature_graph
from tests.features.graphs import RECORDS, Records, capabilities, graph_of, relabelled
from tests.features.test_labels import partition


def planted(
    seed: int, groups: int, size: int, mixed: float = 0.0
) -> tuple[list[frozenset[str]], np.ndarray]:
    """Capabilities of 4 of their group's 10 tools each, some with a tool of another group."""
    rng = np.random.default_rng(seed)
    sets, truth = [], np.arange(groups * size) % groups
    for group in truth.tolist():
        own = rng.choice(10, size=4, replace=False) + 10 * group
        far = rng.integers(10 * groups, size=int(rng.random() < mixed))
        sets.append(frozenset(f"s:t{number}" for number in [*own, *far]))
    return sets, truth


def graph_with(sets: Sequence[frozenset[str]]) -> FeatureGraph:
    return feature_graph((), capabilities(sets))


@given(records=RECORDS)
def test_the_operator_is_that_of_zhou_on_the_dual_hypergraph(records: Records) -> None:
    graph = graph_of(records)
    h = graph.incidence.toarray().T  # capabilities are the vertices
    degrees, sizes = np.maximum(h.sum(axis=1), 1), np.maximum(h.sum(axis=0), 1)
    root = np.diag(degrees**-0.5)
    expected = root @ h @ np.diag(1 / sizes) @ h.T @ root
    affinity = normalised_incidence(graph)
    assert (affinity.T @ affinity).toarray() == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(3))
def test_few_eigenvectors_of_many_are_those_of_all(seed: int) -> None:
    sets, _ = planted(seed, 3, DENSE, mixed=0.3)
    affinity = normalised_incidence(graph_with(sets))
    values, vectors = spectrum(affinity, 6)
    dense, _ = np.linalg.eigh((affinity.T @ affinity).toarray())
    assert values == pytest.approx(dense[::-1][:6])
    residual = affinity.T @ (affinity @ vectors) - vectors * values
    assert np.abs(residual).max() < 1e-8


@pytest.mark.parametrize("groups", [2, 3, 5])
@pytest.mark.parametrize("mixed", [0.0, 0.25])
def test_planted_clusters_are_found(groups: int, mixed: float) -> None:
    sets, truth = planted(1, groups, 40, mixed)
    labels = spectral_clusters(graph_with(sets))
    assert partition(labels) == partition(truth)


def test_many_capabilities_are_clustered_as_few_are() -> None:
    sets, truth = planted(2, 3, DENSE, mixed=0.2)
    assert partition(spectral_clusters(graph_with(sets))) == partition(truth)


@given(records=RECORDS)
def test_clusters_do_not_reach_over_components_and_no_tools_mean_no_cluster(
    records: Records,
) -> None:
    graph = graph_of(records)
    labels = spectral_clusters(graph)
    assert ((labels < 0) == (graph.incidence.sum(axis=0) == 0)).all()
    shared = (graph.incidence.T @ graph.incidence).toarray() > 0
    reach = np.linalg.matrix_power(shared.astype(float) + np.eye(len(labels)), 8) > 0
    for one, other in np.argwhere(~reach):
        assert labels[one] != labels[other] or labels[one] < 0


@given(records=RECORDS)
def test_the_answer_is_the_same_each_time_and_keeps_its_numbers(records: Records) -> None:
    graph = graph_of(records)
    labels = spectral_clusters(graph)
    assert (spectral_clusters(graph) == labels).all()
    turned = (labels + 3) * (labels >= 0) - (labels < 0)
    assert (spectral_clusters(graph, previous=turned) == turned).all()


def test_the_order_of_capabilities_does_not_count() -> None:
    sets, _ = planted(3, 3, 30, mixed=0.25)
    labels = spectral_clusters(graph_with(sets))
    backwards = spectral_clusters(relabelled((sets, [])))[::-1]
    assert partition(labels) == partition(backwards)


def test_a_new_capability_joins_those_with_its_tools() -> None:
    sets, truth = planted(4, 3, 30)
    graph = graph_with(sets)
    labels = spectral_clusters(graph)
    for group in range(3):
        rows = [place for place, tool in enumerate(graph.tools) if int(tool[3:]) // 10 == group]
        found = cluster_of(graph, labels, np.array(rows[:3]))
        assert found == labels[truth == group][0]
    assert cluster_of(graph, labels, np.zeros(0, dtype=np.int64)) == -1


def test_nothing_has_no_clusters() -> None:
    assert spectral_clusters(feature_graph(["s:a"])).tolist() == []
    values, vectors = spectrum(csr_array(np.ones((1, 1))), 1)
    assert (values.tolist(), np.abs(vectors).tolist()) == ([1.0], [[1.0]])


@pytest.mark.parametrize("count", [67, 124, DENSE, DENSE + 1])
def test_eigenvalues_that_are_all_equal_but_one_are_all_found(count: int) -> None:
    """Each capability has a tool of its own and one that all have: 1 once, else a half."""
    graph = graph_with([frozenset(("s:all", f"s:t{number}")) for number in range(count)])
    values, vectors = spectrum(normalised_incidence(graph), 9)
    assert values == pytest.approx([1.0, *[0.5] * 8])
    assert vectors.T @ vectors == pytest.approx(np.eye(9), abs=1e-9)
    assert not spectral_clusters(graph).any()
