"""Records to sparse arrays (LE-5): rows, weights, nesting, and what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given

from pml.domain.capability import Capability
from pml.domain.record import decode, encode
from pml.domain.structure import CapabilityCall, StaticStructure, Task
from pml.domain.trace import DependencyType
from pml.features.graph import feature_graph, index_of
from pml.features.members import Members, members_of
from tests.features.graphs import RECORDS, TOOLS, Records, edge, graph_of
from tests.store.nouns import a_capability


@given(records=RECORDS)
def test_links_are_the_sums_of_the_edges(records: Records) -> None:
    (_, edges), graph = records, graph_of(records)
    row, links, ties = index_of(TOOLS), np.zeros((8, 8)), np.zeros((8, 8))
    for one in edges:
        a, b = row[one.source], row[one.target]
        mutual = one.type is DependencyType.CO_OCCURRENCE
        links[a, b] += one.weight
        links[b, a] += one.weight * mutual
        ties[a, b] += one.weight
        ties[b, a] += one.weight
    np.fill_diagonal(links, 0)
    np.fill_diagonal(ties, 0)
    assert graph.links.toarray() == pytest.approx(links)
    assert graph.ties.toarray() == pytest.approx(ties)
    assert (graph.links.data > 0).all()
    assert (graph.ties.data > 0).all()


@given(records=RECORDS)
def test_the_incidence_says_which_tool_is_in_which_capability(records: Records) -> None:
    (sets, _), graph = records, graph_of(records)
    expected = [[float(tool in tools) for tools in sets] for tool in TOOLS]
    assert graph.incidence.toarray().tolist() == np.array(expected).reshape(8, len(sets)).tolist()


def test_a_capability_has_the_tools_of_those_in_it_at_any_depth() -> None:
    deep = [Members(id=f"c{n}", tools=(f"s:t{n}",), capabilities=(f"c{n + 1}",)) for n in range(99)]
    graph = feature_graph((), [*deep, Members(id="c99", capabilities=("unknown",))])
    assert graph.incidence.sum(axis=0).tolist() == [99.0 - n for n in range(100)]
    assert graph.containment.sum() == 99


@pytest.mark.parametrize("ring", [1, 2, 50])
def test_a_capability_that_contains_itself_is_named(ring: int) -> None:
    members = [Members(id=f"c{n}", capabilities=(f"c{(n + 1) % ring}",)) for n in range(ring)]
    with pytest.raises(ValueError, match="capability 'c0' contains itself"):
        feature_graph((), members)


def test_two_that_contain_the_same_one_are_no_circle() -> None:
    inner = Members(id="inner", tools=("s:a",))
    outer = [Members(id=key, capabilities=("inner", "inner")) for key in ("one", "two")]
    graph = feature_graph((), [*outer, inner])
    assert graph.incidence.toarray().tolist() == [[1, 1, 1]]
    assert graph.containment.toarray().tolist() == [[0, 0, 1], [0, 0, 1], [0, 0, 0]]


def test_what_only_an_edge_or_a_capability_names_is_a_node_too() -> None:
    graph = feature_graph(["s:z"], [Members(id="c", tools=("s:y",))], [edge("s:x", "s:z")])
    assert graph.tools == ("s:z", "s:y", "s:x")


def test_nothing_is_a_graph() -> None:
    graph = feature_graph(())
    assert (graph.links.shape, graph.incidence.shape) == ((0, 0), (0, 0))


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf, 1e200])
def test_a_weight_that_is_none_names_its_edge(weight: float) -> None:
    with pytest.raises(ValueError, match=r"edge 's:a' -> 's:b' \(dependency\): the weight must be"):
        feature_graph((), (), [edge("s:a", "s:b", weight=weight)])


def test_an_id_that_comes_twice_is_named() -> None:
    with pytest.raises(ValueError, match="tool 's:a' comes twice"):
        feature_graph(["s:a", "s:a"])
    with pytest.raises(ValueError, match="capability 'c' comes twice"):
        feature_graph((), [Members(id="c")] * 2)


def test_members_are_read_from_the_structure() -> None:
    nodes = (
        Task(id="n1", tool="fs:read"),
        Task(id="n2", tool="*"),
        CapabilityCall(id="n3", capability_id="cap_x"),
    )
    structure = StaticStructure(nodes=nodes, edges=(), complete=False)
    capability = decode(Capability, encode(a_capability(structure=structure)))
    expected = Members(id=capability.id, tools=("fs:read",), capabilities=("cap_x",))
    assert members_of(capability) == expected
