"""A heap of nodes whose keys can change while they are in it.

Keys are values (cost, then depth).  Nodes of equal keys come in no particular order; nothing
that uses the heap depends on it.  Each item has four children, and keys stand in the order of the
heap, so that an item's children are neighbours in memory.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int32, Int64

from pml.pathfinding.kernel import kernel, less


class Heap(NamedTuple):
    """Invariant: ``items[place[v]] == v`` for every node in the heap, ``place`` is -1 for others.

    No item's key is before that of its parent, ``(i - 1) // 4`` of item ``i``.
    """

    items: Int32[np.ndarray, " nodes"]
    cost: Float64[np.ndarray, " nodes"]
    """By place, as the items."""
    depth: Int64[np.ndarray, " nodes"]
    place: Int32[np.ndarray, " nodes"]
    """By node."""
    size: Int32[np.ndarray, " one"]


@kernel
def put(heap: Heap, node: int, cost: float, depth: int) -> None:
    """Take a node in, or give it another key."""
    place = heap.place[node]
    if place < 0:
        place = heap.size[0]
        heap.size[0] += 1
    _settle(heap, place, node, cost, depth)


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
    last = heap.size[0]
    if last != place:
        _settle(heap, place, heap.items[last], heap.cost[last], heap.depth[last])


@kernel
def clear(heap: Heap) -> None:
    """Take everything out."""
    for place in range(heap.size[0]):
        heap.place[heap.items[place]] = -1
    heap.size[0] = 0


@kernel
def _settle(heap: Heap, place: int, node: int, cost: float, depth: int) -> None:
    """Find the place of a node by moving others up or down, from a place that is free."""
    while place > 0:
        parent = (place - 1) >> 2
        if not less(cost, depth, heap.cost[parent], heap.depth[parent]):
            break
        _move(heap, parent, place)
        place = parent
    size = heap.size[0]
    while True:
        child = 4 * place + 1
        if child >= size:
            break
        least = child
        for other in range(child + 1, min(child + 4, size)):
            if less(heap.cost[other], heap.depth[other], heap.cost[least], heap.depth[least]):
                least = other
        if not less(heap.cost[least], heap.depth[least], cost, depth):
            break
        _move(heap, least, place)
        place = least
    heap.items[place] = node
    heap.cost[place] = cost
    heap.depth[place] = depth
    heap.place[node] = place


@kernel
def _move(heap: Heap, origin: int, place: int) -> None:
    node = heap.items[origin]
    heap.items[place] = node
    heap.cost[place] = heap.cost[origin]
    heap.depth[place] = heap.depth[origin]
    heap.place[node] = place
