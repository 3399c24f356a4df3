"""The values of all nodes from one source, kept right while hyperedges come, go and change weight.

A node is *consistent* when its value is the least that its hyperedges give it.  After a change the
inconsistent nodes wait in a heap, by the lesser of the value that they have and the value that
they should have.  One that should be nearer takes its new value; one that should be farther
loses its value first, so that nothing that hung from it keeps it up.  What the change does not
reach is not looked at.

Reference:
    Ramalingam, Reps. An incremental algorithm for a generalization of the shortest-path problem.
    Journal of Algorithms 21(2), 1996, section 4 (DynamicSWSF-FP).  They keep a heap of the
    hyperedges into each node; here a node whose best hyperedge got worse looks at all of them, and
    a repair that looks too often is given up for a computation from scratch.

Why it ends, each node being taken out at most twice, and why the result is that of a computation
from scratch, bit for bit: see `DRDSP`.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int32, Int64

from pml.pathfinding.heap import Heap, pop, put, remove
from pml.pathfinding.kernel import FAR, kernel, less
from pml.pathfinding.stars import Stars, fire


class Tree(NamedTuple):
    """Values as they are (``cost``, ``depth``), and as the hyperedges would have them (``best``).

    Invariant: ``edge_*`` is what `fire` says of each hyperedge; ``best_*`` is the least of these
    into each node; the heap holds the nodes where ``best`` is not the value.  The source keeps the
    value (0, 0).
    """

    cost: Float64[np.ndarray, " nodes"]
    depth: Int64[np.ndarray, " nodes"]
    best_cost: Float64[np.ndarray, " nodes"]
    best_depth: Int64[np.ndarray, " nodes"]
    edge_cost: Float64[np.ndarray, " edges"]
    edge_depth: Int64[np.ndarray, " edges"]
    heap: Heap
    looks: Int64[np.ndarray, " one"]
    """At how many hyperedges it was looked, each time counted, since somebody set it to 0."""


@kernel
def plant(stars: Stars, tree: Tree, source: int) -> int:
    """Compute all values, where nothing has one yet; tell how many there are."""
    tree.cost[source] = 0.0
    tree.depth[source] = 0
    tree.best_cost[source] = 0.0
    tree.best_depth[source] = 0
    _pass_on(stars, tree, source)
    return repair(stars, tree, FAR)


@kernel
def touch(stars: Stars, tree: Tree, edge: int) -> None:
    """Look again at what a hyperedge gives its head."""
    cost, depth = fire(stars, edge, tree.cost, tree.depth)
    _offer(stars, tree, edge, cost, depth)


@kernel
def touch_all(stars: Stars, tree: Tree, edges: Int32[np.ndarray, " some"]) -> None:
    """`touch` many; one `repair` then serves all of them."""
    for edge in edges:
        touch(stars, tree, edge)


@kernel
def withdraw(stars: Stars, tree: Tree, edge: int) -> None:
    """Have a hyperedge give nothing; then unlink it, then `repair`."""
    _offer(stars, tree, edge, np.inf, FAR)


@kernel
def repair(stars: Stars, tree: Tree, most: int) -> int:
    """Make every node consistent; tell how many values were taken or lost on the way.

    Gives up with -1, the tree being of no use then, after more than ``most`` looks.
    """
    number = 0
    while tree.heap.size[0] > 0:
        if tree.looks[0] > most:
            return -1
        node = pop(tree.heap)
        number += 1
        if less(tree.best_cost[node], tree.best_depth[node], tree.cost[node], tree.depth[node]):
            tree.cost[node] = tree.best_cost[node]
            tree.depth[node] = tree.best_depth[node]
            _pass_on(stars, tree, node)
        else:
            tree.cost[node] = np.inf
            tree.depth[node] = FAR
            _pass_on(stars, tree, node)
            _queue(tree, node)
    return number


@kernel
def _pass_on(stars: Stars, tree: Tree, node: int) -> None:
    entry = stars.out_first[node]
    while entry >= 0:
        tree.looks[0] += 1
        touch(stars, tree, stars.edge[entry])
        entry = stars.out_next[entry]


@kernel
def _offer(stars: Stars, tree: Tree, edge: int, cost: float, depth: int) -> None:
    old_cost, old_depth = tree.edge_cost[edge], tree.edge_depth[edge]
    if cost == old_cost and depth == old_depth:
        return
    tree.edge_cost[edge] = cost
    tree.edge_depth[edge] = depth
    head = stars.head[edge]
    best_cost, best_depth = tree.best_cost[head], tree.best_depth[head]
    if best_depth == 0:  # the source: nothing is before its value
        return
    if less(cost, depth, best_cost, best_depth):
        tree.best_cost[head] = cost
        tree.best_depth[head] = depth
    elif old_cost == best_cost and old_depth == best_depth:
        _look_again(stars, tree, head)
    else:
        return
    _queue(tree, head)


@kernel
def _look_again(stars: Stars, tree: Tree, node: int) -> None:
    cost, depth = np.inf, FAR
    edge = stars.in_first[node]
    while edge >= 0:
        tree.looks[0] += 1
        if less(tree.edge_cost[edge], tree.edge_depth[edge], cost, depth):
            cost, depth = tree.edge_cost[edge], tree.edge_depth[edge]
        edge = stars.in_next[edge]
    tree.best_cost[node] = cost
    tree.best_depth[node] = depth


@kernel
def _queue(tree: Tree, node: int) -> None:
    """Put a node into the heap, or take it out, as it is inconsistent or not."""
    cost, depth = tree.cost[node], tree.depth[node]
    best_cost, best_depth = tree.best_cost[node], tree.best_depth[node]
    if less(best_cost, best_depth, cost, depth):
        put(tree.heap, node, best_cost, best_depth)
    elif less(cost, depth, best_cost, best_depth):
        put(tree.heap, node, cost, depth)
    else:
        remove(tree.heap, node)
