"""Hyperpaths over dependencies are closures in an order in which they can be called (LE-6)."""

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from pml.evaluation.fetching import Fetching
from pml.evaluation.needs import Needs

TOOLS = ("a", "b", "c", "d", "e", "start")
"""One is called as the node is from which hyperpaths begin."""

graphs = st.dictionaries(
    st.sampled_from(TOOLS),
    st.dictionaries(st.sampled_from(TOOLS), st.sampled_from([0.3, 0.6, 1.0]), max_size=4),
)


def needed(needs: Needs) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(TOOLS)
    for consumer, providers in needs.items():
        graph.add_edges_from(
            (consumer, one) for one, chance in providers.items() if chance > 0.5 and one != consumer
        )
    return graph


def without_loops(needs: Needs) -> Needs:
    return {
        consumer: {one: chance for one, chance in providers.items() if one != consumer}
        for consumer, providers in needs.items()
    }


@given(graphs.map(without_loops))
def test_what_is_fetched_is_all_that_is_needed_directly_or_not(needs: Needs) -> None:
    fetching, graph = Fetching(TOOLS, needs), needed(needs)
    for tool in TOOLS:
        expected = {tool} | nx.descendants(graph, tool)
        for order in (fetching.firing_order(tool), fetching.nearest_first(tool)):
            assert sorted(order) == sorted(expected)


@given(graphs.map(without_loops))
def test_nothing_fires_before_what_it_needs_unless_they_need_each_other(needs: Needs) -> None:
    fetching, graph = Fetching(TOOLS, needs), needed(needs)
    for tool in TOOLS:
        order = fetching.firing_order(tool)
        for consumer, provider in graph.subgraph(order).edges:
            mutual = nx.has_path(graph, provider, consumer)
            assert mutual or order.index(provider) < order.index(consumer)


@given(graphs.map(without_loops))
def test_nearest_first_goes_by_distance_from_the_tool(needs: Needs) -> None:
    graph = needed(needs)
    if nx.is_directed_acyclic_graph(graph):
        fetching = Fetching(TOOLS, needs)
        for tool in TOOLS:
            distance = nx.shortest_path_length(graph, tool)
            found = [distance[one] for one in fetching.nearest_first(tool)]
            assert found == sorted(found)


def test_tools_that_need_each_other_are_fetched_together_with_what_either_needs() -> None:
    needs = {"a": {"b": 1.0}, "b": {"a": 1.0, "c": 1.0}, "d": {"a": 1.0}}
    fetching = Fetching(TOOLS, needs)
    assert fetching.firing_order("a") == fetching.firing_order("b") == ("c", "a", "b")
    assert fetching.firing_order("d") == ("c", "a", "b", "d")
    assert fetching.nearest_first("b") == ("b", "a", "c")
