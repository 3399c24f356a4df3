"""The hypergraph by name: checks what comes in, and knows which number stands for what.

Numbers of deleted hyperedges, and their slots, are given to later ones.  Nothing that is answered
depends on the numbers.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import chain

import numpy as np
from jaxtyping import Float64, Int32, Int64

from pml.pathfinding.arrays import blank, grown
from pml.pathfinding.records import Hyperedge, HyperedgeKind
from pml.pathfinding.stars import Stars, link, link_all, unlink

_ROOM = 16
"""Numbers of each axis to begin with."""


class Hypergraph:
    """Nodes and hyperedges by name and by number.

    Invariant: `stars` holds the hyperedges of `ids` and no others; what is refused leaves no trace.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        """Of nodes, by number."""
        self.nodes: dict[str, int] = {}
        """Numbers of nodes."""
        self.ids: dict[str, int] = {}
        """Numbers of hyperedges."""
        self._id: list[str] = []
        self._kind: list[HyperedgeKind] = []
        self._free: list[int] = []
        self._free_slots: dict[int, list[int]] = {}
        """First slots of gone hyperedges, by number of sources."""
        self._slots = 0
        self.sizes = {"nodes": _ROOM, "edges": _ROOM, "slots": _ROOM}
        self.stars: Stars = blank(Stars, self.sizes)

    def number(self, node: str) -> int:
        """Of a node.

        Raises:
            ValueError: there is no such node.
        """
        found = self.nodes.get(node)
        if found is None:
            msg = f"the graph has no node {node!r}"
            raise ValueError(msg)
        return found

    def edge_number(self, hyperedge_id: str) -> int:
        """Of a hyperedge.

        Raises:
            ValueError: there is no such hyperedge.
        """
        found = self.ids.get(hyperedge_id)
        if found is None:
            msg = f"the graph has no hyperedge {hyperedge_id!r}"
            raise ValueError(msg)
        return found

    def hyperedge(self, edge: int) -> Hyperedge:
        """The record of a number."""
        stars = self.stars
        first = int(stars.first[edge])
        sources = stars.node[first : first + int(stars.size[edge])].tolist()
        return Hyperedge(
            id=self._id[edge],
            sources=tuple(self.names[node] for node in sources),
            target=self.names[stars.head[edge]],
            weight=float(stars.weight[edge]),
            kind=self._kind[edge],
        )

    def kind(self, edge: int) -> HyperedgeKind:
        """Why the hyperedge of a number stands."""
        return self._kind[edge]

    def add_nodes(self, names: Iterable[str]) -> None:
        """Take in nodes; those that are there already stay."""
        for name in names:
            if name not in self.nodes:
                self.nodes[name] = len(self.names)
                self.names.append(name)
        self._make_room(edges=0, slots=0)

    def add(self, hyperedge: Hyperedge) -> int:
        """Take in a hyperedge with its nodes, and return its number.

        Raises:
            ValueError: its id is taken, or it breaks `Hyperedge`'s invariant.
        """
        check(hyperedge)
        if hyperedge.id in self.ids:
            msg = f"there is a hyperedge {hyperedge.id!r} already"
            raise ValueError(msg)
        self.add_nodes((*hyperedge.sources, hyperedge.target))
        size = len(hyperedge.sources)
        self._make_room(edges=1, slots=size)
        edge = self._free.pop() if self._free else self._new_number()
        free = self._free_slots.get(size)
        first = free.pop() if free else self._slots
        self._slots = max(self._slots, first + size)
        self.ids[hyperedge.id] = edge
        self._id[edge], self._kind[edge] = hyperedge.id, hyperedge.kind
        stars = self.stars
        stars.head[edge] = self.nodes[hyperedge.target]
        stars.weight[edge] = hyperedge.weight
        stars.key[edge] = key_of(hyperedge.id)
        stars.first[edge], stars.size[edge] = first, size
        stars.node[first : first + size] = [self.nodes[name] for name in hyperedge.sources]
        link(stars, edge)
        return edge

    def remove(self, edge: int) -> None:
        """Let go of a hyperedge; its nodes stay."""
        unlink(self.stars, edge)
        del self.ids[self._id[edge]]
        self.stars.head[edge] = -1
        self._free.append(edge)
        size = int(self.stars.size[edge])
        self._free_slots.setdefault(size, []).append(int(self.stars.first[edge]))

    def load(
        self,
        *,
        heads: Int32[np.ndarray, " edges"],
        offsets: Int64[np.ndarray, " bounds"],
        tails: Int32[np.ndarray, " slots"],
        weights: Float64[np.ndarray, " edges"],
        ids: Sequence[str],
        kinds: Sequence[HyperedgeKind],
    ) -> None:
        """Take in all hyperedges of an empty graph at once; see `DRDSP.from_arrays`.

        Raises:
            ValueError: ids repeat, or a hyperedge breaks `Hyperedge`'s invariant.
        """
        check_arrays(
            heads=heads,
            offsets=offsets,
            tails=tails,
            weights=weights,
            nodes=len(self.names),
            ids=ids,
        )
        self._make_room(edges=len(ids), slots=len(tails))
        self.ids = {name: edge for edge, name in enumerate(ids)}
        self._id, self._kind, self._slots = list(ids), list(kinds), len(tails)
        stars, edges = self.stars, len(ids)
        stars.head[:edges] = heads
        stars.weight[:edges] = weights
        stars.key[:edges] = np.fromiter(map(key_of, ids), np.int64, edges)
        stars.first[:edges] = offsets[:-1]
        stars.size[:edges] = np.diff(offsets)
        stars.node[: len(tails)] = tails
        link_all(stars, edges, np.cumsum(np.bincount(tails, minlength=self.sizes["nodes"])))

    def _new_number(self) -> int:
        self._id.append("")
        self._kind.append(HyperedgeKind.OTHER)
        return len(self._id) - 1

    def _make_room(self, *, edges: int, slots: int) -> None:
        """Double an axis until there is room for what is there and so much more."""
        needed = {
            "nodes": len(self.names),
            "edges": len(self._id) + edges,
            "slots": self._slots + slots,
        }
        if any(needed[axis] > size for axis, size in self.sizes.items()):
            self.sizes = {
                axis: max(size, 1 << (needed[axis] - 1).bit_length())
                if needed[axis] > size
                else size
                for axis, size in self.sizes.items()
            }
            self.stars = grown(self.stars, self.sizes)


