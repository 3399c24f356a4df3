"""Shortest hyperpaths from any set of nodes: Dijkstra's procedure for hypergraphs.

Nodes are settled in the order of their values.  A hyperedge gives its head a value when the last
of its sources is settled, and that value comes after theirs, so a settled node stays as it is.

Reference:
    Knuth. A generalization of Dijkstra's algorithm. Information Processing Letters 6(1), 1977.
    Gallo et al. (see `stars`), section 6: procedure SBT.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int32, Int64

from pml.pathfinding.heap import Heap, clear, pop, put
from pml.pathfinding.kernel import kernel, less
from pml.pathfinding.stars import Stars, fire

_ROUND = 1 << 31
"""More than a hyperedge has sources."""


class Search(NamedTuple):
    """What a search notes, for the next one to write over: ``round_`` tells whose note it is.

    A note of another round counts as none, so nothing is cleared between searches.
    """

    cost: Float64[np.ndarray, " nodes"]
    depth: Int64[np.ndarray, " nodes"]
    settled: Int64[np.ndarray, " nodes"]
    """The round in which a node got its cost and depth for good."""
    left: Int64[np.ndarray, " edges"]
    """How many sources of a hyperedge are not settled yet, and the round times `_ROUND`."""
    banned: Int64[np.ndarray, " edges"]
    """The round in which a hyperedge may not be used."""
    only: Int32[np.ndarray, " nodes"]
    """The only hyperedge by which a node may be entered."""
    forced: Int64[np.ndarray, " nodes"]
    """The round of ``only``."""
    marked: Int64[np.ndarray, " nodes"]
    """The number of the tracing that put a node on its path."""
    waiting: Int32[np.ndarray, " nodes"]
    """Marked nodes whose hyperedge is not on the path yet."""
    path: Int32[np.ndarray, " nodes"]
    """Hyperedges of the path, in no particular order."""
    heap: Heap


@kernel
def search(
    stars: Stars, notes: Search, sources: Int32[np.ndarray, " given"], target: int, round_: int
) -> int:
    """Settle nodes from the sources until the target is (all, if it is -1); tell how many."""
    heap = notes.heap
    for node in sources:
        put(heap, node, 0.0, 0)
    number, base = 0, round_ * _ROUND
    while heap.size[0] > 0:
        cost, depth = heap.cost[0], heap.depth[0]
        node = pop(heap)
        notes.cost[node] = cost
        notes.depth[node] = depth
        notes.settled[node] = round_
        number += 1
        if node == target:
            break
        entry = stars.out_first[node]
        while entry >= 0:
            edge = stars.edge[entry]
            left = notes.left[edge]
            if left < base:
                left = base + stars.size[edge]
            notes.left[edge] = left - 1
            if left == base + 1:
                _enter(stars, notes, edge, round_)
            entry = stars.out_next[entry]
    clear(heap)
    return number


@kernel
def _enter(stars: Stars, notes: Search, edge: int, round_: int) -> None:
    head = stars.head[edge]
    if notes.settled[head] == round_ or not allowed(stars, notes, edge, round_):
        return
    cost, depth = fire(stars, edge, notes.cost, notes.depth)
    heap = notes.heap
    place = heap.place[head]
    if place < 0 or less(cost, depth, heap.cost[place], heap.depth[place]):
        put(heap, head, cost, depth)


@kernel
def allowed(stars: Stars, notes: Search, edge: int, round_: int) -> bool:
    """Whether this round may use a hyperedge."""
    if notes.banned[edge] == round_:
        return False
    head = stars.head[edge]
    free: bool = notes.forced[head] != round_ or notes.only[head] == edge
    return free


@kernel
def trace(stars: Stars, notes: Search, target: int, round_: int, mark: int) -> int:
    """Write the hyperedges of the path to a settled target into ``notes.path``; tell how many.

    Of the hyperedges that give a node its value, the one with the least key enters it.  So the
    path depends on the graph alone, not on the order in which things were found.  ``mark`` is a
    number that no tracing had before.
    """
    notes.waiting[0], waiting, number = target, 1, 0
    notes.marked[target] = mark
    while waiting > 0:
        waiting -= 1
        node = notes.waiting[waiting]
        if notes.depth[node] == 0:  # only what was given has no depth
            continue
        edge = _witness(stars, notes, node, round_)
        notes.path[number] = edge
        number += 1
        for slot in range(stars.first[edge], stars.first[edge] + stars.size[edge]):
            source = stars.node[slot]
            if notes.marked[source] != mark:
                notes.marked[source] = mark
                notes.waiting[waiting] = source
                waiting += 1
    return number


@kernel
def _witness(stars: Stars, notes: Search, node: int, round_: int) -> int:
    best = -1
    edge = stars.in_first[node]
    while edge >= 0:
        if (
            (best < 0 or stars.key[edge] < stars.key[best])
            and allowed(stars, notes, edge, round_)
            and _gives(stars, notes, edge, node, round_)
        ):
            best = edge
        edge = stars.in_next[edge]
    return best


@kernel
def _gives(stars: Stars, notes: Search, edge: int, node: int, round_: int) -> bool:
    """Whether a hyperedge's sources are settled and give exactly a node's value."""
    for slot in range(stars.first[edge], stars.first[edge] + stars.size[edge]):
        if notes.settled[stars.node[slot]] != round_:
            return False
    found_cost, found_depth = fire(stars, edge, notes.cost, notes.depth)
    same: bool = found_cost == notes.cost[node] and found_depth == notes.depth[node]
    return same
