"""States of all nodes, kept as tools and capabilities come, go and change.

The whole graph is passed over once (`pml.models.passes`).  After that, a change at a node is
computed anew where its messages reach and nowhere else: containers above it hear their members
again, then all that is below any of those hears its containers again.  Nothing is added to old
results, so rounding does not build up: states are those of a fresh pass (tested within 1e-5).
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

import numpy as np
from jaxtyping import Float32, Int64

from pml.models.growing import GrowingRows
from pml.models.hypergraph import Hypergraph
from pml.models.nesting import Node, above, below
from pml.models.passes import Attention, Passes
from pml.models.projection import NodeKind


class KindStates:
    """Nodes of one kind, and their rows in three matrices.

    Invariant: row n of each matrix is that of ``nodes[n]``, whose ``row`` is n.
    """

    def __init__(
        self,
        nodes: list[Node],
        first: Float32[np.ndarray, "nodes width"],
        risen: Float32[np.ndarray, "nodes width"],
        rows: Float32[np.ndarray, "nodes columns"],
    ) -> None:
        self.nodes = nodes
        self.by_id = {node.id: node for node in nodes}
        self.first = GrowingRows(first)
        """States before any message."""
        self.risen = GrowingRows(risen)
        """States after the messages upwards."""
        self.rows = GrowingRows(rows)
        """States after all messages, then the terms of features."""

    def append(
        self, node: Node, first: Float32[np.ndarray, " width"], terms: Float32[np.ndarray, " terms"]
    ) -> None:
        """Becomes the last row, as if no message had been sent."""
        node.row = len(self.nodes)
        self.nodes.append(node)
        self.by_id[node.id] = node
        self.first.append(first)
        self.risen.append(first)
        self.rows.append(np.concatenate([first, terms]))

    def drop(self, node: Node) -> None:
        """The last node takes its row."""
        for matrix in (self.first, self.risen, self.rows):
            matrix.drop(node.row)
        last = self.nodes.pop()
        if last is not node:
            last.row = node.row
            self.nodes[node.row] = last
        del self.by_id[node.id]


class KeptStates:
    """Of all nodes, both kinds."""

    def __init__(
        self,
        passes: Passes | None,
        graph: Hypergraph,
        first: Float32[np.ndarray, "nodes width"],
        terms: tuple[Float32[np.ndarray, "tools terms"], Float32[np.ndarray, "capabilities terms"]],
    ) -> None:
        """Pass over the whole graph; without ``passes`` states stay as they are."""
        self._passes = passes
        self.width = first.shape[1]
        risen = first if passes is None else passes.upwards(graph, first)
        settled = risen if passes is None else passes.downwards(graph, risen)
        nodes = _nodes(graph)
        tools = len(graph.tools)
        self._kinds = {
            kind: KindStates(
                nodes[of], first[of], risen[of], np.concatenate([settled[of], own], axis=1)
            )
            for kind, of, own in zip(
                NodeKind, (slice(tools), slice(tools, None)), terms, strict=True
            )
        }

    def of(self, kind: NodeKind) -> KindStates:
        """Of the nodes of a kind."""
        return self._kinds[kind]

    def settle(self, risen: Iterable[Node], settled: Iterable[Node]) -> None:
        """Compute anew what changes reach.

        Args:
            risen: Nodes whose own state or whose members changed.
            settled: Nodes whose containers changed.
        """
        if self._passes is None:
            self._put_first(risen)
            return
        changed = above(risen)
        for level, nodes in groupby(changed, key=lambda node: node.level):
            self._rise(self._passes.up, level, list(nodes))
        for _, nodes in groupby(below([*changed, *settled]), key=lambda node: node.level):
            self._settle(self._passes.down, list(nodes))

    def put_terms(self, node: Node, terms: Float32[np.ndarray, " terms"]) -> None:
        """Give a node other terms of features; nobody else depends on them."""
        self._of(node).rows.values[node.row, self.width :] = terms

    def states(self, nodes: Sequence[Node]) -> Float32[np.ndarray, "nodes width"]:
        """Those after all messages."""
        return self._gather(nodes, lambda kind: kind.rows.values[:, : self.width])

    def _of(self, node: Node) -> KindStates:
        return self._kinds[NodeKind.CAPABILITIES if node.level else NodeKind.TOOLS]

    def _put_first(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            kind = self._of(node)
            state = kind.first.values[node.row]
            kind.risen.values[node.row] = state
            kind.rows.values[node.row, : self.width] = state

    def _rise(self, attention: Attention, level: int, nodes: list[Node]) -> None:
        own = self._gather(nodes, lambda kind: kind.first.values)
        if level:
            sources, target_of, source_of = _pairs([node.members for node in nodes])
            heard = self._gather(sources, lambda kind: kind.risen.values)
            own = attention.heard(own, heard, target_of, source_of)
        self._of(nodes[0]).risen.values[[node.row for node in nodes]] = own

    def _settle(self, attention: Attention, nodes: list[Node]) -> None:
        own = self._gather(nodes, lambda kind: kind.risen.values)
        sources, target_of, source_of = _pairs([node.containers for node in nodes])
        settled = attention.heard(own, self.states(sources), target_of, source_of)
        self._of(nodes[0]).rows.values[[node.row for node in nodes], : self.width] = settled

    def _gather(
        self, nodes: Sequence[Node], matrix: Callable[[KindStates], np.ndarray]
    ) -> Float32[np.ndarray, "nodes width"]:
        """Rows of nodes of any kind, in their order."""
        result = np.empty((len(nodes), self.width), np.float32)
        of_tools = np.array([not node.level for node in nodes], dtype=bool)
        rows = np.array([node.row for node in nodes], dtype=np.int64)
        for kind, places in zip(self._kinds.values(), (of_tools, ~of_tools), strict=True):
            result[places] = matrix(kind)[rows[places]]
        return result


def _pairs(
    neighbours: Sequence[Iterable[Node]],
) -> tuple[list[Node], Int64[np.ndarray, " pairs"], Int64[np.ndarray, " pairs"]]:
    """All neighbours once; of each pair the place of who attends, and of who is heard."""
    places: dict[Node, int] = {}
    target_of, source_of = [], []
    for target, sources in enumerate(neighbours):
        for source in sources:
            target_of.append(target)
            source_of.append(places.setdefault(source, len(places)))
    return list(places), np.array(target_of, dtype=np.int64), np.array(source_of, dtype=np.int64)


def _nodes(graph: Hypergraph) -> list[Node]:
    tools = len(graph.tools)
    nodes = [
        Node(id=key, level=level, row=number - tools if level else number)
        for number, (level, key) in enumerate(
            (level, key) for level, ids in enumerate(graph.levels) for key in ids
        )
    ]
    for member, container in zip(graph.members.tolist(), graph.containers.tolist(), strict=True):
        nodes[container].members[nodes[member]] = None
        nodes[member].containers[nodes[container]] = None
    return nodes
