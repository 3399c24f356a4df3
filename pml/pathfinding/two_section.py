"""The baseline: Dijkstra on the 2-section graph (LE-6).

The 2-section has an edge from every source of a hyperedge to its target.  What it gets wrong is
why hyperpaths are needed: a path of it enters a node by one source of a hyperedge and says nothing
of the others, which must be reached too.

Reference:
    Dijkstra. A note on two problems in connexion with graphs. Numerische Mathematik 1, 1959, by
    rustworkx.  The 2-section of a hypergraph: Bretto. Hypergraph Theory. Springer 2013, ch. 1.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import pairwise

import rustworkx as rx

from pml.pathfinding.records import Hyperedge


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """A path of the 2-section."""

    nodes: tuple[str, ...]
    """From a given node to the target: the order in which this baseline would call them."""
    cost: float
    """Sum of the weights along it."""
    missing: frozenset[str]
    """What the hyperedges that it uses need besides, and it does not reach.  Not empty: a call on
    it cannot be made."""


class TwoSection:
    """The graph of pairs; of parallel edges, a path takes the least weight."""

    def __init__(self, hyperedges: Iterable[Hyperedge]) -> None:
        self._graph: rx.PyDiGraph[str, Hyperedge] = rx.PyDiGraph(multigraph=False)
        self._numbers: dict[str, int] = {}
        for hyperedge in hyperedges:
            for source in hyperedge.sources:
                self._add(source, hyperedge)

    def _add(self, source: str, hyperedge: Hyperedge) -> None:
        ends = self._number(source), self._number(hyperedge.target)
        if self._graph.has_edge(*ends):
            known = self._graph.get_edge_data(*ends)
            if (known.weight, known.id) <= (hyperedge.weight, hyperedge.id):
                return
        self._graph.add_edge(*ends, hyperedge)

    def _number(self, node: str) -> int:
        if node not in self._numbers:
            self._numbers[node] = self._graph.add_node(node)
        return self._numbers[node]

    def shortest_path(self, sources: Collection[str], target: str) -> Walk | None:
        """The cheapest path from one of the sources; None if there is none.  Of equals, any."""
        if target in sources:
            return Walk(nodes=(target,), cost=0.0, missing=frozenset())
        walks = (self._from(source, target) for source in sources if source in self._numbers)
        found = [walk for walk in walks if walk is not None]
        if not found:
            return None
        numbers = min(found, key=lambda walk: (walk[0], walk[1]))[1]
        return self._walk(numbers, sources)

    def _from(self, source: str, target: str) -> tuple[float, tuple[int, ...]] | None:
        if target not in self._numbers:
            return None
        end = self._numbers[target]
        paths = rx.dijkstra_shortest_paths(
            self._graph, self._numbers[source], end, weight_fn=lambda edge: edge.weight
        )
        if end not in paths:
            return None
        numbers = tuple(paths[end])
        return sum(edge.weight for edge in self._edges(numbers)), numbers

    def _edges(self, numbers: tuple[int, ...]) -> tuple[Hyperedge, ...]:
        return tuple(self._graph.get_edge_data(a, b) for a, b in pairwise(numbers))

    def _walk(self, numbers: tuple[int, ...], sources: Collection[str]) -> Walk:
        edges = self._edges(numbers)
        nodes = tuple(self._graph[number] for number in numbers)
        needed = {source for edge in edges for source in edge.sources}
        return Walk(
            nodes=nodes,
            cost=sum(edge.weight for edge in edges),
            missing=frozenset(needed - set(nodes) - set(sources)),
        )
