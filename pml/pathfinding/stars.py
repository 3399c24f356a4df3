"""The hypergraph as arrays: which hyperedges enter a node, and which a node is a source of.

Both stars are doubly linked lists through arrays, so that a hyperedge comes and goes in time
that depends on its number of sources only.  A hyperedge's sources stand side by side in *slots*;
each has an *entry* in the forward star of its node.  What is loaded at once gets its entries in the
order of nodes, so that going through a forward star is going through memory.

Reference:
    Gallo, Longo, Pallottino, Nguyen. Directed hypergraphs and applications. Discrete Applied
    Mathematics 42, 1993, section 2 (forward and backward stars).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int32, Int64

from pml.pathfinding.kernel import FAR, kernel


class Stars(NamedTuple):
    """Numbers of nodes, hyperedges and slots index the arrays; -1 ends a list.

    Invariant: ``head`` is -1 for a number that no hyperedge has, and no list leads there.
    """

    head: Int32[np.ndarray, " edges"]
    """The node that a hyperedge enters."""
    weight: Float64[np.ndarray, " edges"]
    key: Int64[np.ndarray, " edges"]
    """Decides between hyperedges that are equally good; follows from the id."""
    first: Int32[np.ndarray, " edges"]
    """A hyperedge's first slot."""
    size: Int32[np.ndarray, " edges"]
    """Its number of sources."""
    in_next: Int32[np.ndarray, " edges"]
    in_prev: Int32[np.ndarray, " edges"]
    node: Int32[np.ndarray, " slots"]
    """The source that a slot holds."""
    entry: Int32[np.ndarray, " slots"]
    """The slot's place in that source's forward star."""
    edge: Int32[np.ndarray, " slots"]
    """By entry, as the two that follow."""
    out_next: Int32[np.ndarray, " slots"]
    out_prev: Int32[np.ndarray, " slots"]
    in_first: Int32[np.ndarray, " nodes"]
    """First hyperedge of a node's backward star."""
    out_first: Int32[np.ndarray, " nodes"]
    """First entry of a node's forward star."""
    used: Int32[np.ndarray, " one"]
    """How many entries were ever in use."""
    free: Int32[np.ndarray, " one"]
    """Those of them that are free again: one more than the first, a list by ``out_next``."""


@kernel
def link(stars: Stars, edge: int) -> None:
    """Put a hyperedge into the lists, where its head, first, size, and slots' nodes are set."""
    _enter_head(stars, edge)
    for slot in range(stars.first[edge], stars.first[edge] + stars.size[edge]):
        entry = stars.free[0] - 1
        if entry < 0:
            entry = stars.used[0]
            stars.used[0] += 1
        else:
            stars.free[0] = stars.out_next[entry] + 1
        _enter_tail(stars, edge, slot, entry)


@kernel
def link_all(stars: Stars, edges: int, ends: Int64[np.ndarray, " nodes"]) -> None:
    """Link the hyperedges 0 to ``edges - 1`` of a graph without any; lists then run upwards.

    ``ends`` says up to which entry a node's forward star goes; it is written over.
    """
    stars.used[0] = ends[-1]
    for edge in range(edges - 1, -1, -1):
        _enter_head(stars, edge)
        for slot in range(stars.first[edge], stars.first[edge] + stars.size[edge]):
            ends[stars.node[slot]] -= 1
            _enter_tail(stars, edge, slot, ends[stars.node[slot]])


@kernel
def unlink(stars: Stars, edge: int) -> None:
    """Take a hyperedge out of all lists."""
    before, after = stars.in_prev[edge], stars.in_next[edge]
    if before >= 0:
        stars.in_next[before] = after
    else:
        stars.in_first[stars.head[edge]] = after
    if after >= 0:
        stars.in_prev[after] = before
    for slot in range(stars.first[edge], stars.first[edge] + stars.size[edge]):
        entry = stars.entry[slot]
        left, right = stars.out_prev[entry], stars.out_next[entry]
        if left >= 0:
            stars.out_next[left] = right
        else:
            stars.out_first[stars.node[slot]] = right
        if right >= 0:
            stars.out_prev[right] = left
        stars.out_next[entry] = stars.free[0] - 1
        stars.free[0] = entry + 1


@kernel
def _enter_head(stars: Stars, edge: int) -> None:
    head = stars.head[edge]
    after = stars.in_first[head]
    stars.in_next[edge] = after
    stars.in_prev[edge] = -1
    if after >= 0:
        stars.in_prev[after] = edge
    stars.in_first[head] = edge


@kernel
def _enter_tail(stars: Stars, edge: int, slot: int, entry: int) -> None:
    node = stars.node[slot]
    after = stars.out_first[node]
    stars.entry[slot] = entry
    stars.edge[entry] = edge
    stars.out_next[entry] = after
    stars.out_prev[entry] = -1
    if after >= 0:
        stars.out_prev[after] = entry
    stars.out_first[node] = entry


@kernel
def fire(
    stars: Stars,
    edge: int,
    cost: Float64[np.ndarray, " nodes"],
    depth: Int64[np.ndarray, " nodes"],
) -> tuple[float, int]:
    """The value that a hyperedge gives its head, from those of its sources.

    Its weight plus their costs, added in their order; one more than the greatest depth.  It is
    before neither of them: rounding can lose a small weight, but the depth grows (`DRDSP`).
    """
    total, deepest = stars.weight[edge], 0
    for slot in range(stars.first[edge], stars.first[edge] + stars.size[edge]):
        node = stars.node[slot]
        total += cost[node]
        deepest = max(deepest, depth[node])
    if deepest >= FAR:
        return np.inf, FAR
    return total, deepest + 1
