"""Adamic-Adar of tools (LE-5), recomputed and under changes; oracle: networkx."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.features.adamic_adar import Neighbourhoods, adamic_adar
from pml.features.graph import feature_graph
from tests.features.graphs import RECORDS, TOOLS, Records, edge, graph_of

CHANGES = st.lists(
    st.tuples(st.booleans(), st.sampled_from(TOOLS[:6]), st.sampled_from(TOOLS[:6])), max_size=40
)


@given(records=RECORDS)
def test_scores_are_sums_of_what_networkx_says_of_pairs(records: Records) -> None:
    graph = graph_of(records)
    other = nx.from_scipy_sparse_array(graph.ties)
    expected = np.zeros(8)
    for one, two, value in nx.adamic_adar_index(other, other.edges):
        expected[[one, two]] += value
    assert adamic_adar(graph) == pytest.approx(expected)


@given(changes=CHANGES)
def test_what_is_kept_up_equals_what_is_computed_anew(changes: list[tuple[bool, str, str]]) -> None:
    kept, edges, found = Neighbourhoods(), set[frozenset[str]](), [0.0] * len(TOOLS)
    for insert, one, other in changes:
        ends = frozenset((one, other))
        if insert:
            kept.insert(one, other)
            edges |= {ends} if len(ends) == 2 else set()
        else:
            kept.remove(one, other)
            edges -= {ends}
        found = [kept.score(tool) for tool in TOOLS]  # asked in between, so that some are kept
    graph = feature_graph(TOOLS, (), [edge(min(pair), max(pair)) for pair in edges])
    assert found == pytest.approx(adamic_adar(graph))


def test_any_pair_has_a_value() -> None:
    kept = Neighbourhoods([("a", "c"), ("b", "c"), ("a", "d"), ("b", "d"), ("d", "e")])
    assert kept.pair("a", "b") == pytest.approx(1 / np.log(2) + 1 / np.log(3))
    assert kept.pair("a", "unknown") == 0
    assert kept.score("unknown") == 0


def test_nothing_has_no_score() -> None:
    assert len(adamic_adar(feature_graph(()))) == 0
    assert adamic_adar(feature_graph(["s:a"])).tolist() == [0]
