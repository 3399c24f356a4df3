"""Transitive reduction of happens-before: an edge falls away if another path says the same.

A conditional edge says more than that one node precedes another, namely on which outcome, so
only a path that leaves the decision in the same way replaces it; likewise for the body of a
loop.  Only nodes with several edges into them need a look, and from each of those only what
lies between the edge's ends is searched, so that the time stays near linear on real code
(where branches nest, but do not span the program) and the memory linear.
"""

from bisect import bisect_left
from enum import IntEnum

from pml.domain.structure import EdgeType

Leaving = tuple[int, EdgeType, str | None]
"""A node and how it is left: in sequence, on an outcome, or into its body."""


class Certainty(IntEnum):
    """What an edge rests on; one is replaced only by paths of which each edge is as good.

    PASSED leads past a function that has run before, and LATER into one that may have; a
    direct edge may be replaced by the former, which are ordered too, but not by the latter.
    """

    DIRECT = 0
    PASSED = 1
    LATER = 2


Flow = dict[int, dict[Leaving, Certainty]]
"""For every node, in topological order, how the nodes before it are left to get there."""


class _Onwards:
    """The edges by how they leave their node, nearest target first when searched."""

    def __init__(self, flow: Flow) -> None:
        self.place = {node: index for index, node in enumerate(flow)}
        self.targets: dict[Leaving, list[int]] = {}
        self.ways: dict[int, list[Leaving]] = {}
        for target, leavings in flow.items():
            for leaving in leavings:
                if leaving not in self.targets:
                    self.targets[leaving] = []
                    self.ways.setdefault(leaving[0], []).append(leaving)
                self.targets[leaving].append(self.place[target])
        self.nodes = list(flow)

    def last_before(self, leaving: Leaving, limit: int) -> tuple[Leaving, int]:
        """Which of the targets is the last before ``limit``; -1 if none."""
        return leaving, bisect_left(self.targets[leaving], limit) - 1


def reduced(flow: Flow) -> list[tuple[Leaving, int]]:
    """The edges that no other path replaces."""
    onwards = _Onwards(flow)
    edges: list[tuple[Leaving, int]] = []
    for target, leavings in flow.items():
        if len(leavings) == 1:
            edges += [(leaving, target) for leaving in leavings]
            continue
        ends = [{node for (node, *_), how in leavings.items() if how <= most} for most in Certainty]
        edges += [
            (leaving, target)
            for leaving in leavings
            if not _replaced(flow, onwards, leaving, target, ends)
        ]
    return edges


def _replaced(
    flow: Flow, onwards: _Onwards, start: Leaving, target: int, ends: list[set[int]]
) -> bool:
    """Whether another path leads from a node, left in this way, to the target.

    ``ends`` are the nodes that can be the last on such a path, by how certain they must be.
    """
    leavings = flow[target]
    if start[1] is EdgeType.SEQUENCE and (start[0], EdgeType.CONTAINS, None) in leavings:
        return True
    limit = onwards.place[target]
    allowed = Certainty.PASSED if leavings[start] is Certainty.DIRECT else Certainty.LATER
    seen: set[int] = set()
    pending = [onwards.last_before(start, limit)]
    while pending:
        leaving, index = pending.pop()
        if index < 0:
            continue
        pending.append((leaving, index - 1))
        node = onwards.nodes[onwards.targets[leaving][index]]
        if node in seen or flow[node][leaving] > allowed:
            continue
        if node in ends[allowed]:
            return True
        seen.add(node)
        pending += [onwards.last_before(way, limit) for way in onwards.ways.get(node, ())]
    return False
