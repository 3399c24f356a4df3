"""Rows of id embeddings follow ids, whatever numbers nodes have (LE-5)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.features.members import Members
from pml.models.hypergraph import hypergraph
from pml.models.trained_ids import UNKNOWN, TrainedIds

IDS = st.lists(st.sampled_from("abcdef"), unique=True).map(tuple)


@given(IDS, IDS, IDS, IDS)
def test_a_row_follows_its_id_within_its_kind(
    tools: tuple[str, ...],
    capabilities: tuple[str, ...],
    trained_tools: tuple[str, ...],
    trained_capabilities: tuple[str, ...],
) -> None:
    graph = hypergraph(tools, [Members(id=key) for key in capabilities])
    trained = TrainedIds(tools=trained_tools, capabilities=trained_capabilities)
    table = [("tool", key) for key in trained_tools]
    table += [("capability", key) for key in trained_capabilities]
    nodes = [("tool", key) for key in tools] + [("capability", key) for key in capabilities]
    expected = [table.index(node) if node in table else UNKNOWN for node in nodes]
    assert trained.rows(graph).tolist() == expected
    assert len(trained) == len(table)


def test_all_nodes_of_a_graph_have_the_rows_of_their_numbers() -> None:
    graph = hypergraph(["a", "b"], [Members(id="c", capabilities=("a",)), Members(id="a")])
    assert TrainedIds.of(graph).rows(graph).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", ["tools", "capabilities"])
def test_an_id_that_comes_twice_is_refused(kind: str) -> None:
    with pytest.raises(ValueError, match=f"trained {kind} must not repeat an id, got 'b' twice"):
        TrainedIds(**{kind: ("a", "b", "c", "b")})
