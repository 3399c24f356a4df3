"""Shortest hyperpaths against brute force and the published procedure (LE-6)."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.pathfinding.drdsp import DRDSP
from pml.pathfinding.hypergraph import key_of
from pml.pathfinding.records import START, Hyperedge, Hyperpath
from tests.oracle.hyperpaths import (
    NODES,
    all_hyperpaths,
    awkward_weights,
    exact_weights,
    fired,
    hyperedges,
    published,
)

source_sets = st.sets(st.sampled_from(NODES), max_size=3)


def graph(edges: list[Hyperedge]) -> DRDSP:
    return DRDSP.from_hyperedges(edges, nodes=NODES)


def edge(name: str, sources: str, target: str, weight: float = 1.0) -> Hyperedge:
    return Hyperedge(id=name, sources=tuple(sources.split()), target=target, weight=weight)


def assert_is_hyperpath(path: Hyperpath, edges: list[Hyperedge], sources: set[str]) -> None:
    """It fires in its order, has nothing that it does not need, and its figures are its own."""
    values = dict.fromkeys(sources, (0.0, 0))
    assert set(path.hyperedges) <= set(edges)
    for each in path.hyperedges:
        assert each.target not in values
        values[each.target] = fired(each, values)
    assert values[path.target] == (path.cost, path.depth)
    needed = {path.target} | {node for each in path.hyperedges for node in each.sources}
    assert {each.target for each in path.hyperedges} == needed - sources
    assert sorted(path.nodes) == sorted(needed)
    place = {node: number for number, node in enumerate(path.nodes)}
    assert all(place[s] < place[e.target] for e in path.hyperedges for s in e.sources)
    assert path.distinct_weight == pytest.approx(sum(each.weight for each in path.hyperedges))


@given(hyperedges(exact_weights), source_sets, st.sampled_from(NODES))
def test_the_path_found_is_the_cheapest_and_least_deep_of_all(
    edges: list[Hyperedge], sources: set[str], target: str
) -> None:
    path = graph(edges).find_shortest_hyperpath(sources, target)
    every = all_hyperpaths(edges, sources, target)
    assert (path is None) == (not every)
    if path is not None:
        assert (path.cost, path.depth) == min(every.values())
        assert_is_hyperpath(path, edges, sources)


@given(hyperedges(awkward_weights), source_sets, st.sampled_from(NODES))
def test_no_path_is_cheaper_whatever_rounds_or_overflows(
    edges: list[Hyperedge], sources: set[str], target: str
) -> None:
    path = graph(edges).find_shortest_hyperpath(sources, target)
    every = all_hyperpaths(edges, sources, target)
    assert (path is None) == (not every)
    if path is not None:
        assert path.cost == min(cost for cost, _ in every.values())
        assert_is_hyperpath(path, edges, sources)


@given(hyperedges(awkward_weights, most=30), source_sets)
def test_values_are_those_of_the_published_procedure_bit_for_bit(
    edges: list[Hyperedge], sources: set[str]
) -> None:
    found = graph(edges)
    values = published(edges, sources)
    for node in NODES:
        path = found.find_shortest_hyperpath(sources, node)
        assert (None if path is None else (path.cost, path.depth)) == values.get(node)


@given(hyperedges(awkward_weights, most=30), st.sampled_from(NODES))
def test_the_kept_tree_answers_as_a_search_does(edges: list[Hyperedge], target: str) -> None:
    found = graph([*edges, edge("island", "nowhere", "elsewhere")])
    # A source that leads nowhere makes it a search.
    searched = found.find_shortest_hyperpath([START, "elsewhere"], target)
    assert found.find_shortest_hyperpath([START], target) == searched
    assert found.cost(target) == (None if searched is None else searched.cost)


@given(hyperedges(exact_weights), st.randoms(use_true_random=False), source_sets)
def test_order_and_names_do_not_matter(
    edges: list[Hyperedge], rng: random.Random, sources: set[str]
) -> None:
    names = list(NODES[1:])
    rng.shuffle(names)
    new = {START: START, **dict(zip(NODES[1:], names, strict=True))}
    renamed = [
        Hyperedge(
            id=each.id,
            sources=tuple(rng.sample([new[s] for s in each.sources], len(each.sources))),
            target=new[each.target],
            weight=each.weight,
        )
        for each in rng.sample(edges, len(edges))
    ]
    first, second = graph(edges), graph(renamed)
    for target in NODES:
        path = first.find_shortest_hyperpath(sources, target)
        other = second.find_shortest_hyperpath({new[s] for s in sources}, new[target])
        assert (path is None) == (other is None)
        if path and other:
            assert (path.cost, path.depth) == (other.cost, other.depth)
            assert {e.id for e in path.hyperedges} == {e.id for e in other.hyperedges}


@given(hyperedges(awkward_weights), hyperedges(awkward_weights, most=3), source_sets)
def test_another_hyperedge_or_source_makes_nothing_dearer(
    edges: list[Hyperedge], more: list[Hyperedge], sources: set[str]
) -> None:
    known = {each.id for each in edges}
    fewer, richer = graph(edges), graph([*edges, *(e for e in more if e.id not in known)])
    for target in NODES:
        before = fewer.find_shortest_hyperpath(sources, target)
        if before is not None:
            after = richer.find_shortest_hyperpath({*sources, "a"}, target)
            assert after is not None
            assert after.cost <= before.cost


@given(hyperedges(exact_weights), source_sets, st.sampled_from(NODES))
def test_where_all_hyperedges_have_one_source_it_is_dijkstra(
    edges: list[Hyperedge], sources: set[str], target: str
) -> None:
    import networkx as nx  # noqa: PLC0415  # the oracle of this test only

    single = [e for e in edges if len(e.sources) == 1]
    pairs: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    pairs.add_nodes_from(NODES)
    pairs.add_weighted_edges_from((e.sources[0], e.target, e.weight) for e in single)
    path = graph(single).find_shortest_hyperpath(sources, target)
    costs = nx.multi_source_dijkstra_path_length(pairs, sources) if sources else {}
    assert (None if path is None else path.cost) == costs.get(target)


def test_a_hyperedge_fires_only_when_all_its_sources_are_reached() -> None:
    edges = [edge("ab", "a b", "c"), edge("s", START, "a")]
    assert graph(edges).find_shortest_hyperpath([START], "c") is None
    path = graph(edges).find_shortest_hyperpath([START, "b"], "c")
    assert path is not None
    assert [each.id for each in path.hyperedges] == ["s", "ab"]
    assert path.nodes == (START, "a", "b", "c")


def test_a_part_that_is_used_twice_counts_twice_and_once_in_the_distinct_weight() -> None:
    edges = [
        edge("s", START, "a", 10),
        edge("1", "a", "b", 1),
        edge("2", "a", "c", 1),
        edge("3", "b c", "d", 1),
    ]
    path = graph(edges).find_shortest_hyperpath([START], "d")
    assert path is not None
    assert (path.cost, path.distinct_weight, path.depth) == (23, 13, 3)


def test_of_equal_ways_the_least_hash_decides() -> None:
    edges = [edge(name, START, "a") for name in ("x", "y", "z")]
    path = graph(edges).find_shortest_hyperpath([START], "a")
    assert path is not None
    assert path.hyperedges[0].id == min("xyz", key=key_of)


def test_a_target_that_is_given_needs_nothing() -> None:
    path = graph([edge("s", START, "a")]).find_shortest_hyperpath(["a"], "a")
    assert path == Hyperpath(
        target="a", hyperedges=(), nodes=("a",), cost=0, distinct_weight=0, depth=0
    )


def test_an_isolated_node_is_reached_only_if_it_is_given() -> None:
    empty = DRDSP.from_hyperedges([], nodes=["alone"])
    assert empty.find_shortest_hyperpath([START], "alone") is None
    assert empty.find_shortest_hyperpath([], "alone") is None
    assert empty.find_shortest_hyperpath(["alone"], "alone") is not None


def test_an_empty_graph_has_a_start_and_nothing_else() -> None:
    empty = DRDSP()
    assert (len(empty), empty.nodes) == (0, (START,))
    assert empty.find_shortest_hyperpath([START], START) is not None
    with pytest.raises(ValueError, match="no node 'a'"):
        empty.find_shortest_hyperpath([START], "a")
    with pytest.raises(ValueError, match="no node 'b'"):
        empty.find_shortest_hyperpath(["b"], START)
    with pytest.raises(ValueError, match="not the text"):
        empty.find_shortest_hyperpath("start", START)


def test_a_cost_that_overflows_is_still_reached() -> None:
    path = graph(
        [edge("1", START, "a", 1e308), edge("2", "a", "b", 1e308)]
    ).find_shortest_hyperpath([START], "b")
    assert path is not None
    assert (path.cost, path.depth) == (float("inf"), 2)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (edge("x", "a", "b", -1), "'x'.*at least 0"),
        (edge("x", "a", "b", float("nan")), "'x'.*at least 0"),
        (edge("x", "a", "b", float("inf")), "'x'.*at least 0"),
        (edge("x", "", "b"), "'x' needs a source"),
        (edge("x", "a a", "b"), "'x' names a source twice"),
        (edge("x", "a b", "b"), "'x' can never fire"),
        (edge("first", "a", "b"), "two hyperedges 'first'"),
    ],
)
def test_a_hyperedge_that_breaks_the_rules_is_refused(bad: Hyperedge, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        graph([edge("first", START, "a"), bad])


@pytest.mark.parametrize(
    ("heads", "offsets", "tails", "names"),
    [
        ([1], [0, 2], [0], [START, "a"]),
        ([1], [0], [0], [START, "a"]),
        ([2], [0, 1], [0], [START, "a"]),
        ([1], [0, 1], [-1], [START, "a"]),
        ([1], [0, 1], [0], ["a", START]),
        ([1], [0, 1], [0], [START, START]),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    heads: list[int], offsets: list[int], tails: list[int], names: list[str]
) -> None:
    with pytest.raises(ValueError, match=r"fit|not there|first of which"):
        DRDSP.from_arrays(
            heads=np.array(heads, dtype=np.int32),
            offsets=np.array(offsets, dtype=np.int64),
            tails=np.array(tails, dtype=np.int32),
            weights=np.ones(len(heads)),
            nodes=names,
        )


def test_a_chain_of_100_000_is_followed_to_its_end() -> None:
    length = 100_000
    chain = DRDSP.from_arrays(
        heads=np.arange(1, length + 1, dtype=np.int32),
        offsets=np.arange(length + 1, dtype=np.int64),
        tails=np.arange(length, dtype=np.int32),
        weights=np.ones(length),
        nodes=[START, *map(str, range(length))],
    )
    for sources in ([START], [START, "0"]):
        path = chain.find_shortest_hyperpath(sources, str(length - 1))
        assert path is not None
        assert path.depth == len(path.hyperedges) == length + 1 - len(sources)


def test_sharing_may_be_exponential_and_the_path_is_not() -> None:
    levels = 2_000
    edges = [edge("s", START, "l0", 0), edge("t", START, "r0", 0)]
    for n in range(levels):
        edges += [edge(f"{side}{n + 1}", f"l{n} r{n}", f"{side}{n + 1}") for side in "lr"]
    path = graph(edges).find_shortest_hyperpath([START], f"l{levels}")
    assert path is not None
    assert path.cost == float("inf")
    assert (len(path.hyperedges), path.depth) == (2 * levels + 1, levels + 1)
