"""Strongly connected components, found while a graph is walked (SA-11)."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from pml.analysis.components import components

graphs = st.integers(1, 9).flatmap(
    lambda size: st.lists(
        st.lists(st.integers(0, size - 1), max_size=4), min_size=size, max_size=size
    )
)


@given(graph=graphs)
def test_components_are_those_of_scipy(graph: list[list[int]]) -> None:
    rows = [vertex for vertex, after in enumerate(graph) for _ in after]
    columns = [one for after in graph for one in after]
    matrix = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(graph), len(graph)))
    labels = connected_components(matrix, connection="strong")[1]
    wanted = {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels)}
    found = list(components(range(len(graph)), graph.__getitem__))
    assert {frozenset(one) for one in found} == wanted
    assert sum(map(len, found)) == len(graph)


@given(graph=graphs)
def test_each_comes_after_all_that_it_leads_to(graph: list[list[int]]) -> None:
    known: set[int] = set()
    for component in components([0], graph.__getitem__):
        known.update(component)
        assert all(known.issuperset(graph[vertex]) for vertex in component)


@given(graph=graphs)
def test_each_vertex_is_asked_once(graph: list[list[int]]) -> None:
    asked: list[int] = []

    def after(vertex: int) -> list[int]:
        asked.append(vertex)
        return graph[vertex]

    met = [vertex for component in components([0], after) for vertex in component]
    assert sorted(asked) == sorted(set(met)) == sorted(met)


def test_a_long_way_takes_no_recursion() -> None:
    assert len(list(components([0], lambda n: [n + 1] if n < 50_000 else []))) == 50_001
