"""The two ways to a path, by numbers: read off what is kept from one node, or searched.

The invariant of `Values` is what the rest stands on.
"""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float64, Int32

from pml.pathfinding.arrays import blank, grown
from pml.pathfinding.hypergraph import Hypergraph
from pml.pathfinding.kernel import FAR
from pml.pathfinding.ranked import Found
from pml.pathfinding.search import Search, search, trace
from pml.pathfinding.tree import Tree, plant, repair, touch, touch_all, withdraw

PATIENCE = 2
"""Looks at hyperedges, as a multiple of their sources, after which a repair is given up.

A computation from scratch looks at each hyperedge once per source.  So no update costs many times
that."""
_TREE = -1
"""The round of the tree's values; those of searches count from 1."""


class Values:
    """What it costs to reach each node from one of them, and searches from others.

    Invariant: the values of the tree satisfy, bit for bit, ``value(v) = min over hyperedges e into
    v of fire(e)``, with (0, 0) for the start and (inf, FAR) for what cannot be reached.

    Why there is one solution only, so that what is kept equals what is computed from scratch: a
    value that `fire` gives comes strictly after those of all sources, because costs do not shrink,
    even rounded, and the depth grows.  Were there two solutions, take a node where they differ
    and the lesser of the two values is least.  The hyperedge that gives it has sources with lesser
    values, where the solutions agree; so the other solution is no greater there.  Weights of
    zero, cycles of them, and sums that overflow need no exception.

    Why the cost is the least of all hyperpaths: sums do not shrink when a summand grows, even
    rounded.  The depth decides between equal costs; where rounding made them equal, the path found
    need not be the least deep.

    Args:
        graph: whose hyperedges; it is changed only together with this.
        start: the node from which values are kept.
    """

    def __init__(self, graph: Hypergraph, start: int) -> None:
        self._graph = graph
        self._round = 0
        self._sizes = graph.sizes
        self._notes: Search = blank(Search, self._sizes)
        self._tree: Tree = blank(Tree, self._sizes)
        self._settle()
        self._start = start
        plant(graph.stars, self._tree, start)

    def cost(self, target: int) -> float | None:
        """Of reaching a node from the start; None if it cannot be reached."""
        return float(self._tree.cost[target]) if self._tree.depth[target] < FAR else None

    def insert(self, edge: int) -> int:
        """Take in a hyperedge of the graph; returns how many values changed on the way."""
        self._fit()
        self._tree.edge_cost[edge], self._tree.edge_depth[edge] = np.inf, FAR
        touch(self._graph.stars, self._tree, edge)
        return self._repair()

    def delete(self, edge: int) -> int:
        """Let go of a hyperedge, here and in the graph."""
        withdraw(self._graph.stars, self._tree, edge)
        self._graph.remove(edge)
        return self._repair()

    def reweight(
        self, edges: Int32[np.ndarray, " some"], weights: Float64[np.ndarray, " some"]
    ) -> int:
        """Give hyperedges other weights, here and in the graph."""
        self._graph.stars.weight[edges] = weights
        touch_all(self._graph.stars, self._tree, edges)
        return self._repair()

    def _repair(self) -> int:
        """Repair the tree, or plant it anew where that is less work: the values are the same."""
        stars = self._graph.stars
        changed = int(repair(stars, self._tree, PATIENCE * int(stars.used[0])))
        if changed < 0:
            self._tree = blank(Tree, self._sizes)
            self._settle()
            changed = int(plant(stars, self._tree, self._start))
        self._tree.looks[0] = 0
        return changed

    def of_tree(self, target: int) -> Found | None:
        """The shortest path from the start."""
        if self._tree.depth[target] >= FAR:
            return None
        self._round += 1
        return self._found(self._settled, target, _TREE)

    def solve(
        self,
        given: Int32[np.ndarray, " given"],
        target: int,
        forced: Mapping[int, int],
        banned: frozenset[int],
    ) -> Found | None:
        """The shortest path from given nodes.

        Args:
            given: what is reached.
            target: what is wanted.
            forced: nodes that may be entered by one hyperedge only, and by which.
            banned: hyperedges that may not be used.
        """
        self._round += 1
        notes = self._notes
        for head, edge in forced.items():
            notes.forced[head], notes.only[head] = self._round, edge
        for edge in banned:
            notes.banned[edge] = self._round
        search(self._graph.stars, notes, given, target, self._round)
        if notes.settled[target] != self._round:
            return None
        return self._found(notes, target, self._round)

    def _found(self, notes: Search, target: int, round_: int) -> Found:
        stars = self._graph.stars
        path = notes.path[: trace(stars, notes, target, round_, self._round)]
        heads = stars.head[path]
        order = np.lexsort((stars.key[path], notes.cost[heads], notes.depth[heads]))
        return Found(
            cost=float(notes.cost[target]),
            depth=int(notes.depth[target]),
            edges=tuple(path[order].tolist()),
            heads=tuple(heads[order].tolist()),
        )

    def _fit(self) -> None:
        """Follow the graph where it grew."""
        if self._sizes is not self._graph.sizes:
            self._sizes = self._graph.sizes
            self._notes = grown(self._notes, self._sizes)
            self._tree = grown(self._tree, self._sizes)
            self._settle()

    def _settle(self) -> None:
        """The tree as a search that has come to its end, so that paths are traced alike."""
        self._settled = self._notes._replace(
            cost=self._tree.cost,
            depth=self._tree.depth,
            settled=np.full(self._sizes["nodes"], _TREE, dtype=np.int64),
        )
