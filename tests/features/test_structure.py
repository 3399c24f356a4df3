"""What the graph says, anew and after a change (LE-5)."""

import numpy as np
import pytest
from hypothesis import given, settings

from pml.features.adamic_adar import adamic_adar
from pml.features.graph import feature_graph
from pml.features.structure import structure_of
from tests.features.graphs import RECORDS, TOOLS, Records, capabilities, edge, graph_of


@settings(max_examples=25)
@given(records=RECORDS, old=RECORDS)
def test_what_went_before_changes_no_rank(records: Records, old: Records) -> None:
    graph = graph_of(records)
    anew = structure_of(graph, np.random.default_rng(0))
    before = structure_of(graph_of(old), np.random.default_rng(0))
    after = structure_of(graph, np.random.default_rng(0), previous=before)
    assert after.pagerank == pytest.approx(anew.pagerank, abs=2e-9)
    assert after.hypergraph_pagerank == pytest.approx(anew.hypergraph_pagerank, abs=2e-9)
    assert after.adamic_adar == pytest.approx(adamic_adar(graph))


@settings(max_examples=25)
@given(records=RECORDS)
def test_a_graph_that_stayed_keeps_its_groups(records: Records) -> None:
    sets, edges = records
    before = structure_of(graph_of(records), np.random.default_rng(0))
    more = feature_graph([*TOOLS, "s:new"], capabilities([*sets, frozenset()]), edges)
    after = structure_of(more, np.random.default_rng(1), previous=before)
    assert after.clusters.tolist() == [*before.clusters.tolist(), -1]
    assert after.communities[8] not in after.communities[:8]


def test_groups_follow_their_tools_when_rows_move() -> None:
    edges = [edge("s:a", "s:b"), edge("s:c", "s:d")]
    before = structure_of(feature_graph((), (), edges), np.random.default_rng(0))
    turned = feature_graph(["s:d", "s:c", "s:b", "s:a"], (), edges)
    after = structure_of(turned, np.random.default_rng(0), previous=before)
    assert after.communities.tolist() == before.communities.tolist()[::-1]


def test_nothing_has_a_structure() -> None:
    empty = structure_of(feature_graph(()), np.random.default_rng(0))
    again = structure_of(feature_graph(["s:a"]), np.random.default_rng(0), previous=empty)
    assert again.pagerank.tolist() == [1.0]
    assert (
        len(structure_of(feature_graph(()), np.random.default_rng(0), previous=again).pagerank) == 0
    )
