"""How nodes stand to their groups, against sums written out; association of nodes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.features.association import MOST, capability_association, tool_association
from pml.features.clusters import spectral_clusters
from pml.features.cooccurrence import Cooccurrence
from pml.features.measures import inside_group, share_of_group, squashed, steps_inside
from pml.features.walks import capability_walk
from tests.features.graphs import RECORDS, Records, graph_of
from tests.features.test_labels import LABELS
from tests.features.test_walks import dense


@given(groups=LABELS)
def test_the_share_of_a_group_is_its_part_of_all_nodes(groups: np.ndarray) -> None:
    expected = [np.mean(groups == one) if one >= 0 else 0.0 for one in groups]
    assert share_of_group(groups) == pytest.approx(expected)


@given(records=RECORDS, groups=st.lists(st.integers(0, 2), min_size=8, max_size=8).map(np.array))
def test_ties_inside_are_those_to_the_own_group(records: Records, groups: np.ndarray) -> None:
    ties = graph_of(records).ties
    found = inside_group(ties, groups)
    for row, weights in enumerate(ties.toarray()):
        total = weights.sum()
        inside = weights[groups == groups[row]].sum()
        assert found[row] == pytest.approx(inside / total if total else 0.0)


@given(records=RECORDS)
def test_steps_inside_are_those_to_the_own_cluster(records: Records) -> None:
    graph = graph_of(records)
    groups = spectral_clusters(graph)
    chances = dense(capability_walk(graph))
    expected = [chances[row][groups == groups[row]].sum() for row in range(len(groups))]
    assert steps_inside(graph, groups) == pytest.approx(expected)


def test_what_grows_without_bound_is_squashed() -> None:
    assert squashed(np.array([0.0, 1.0, 1e18])).tolist() == [0.0, 0.5, 1.0]


def test_without_nodes_there_are_no_shares() -> None:
    assert share_of_group(np.zeros(0, dtype=np.int64)).tolist() == []


def test_a_tool_with_the_same_company_is_associated_more() -> None:
    counts = Cooccurrence()
    for run in (["a", "b"], ["a", "b"], ["x", "b"], ["x", "c"], ["x"], ["d"]):
        counts.add(run)
    assert tool_association(counts, "a") > tool_association(counts, "x")
    assert tool_association(counts, "d") == tool_association(counts, "unknown") == 0
    assert capability_association(counts, ["a", "b"]) == counts.npmi("a", "b")
    assert capability_association(counts, ["a"]) == 0


def test_association_looks_at_the_most_frequent_partners() -> None:
    counts = Cooccurrence()
    often = [f"o{number:02}" for number in range(MOST)]
    for _ in range(3):
        counts.add(["a", *often])
    before = tool_association(counts, "a")
    counts.add(["a", *often, "rare"])
    assert before == tool_association(counts, "a") == 1
