"""Random walks over the graph (LE-5): shares, what leaks, and equality under relabelling."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.features.graph import FeatureGraph, feature_graph
from pml.features.members import Members
from pml.features.walks import Walk, activity_walk, capability_walk, tool_walk
from tests.features.graphs import RECORDS, Records, edge, graph_of

WALKS = st.sampled_from([tool_walk, capability_walk, activity_walk])


def dense(walk: Walk) -> np.ndarray:
    """Chance of going from row to column."""
    units = np.eye(len(walk.leak))
    columns = [walk.moved(unit) for unit in units]
    return np.array(columns).reshape(units.shape)


@given(records=RECORDS, walk_of=WALKS)
def test_a_step_keeps_what_does_not_leak(
    records: Records, walk_of: Callable[[FeatureGraph], Walk]
) -> None:
    graph = graph_of(records)
    walk = walk_of(graph)
    chances = dense(walk)
    assert (chances >= 0).all()
    assert chances.sum(axis=1) + walk.leak == pytest.approx(np.ones(len(walk.leak)))


@given(records=RECORDS)
def test_tools_lead_on_by_weight(records: Records) -> None:
    graph = graph_of(records)
    links = graph.links.toarray()
    for row, chances in zip(links, dense(tool_walk(graph)), strict=True):
        assert chances == pytest.approx(row / row.sum() if row.any() else row)


@given(records=RECORDS)
def test_capabilities_lead_over_shared_tools(records: Records) -> None:
    graph = graph_of(records)
    h = graph.incidence.toarray()
    count = h.shape[1]
    expected = np.zeros((count, count))
    for e in range(count):
        for tool in np.flatnonzero(h[:, e]):
            expected[e] += h[tool] / h[tool].sum() / h[:, e].sum()
    assert dense(capability_walk(graph)) == pytest.approx(expected)


@given(records=RECORDS)
def test_activity_goes_both_ways_between_tools_and_capabilities(records: Records) -> None:
    graph = graph_of(records)
    chances, tools = dense(activity_walk(graph)), len(graph.tools)
    reaches = chances > 0
    assert (reaches == reaches.T).all()
    assert not reaches[tools:, tools:].any()


def test_weights_of_capabilities_attract() -> None:
    members = [Members(id=key, tools=("s:a",)) for key in ("c", "d")]
    graph = feature_graph((), members)
    walk = capability_walk(graph, np.array([1.0, 3.0]))
    assert dense(walk).tolist() == [[0.25, 0.75], [0.25, 0.75]]
    nowhere = capability_walk(graph, np.zeros(2))
    assert nowhere.leak.tolist() == [1, 1]


def test_an_isolated_node_leaks_everything() -> None:
    graph = feature_graph(["s:a"], [Members(id="c")])
    assert tool_walk(graph).leak.tolist() == [1]
    assert activity_walk(graph).leak.tolist() == [1, 1]


@pytest.mark.parametrize("weight", [1e-320, 1e100])
def test_tiny_and_huge_weights_are_shares_like_others(weight: float) -> None:
    graph = feature_graph((), (), [edge("s:a", "s:b", weight=weight)])
    assert dense(tool_walk(graph)).tolist() == [[0, 1], [0, 0]]


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_a_weight_that_is_none_names_its_capability(weight: float) -> None:
    graph = feature_graph((), [Members(id="c"), Members(id="d")])
    with pytest.raises(ValueError, match="capability 'd'"):
        capability_walk(graph, np.array([1.0, weight]))
