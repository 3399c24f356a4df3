"""The hypergraph as arrays: which hyperedges enter a node, and which a node is a source of.

Both stars are doubly linked lists through arrays, so that a hyperedge comes and goes in time
that depends on its number of sources only.  A hyperedge's sources stand side by side in *slots*;
a slot is also the hyperedge's place in the list of that source's forward star.

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
    edge: Int32[np.ndarray, " slots"]
    out_next: Int32[np.ndarray, " slots"]
    out_prev: Int32[np.ndarray, " slots"]
    in_first: Int32[np.ndarray, " nodes"]
    """First hyperedge of a node's backward star."""
    out_first: Int32[np.ndarray, " nodes"]
    """First slot of a node's forward star."""


@kernel
def link(stars: Stars, edge: int) -> None:
    """Put a hyperedge whose head, first, size, and slots' nodes are set at the front of lists."""
    head = stars.head[edge]
    following = stars.in_first[head]
    stars.in_next[edge] = following
    stars.in_prev[edge] = -1
    if following >= 0:
        stars.in_prev[following] = edge
    stars.in_first[head] = edge
    for slot in range(stars.first[edge], stars.first[edge] + stars.size[edge]):
        node = stars.node[slot]
        after = stars.out_first[node]
        stars.edge[slot] = edge
        stars.out_next[slot] = after
        stars.out_prev[slot] = -1
        if after >= 0:
            stars.out_prev[after] = slot
        stars.out_first[node] = slot


@kernel
def link_all(stars: Stars, edges: int) -> None:
    """Link the hyperedges 0 to ``edges - 1``, the last one first: lists then run upwards."""
    for edge in range(edges - 1, -1, -1):
        link(stars, edge)


@kernel
def unlink(stars: Stars, edge: int) -> None:
    """Take a hyperedge out of all lists."""
    head, before, after = stars.head[edge], stars.in_prev[edge], stars.in_next[edge]
    if before >= 0:
        stars.in_next[before] = after
    else:
        stars.in_first[head] = after
    if after >= 0:
        stars.in_prev[after] = before
    for slot in range(stars.first[edge], stars.first[edge] + stars.size[edge]):
        left, right = stars.out_prev[slot], stars.out_next[slot]
        if left >= 0:
            stars.out_next[left] = right
        else:
            stars.out_first[stars.node[slot]] = right
        if right >= 0:
            stars.out_prev[right] = left


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
