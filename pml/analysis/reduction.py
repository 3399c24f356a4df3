"""Transitive reduction of happens-before: an edge falls away if another path says the same.

A conditional edge says more than that one node precedes another, namely on which outcome, so
only a path that leaves the decision in the same way replaces it; likewise for the body of a
loop.  Only nodes with several edges into them need a look, and from each of those only what
lies between the edge's ends is searched, so that the time stays near linear on real code
(where branches nest, but do not span the program) and the memory linear.

What remains must not say more than all edges do: in ``try { return await a() } catch {}`` the
way from ``a`` over the ``catch`` to what follows is no reason to leave out the one by ``return``,
as it would seem that ``a`` must have failed.  So where the edges that remain agree on a condition
that does not hold on one that was left out, that one stays.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable
from enum import IntEnum
from heapq import heapify, heappop, heappush

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


Drawn = tuple[Leaving, int]


class _Conditions:
    """What certainly was decided at each node: the last such outcome, which has one before it.

    Two nodes have in common what lies on both ways back, so the outcomes make a tree.  They
    have numbers, greater than that of the one before; 0 is that nothing was decided.
    """

    def __init__(self) -> None:
        self._last: dict[int, int] = {}
        self._numbers: dict[Leaving, int] = {}
        self._before = [0]

    def note(self, node: int, leavings: Iterable[Leaving]) -> None:
        """These are the ways to a node."""
        self._last[node] = self.common(leavings)

    def common(self, leavings: Iterable[Leaving]) -> int:
        """The last outcome that is common to several ways."""
        known = {self._after(leaving) for leaving in leavings}
        latest = [-way for way in known]
        heapify(latest)
        while len(latest) > 1:
            before = self._before[-heappop(latest)]
            if before not in known:
                known.add(before)
                heappush(latest, -before)
        return -latest[0] if latest else 0

    def without(self, outcome: int, leavings: Iterable[Leaving]) -> list[Leaving]:
        """The ways on which an outcome need not have been decided."""
        known = {outcome: True}
        found = []
        for leaving in leavings:
            way, passed = self._after(leaving), []
            while way > outcome and way not in known:
                passed.append(way)
                way = self._before[way]
            holds = known.get(way, False)
            known.update(dict.fromkeys(passed, holds))
            if not holds:
                found.append(leaving)
        return found

    def _after(self, leaving: Leaving) -> int:
        """The last outcome that certainly was decided when a node has been left so."""
        last = self._last.get(leaving[0], 0)
        if leaving[1] is not EdgeType.CONDITIONAL:
            return last
        if leaving not in self._numbers:
            self._numbers[leaving] = len(self._before)
            self._before.append(last)
        return self._numbers[leaving]


def reduced(
    flow: Flow, *, joined: Collection[Drawn] = (), catches: Collection[int] = ()
) -> list[Drawn]:
    """The edges that no other path replaces.

    Args:
        flow: the edges.
        joined: those on which the other ways have been taken as well: they say nothing of
            conditions.
        catches: nodes that are reached from anywhere in a ``try``, before it decides something.
    """
    onwards = _Onwards(flow)
    conditions = _Conditions()
    edges: list[Drawn] = []
    for target, leavings in flow.items():
        remain = _remaining(flow, onwards, target, leavings)
        lost = [way for way in leavings if way not in remain and (way, target) not in joined]
        known = [*remain, *lost]
        if lost and target not in catches:
            agreed = conditions.common(remain)
            other = conditions.without(agreed, lost)
            last = _remaining(flow, onwards, target, other)
            enough = conditions.common([*remain, *last]) == conditions.common(known)
            remain |= last if enough else dict.fromkeys(other)
        conditions.note(target, known)
        edges += [(leaving, target) for leaving in remain]
    return edges


def _remaining(
    flow: Flow, onwards: _Onwards, target: int, among: Collection[Leaving]
) -> dict[Leaving, None]:
    """The ways to a node that no path over another one replaces, whatever the conditions."""
    if len(among) == 1:
        return dict.fromkeys(among)
    how = flow[target]
    ends = [{way[0] for way in among if how[way] <= most} for most in Certainty]
    return dict.fromkeys(w for w in among if not _replaced(flow, onwards, w, target, ends))


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
