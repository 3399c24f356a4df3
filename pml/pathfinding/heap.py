"""A binary heap of nodes whose keys can change while they are in it.

Keys are values (cost, then depth).  Nodes of equal keys come in no particular order; nothing
that uses the heap depends on it.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int32, Int64

from pml.pathfinding.kernel import kernel, less


class Heap(NamedTuple):
    """Invariant: ``items[place[v]] == v`` for every node in the heap, ``place`` is -1 for others.

    No item's key is before that of its parent, the item at half its index.
    """

    items: Int32[np.ndarray, " nodes"]
    place: Int32[np.ndarray, " nodes"]
    cost: Float64[np.ndarray, " nodes"]
    """By node."""
    depth: Int64[np.ndarray, " nodes"]
    size: Int32[np.ndarray, " one"]


@kernel
def put(heap: Heap, node: int, cost: float, depth: int) -> None:
    """Take a node in, or give it another key."""
    place = heap.place[node]
    if place < 0:
        place = heap.size[0]
        heap.size[0] += 1
        heap.items[place] = node
        heap.place[node] = place
    heap.cost[node] = cost
    heap.depth[node] = depth
    _settle(heap, place)


@kernel
def pop(heap: Heap) -> int:
    """Take out a node with the least key; the heap must not be empty."""
    node: int = heap.items[0]
    remove(heap, node)
    return node


@kernel
def remove(heap: Heap, node: int) -> None:
    """Take a node out; one that is not in it stays out."""
    place = heap.place[node]
    if place < 0:
        return
    heap.place[node] = -1
    heap.size[0] -= 1
    last = heap.items[heap.size[0]]
    if last != node:
        heap.items[place] = last
        heap.place[last] = place
        _settle(heap, place)


@kernel
def clear(heap: Heap) -> None:
    """Take everything out."""
    for place in range(heap.size[0]):
        heap.place[heap.items[place]] = -1
    heap.size[0] = 0


@kernel
def _settle(heap: Heap, place: int) -> None:
    """Move the item at a place up or down until it is in order."""
    node = heap.items[place]
    cost, depth = heap.cost[node], heap.depth[node]
    while place > 0:
        parent = (place - 1) >> 1
        above = heap.items[parent]
        if not less(cost, depth, heap.cost[above], heap.depth[above]):
            break
        heap.items[place] = above
        heap.place[above] = place
        place = parent
    size = heap.size[0]
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        below = heap.items[child]
        if child + 1 < size:
            other = heap.items[child + 1]
            if less(heap.cost[other], heap.depth[other], heap.cost[below], heap.depth[below]):
                child += 1
                below = other
        if not less(heap.cost[below], heap.depth[below], cost, depth):
            break
        heap.items[place] = below
        heap.place[below] = place
        place = child
    heap.items[place] = node
    heap.place[node] = place
