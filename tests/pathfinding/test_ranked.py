"""The k best hyperpaths against all of them (LE-6)."""

import random
from itertools import islice, pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.pathfinding.drdsp import DRDSP
from pml.pathfinding.records import START, Hyperedge
from tests.oracle.hyperpaths import (
    NODES,
    all_hyperpaths,
    awkward_weights,
    exact_weights,
    hyperedges,
)

FEW = NODES[:6]
source_sets = st.sets(st.sampled_from(FEW), max_size=2)


@given(hyperedges(exact_weights, most=12, nodes=FEW), source_sets, st.sampled_from(FEW))
def test_it_lists_all_hyperpaths_in_order_of_cost_then_depth(
    edges: list[Hyperedge], sources: set[str], target: str
) -> None:
    every = all_hyperpaths(edges, sources, target)
    found = list(DRDSP.from_hyperedges(edges, nodes=FEW).ranked(sources, target))
    named = {frozenset(e.id for e in path.hyperedges): (path.cost, path.depth) for path in found}
    assert len(named) == len(found)
    assert named == every
    assert [(path.cost, path.depth) for path in found] == sorted(every.values())


@given(hyperedges(awkward_weights, most=12, nodes=FEW), source_sets, st.sampled_from(FEW))
def test_costs_never_fall_whatever_rounds_or_overflows(
    edges: list[Hyperedge], sources: set[str], target: str
) -> None:
    every = all_hyperpaths(edges, sources, target)
    found = list(DRDSP.from_hyperedges(edges, nodes=FEW).ranked(sources, target))
    assert {frozenset(e.id for e in path.hyperedges) for path in found} == every.keys()
    assert all(a.cost <= b.cost for a, b in pairwise(found))


@pytest.mark.parametrize("seed", range(12))
def test_of_many_paths_each_comes_once_and_in_order(seed: int) -> None:
    """Where many nodes have a choice: independently drawn hyperedges seldom leave one two."""
    rng = random.Random(seed)
    edges = []
    for number in range(16):
        *sources, target = rng.sample(NODES[:5], rng.choice([2, 2, 3]))
        if target == START:
            sources[0], target = target, sources[0]
        weight = rng.randrange(5) / 4
        name = str(number)
        edges.append(Hyperedge(id=name, sources=tuple(sources), target=target, weight=weight))
    every = all_hyperpaths(edges, [START], "d")
    found = list(DRDSP.from_hyperedges(edges, nodes=NODES).ranked([START], "d"))
    assert {frozenset(e.id for e in path.hyperedges) for path in found} == every.keys()
    assert [(path.cost, path.depth) for path in found] == sorted(every.values())


def test_independent_choices_multiply() -> None:
    """Paths that avoid two hyperedges belong to one class, not to that of each."""
    edges = [
        Hyperedge(id=f"{node}{way}", sources=(before,), target=node, weight=way)
        for before, node in pairwise((START, *"abcdef"))
        for way in (0, 1)
    ]
    found = DRDSP.from_hyperedges(edges).k_shortest([START], "f", 100)
    assert len(found) == len({path.hyperedges for path in found}) == 2**6
    assert [path.cost for path in found] == sorted(sum(ways) for ways in product((0, 1), repeat=6))


@given(hyperedges(exact_weights, nodes=FEW), st.sampled_from(FEW), st.integers(0, 5))
def test_k_best_are_the_first_of_them_and_the_best_is_the_shortest(
    edges: list[Hyperedge], target: str, k: int
) -> None:
    graph = DRDSP.from_hyperedges(edges, nodes=FEW)
    paths = graph.k_shortest([START], target, k)
    assert paths == tuple(islice(graph.ranked([START], target), k))
    shortest = graph.find_shortest_hyperpath([START], target)
    assert paths[:1] == ((shortest,) if shortest is not None and k else ())


@given(hyperedges(exact_weights, nodes=FEW), st.sampled_from(FEW))
def test_the_order_of_hyperedges_does_not_matter(edges: list[Hyperedge], target: str) -> None:
    first, second = (
        DRDSP.from_hyperedges(edges, nodes=FEW),
        DRDSP.from_hyperedges(reversed(edges), nodes=FEW),
    )
    assert first.k_shortest([START], target, 9) == second.k_shortest([START], target, 9)


def test_a_negative_k_is_refused() -> None:
    with pytest.raises(ValueError, match="k is at least 0"):
        DRDSP().k_shortest([START], START, -1)
