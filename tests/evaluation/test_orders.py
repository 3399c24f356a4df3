"""Paths and successors in workflows, beside networkx (RW-6: next-tool problems of graphs)."""

from collections import Counter
from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given

from pml.evaluation.dataset import Workflow
from pml.evaluation.orders import (
    LONGEST_PREFIX,
    MOST_PATHS,
    is_chain,
    mostly_graphs,
    ordered,
    paths,
    successors,
)
from tests.evaluation.sequences import Graph, flow, graphs


def graph_of(workflow: Workflow) -> "nx.DiGraph[int]":
    return nx.DiGraph(list(workflow.edges))


def tools_of(workflow: Workflow, path: list[int]) -> tuple[str, ...]:
    return tuple(workflow.nodes[node] for node in path)


@given(graph=graphs())
def test_paths_are_all_simple_paths_from_roots_to_leaves(graph: Graph) -> None:
    nodes, edges = graph
    once = flow(nodes, sorted(set(edges)))
    oracle = graph_of(once)
    roots = [node for node in oracle if oracle.in_degree(node) == 0]
    leaves = [node for node in oracle if oracle.out_degree(node) == 0]
    expected = [
        tools_of(once, path)
        for root in roots
        for leaf in leaves
        for path in nx.all_simple_paths(oracle, root, leaf)
    ]
    assert sorted(paths(once)) == sorted(expected)


@given(graph=graphs())
def test_each_node_with_successors_is_asked_about_once(graph: Graph) -> None:
    workflow = flow(*graph)
    oracle = graph_of(workflow)
    expected = Counter(
        (workflow.nodes[node], frozenset(tools_of(workflow, list(oracle.successors(node)))))
        for node in oracle
        if oracle.out_degree(node)
    )
    found = list(successors(workflow))
    assert Counter((way[-1], right) for way, right in found) == expected
    assert all(1 <= len(way) <= LONGEST_PREFIX for way, _ in found)


@given(graph=graphs())
def test_each_step_of_a_way_is_a_link(graph: Graph) -> None:
    workflow = flow(*graph)
    links = set(workflow.links)
    for way, right in successors(workflow):
        assert links.issuperset(pairwise(way))
        assert links.issuperset((way[-1], tool) for tool in right)


def test_a_way_goes_back_along_the_first_edge_into_each_node() -> None:
    workflow = flow("abcd", [(1, 2), (0, 2), (2, 3)])
    assert dict(successors(workflow)) == {
        ("b",): frozenset("c"),
        ("a",): frozenset("c"),
        ("b", "c"): frozenset("d"),
    }


def test_a_way_goes_back_over_six_nodes_at_most() -> None:
    assert max(len(way) for way, _ in successors(flow("abcdefgh", None))) == LONGEST_PREFIX


def test_paths_are_bounded_in_number() -> None:
    layers = 24  # 2 ** 24 paths
    edges = [
        (2 * layer + a, 2 * layer + 2 + b)
        for layer in range(layers)
        for a in (0, 1)
        for b in (0, 1)
    ]
    assert len(paths(flow("x" * (2 * layers + 2), edges))) == MOST_PATHS


@pytest.mark.parametrize("edges", [[(0, 1), (1, 0)], [(2, 1), (1, 2), (0, 2)], [(1, 0)]])
def test_an_edge_that_leads_back_is_not_followed(edges: list[tuple[int, int]]) -> None:
    forward = [(a, b) for a, b in edges if a < b]
    assert paths(flow("abc", edges)) == paths(flow("abc", forward))
    assert list(successors(flow("abc", edges))) == list(successors(flow("abc", forward)))


def test_a_chain_says_that_each_follows_the_one_before() -> None:
    assert is_chain(flow("abc", None))
    assert is_chain(flow("a"))
    assert not is_chain(flow("abc", [(0, 1)]))
    assert not is_chain(flow("abc", [(0, 1), (0, 2)]))


def test_most_workflows_decide_what_a_set_is() -> None:
    graph, chain, none = flow("abc", [(0, 1), (0, 2)]), flow("abc", None), flow("abc")
    assert mostly_graphs([graph, graph, chain])
    assert not mostly_graphs([graph, chain])
    assert not mostly_graphs([graph, none, none])
    assert not mostly_graphs([])


def test_tools_that_always_come_in_one_order_have_none() -> None:
    assert not ordered([flow("ab"), flow("ab"), flow("cd")])
    assert ordered([flow("ab"), flow("cd"), flow("ba")])
    assert ordered([flow("ab", None)])
    assert not ordered([])