def key_of(hyperedge_id: str) -> int:
    """What decides between equally good hyperedges: a hash of the id, the least first.

    A name's own order would do as well, but kernels compare numbers.  Two ids of a million share
    a hash with a chance of 3e-8; then the one that was linked last is taken.
    """
    digest = blake2b(hyperedge_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def check_weight(weight: float, hyperedge_id: str) -> None:
    """Raise a ValueError unless the weight is finite and not negative."""
    if not (math.isfinite(weight) and weight >= 0):
        msg = f"hyperedge {hyperedge_id!r}: a weight is finite and at least 0, not {weight}"
        raise ValueError(msg)


def check(hyperedge: Hyperedge) -> None:
    """Raise a ValueError unless `Hyperedge`'s invariant holds."""
    check_weight(hyperedge.weight, hyperedge.id)
    sources = hyperedge.sources
    if not sources:
        msg = f"hyperedge {hyperedge.id!r} needs a source; what needs nothing comes from the start"
        raise ValueError(msg)
    if len(set(sources)) < len(sources):
        msg = f"hyperedge {hyperedge.id!r} names a source twice: {', '.join(sources)}"
        raise ValueError(msg)
    if hyperedge.target in sources:
        msg = f"hyperedge {hyperedge.id!r} can never fire: it needs its target {hyperedge.target!r}"
        raise ValueError(msg)


def check_arrays(
    *,
    heads: Int32[np.ndarray, " edges"],
    offsets: Int64[np.ndarray, " bounds"],
    tails: Int32[np.ndarray, " slots"],
    weights: Float64[np.ndarray, " edges"],
    nodes: int,
    ids: Sequence[str],
) -> None:
    """`check` for many hyperedges, and that the arrays fit together."""
    edges = len(ids)
    if not (len(heads) == len(weights) == len(offsets) - 1 == edges) or not (
        offsets[0] == 0 and offsets[-1] == len(tails)
    ):
        msg = (
            f"{edges} ids, {len(heads)} heads, {len(weights)} weights, {len(offsets)} offsets over "
            f"{len(tails)} tails do not fit: one offset more than hyperedges, from 0 to all tails"
        )
        raise ValueError(msg)
    sizes = np.diff(offsets)
    _refuse(sizes < 1, ids, "needs a source; what needs nothing comes from the start")
    _refuse(
        ~(np.isfinite(weights) & (weights >= 0)),
        ids,
        "has a weight that is not finite and at least 0",
    )
    owner = np.repeat(np.arange(edges), sizes)
    for numbers, whose in ((heads, np.arange(edges)), (tails, owner)):
        _refuse((numbers < 0) | (numbers >= nodes), ids, "names a node that is not there", whose)
    _refuse(heads[owner] == tails, ids, "can never fire: its target is a source", owner)
    order = np.lexsort((tails, owner))
    twice = (np.diff(owner[order]) == 0) & (np.diff(tails[order]) == 0)
    _refuse(twice, ids, "names a source twice", owner[order][1:])
    if len(set(ids)) < edges:
        twin = next(name for name, times in Counter(ids).items() if times > 1)
        msg = f"there are two hyperedges {twin!r}"
        raise ValueError(msg)


def _refuse(bad: np.ndarray, ids: Sequence[str], why: str, owner: np.ndarray | None = None) -> None:
    if bad.any():
        first = int(np.argmax(bad))
        msg = f"hyperedge {ids[first if owner is None else int(owner[first])]!r} {why}"
        raise ValueError(msg)


def flat(hyperedges: Sequence[Hyperedge]) -> Iterable[str]:
    """All names of nodes on hyperedges, in order, with repetitions."""
    return chain.from_iterable((*each.sources, each.target) for each in hyperedges)
