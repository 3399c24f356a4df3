"""Transitive reduction of happens-before: an edge falls away if another path says the same.

A conditional edge says more than that one node precedes another, namely on which outcome, so
only a path that leaves the decision in the same way replaces it; likewise for the body of a
loop.  Only nodes with several edges into them need a look, and from each of those only what
lies between the edge's ends is searched, so that the time stays near linear on real code
(where branches nest, but do not span the program) and the memory linear.

What remains says in which order nodes run; `arrivals` adds what it takes to say that they run.
"""

from bisect import bisect_left
from collections.abc import Callable
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


class Reduction:
    """Which edges of a graph other paths replace.

    The edges are held by how they leave their node, nearest target first when searched.
    """

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._place = {node: index for index, node in enumerate(flow)}
        self._targets: dict[Leaving, list[int]] = {}
        self._ways: dict[int, list[Leaving]] = {}
        for target, leavings in flow.items():
            for leaving in leavings:
                if leaving not in self._targets:
                    self._targets[leaving] = []
                    self._ways.setdefault(leaving[0], []).append(leaving)
                self._targets[leaving].append(self._place[target])
        self._nodes = list(flow)
        self._ends: tuple[tuple[int, bool], list[set[int]]] = ((-1, False), [])

    def remaining(self, target: int) -> set[Leaving]:
        """The ways to a node that no path over another one replaces."""
        leavings = self._flow[target]
        if len(leavings) == 1:
            return set(leavings)
        return {way for way in leavings if not self.replaced(way, target)}

    def replaced(
        self, start: Leaving, target: int, over: Callable[[int], bool] | None = None
    ) -> bool:
        """Whether another path leads from a node, left in this way, to the target.

        ``over`` says which nodes it may lead over; all of them where it is not given.
        """
        leavings = self._flow[target]
        whole = start[1] is EdgeType.SEQUENCE and (start[0], EdgeType.CONTAINS, None) in leavings
        if whole and over is None:
            return True
        limit = self._place[target]
        allowed = Certainty.PASSED if leavings[start] is Certainty.DIRECT else Certainty.LATER
        ends = self._ends_of(target, apart=over is not None)[allowed]
        seen: set[int] = set()
        pending = [self._last_before(start, limit)]
        while pending:
            leaving, index = pending.pop()
            if index < 0:
                continue
            pending.append((leaving, index - 1))
            node = self._nodes[self._targets[leaving][index]]
            if node in seen or self._flow[node][leaving] > allowed:
                continue
            if over is not None and not (over(node) and self._apart(leaving, start)):
                continue
            if node in ends:
                return True
            seen.add(node)
            pending += [self._last_before(way, limit) for way in self._ways.get(node, ())]
        return False

    def _apart(self, leaving: Leaving, start: Leaving) -> bool:
        """Whether a step says something where the node it leaves did not run: not of a body."""
        return leaving[1] is not EdgeType.CONTAINS or leaving == start

    def _ends_of(self, target: int, *, apart: bool) -> list[set[int]]:
        """The nodes that can be the last on a path to a node, by how certain it must be."""
        if self._ends[0] != (target, apart):
            leavings = self._flow[target]
            ways = [
                (way[0], certainty)
                for way, certainty in leavings.items()
                if not (apart and (way[0], EdgeType.CONTAINS, None) in leavings)
            ]
            ends = [{last for last, certainty in ways if certainty <= most} for most in Certainty]
            self._ends = (target, apart), ends
        return self._ends[1]

    def _last_before(self, leaving: Leaving, limit: int) -> tuple[Leaving, int]:
        """Which of the targets is the last before ``limit``; -1 if none."""
        return leaving, bisect_left(self._targets[leaving], limit) - 1
