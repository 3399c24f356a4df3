"""Functions that are called again: a call site stands in the structure once (SA-3).

The body of a function is in the graph where the source calls it first.  A further call, in the
other arm of a branch say, leads into it too.  Where it can come after an earlier call, as in
``h(); b(); h();``, that would be a cycle: then control goes past it, and happens-before says
that ``b`` comes after the first run.

In ``if (c) h(); b(); h();`` the second call is such a one, but if ``c`` is false it is the first
that happens.  So what comes before it and cannot come after the first one, here the other arm,
leads into ``h`` as well, by an arrow of way LATER: from its end, or where that would close a
cycle over another function, from the last place in it where it does not.

What may be the first of all that happens, in a default value say, has no edge into it that would
say otherwise: control goes past it wherever it is called again.

Which arrows would close a cycle is found while the topological order is kept up to date:
D. J. Pearce, P. H. J. Kelly, "A dynamic topological sort algorithm for directed acyclic graphs",
ACM JEA 11 (2006), doi:10.1145/1187436.1210590, section 3.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from functools import reduce
from operator import and_, or_

from pml.analysis.graph import Arrow, Graph, Repeat, Way

_Ends = dict[int, set[int]]
"""By a function's entry, points that come after it: where its calls end."""


def place_repeats(graph: Graph) -> None:
    """Give every repeated call its arrows."""
    again = {call.entry for call in graph.repeats}
    for place, call in enumerate(graph.repeats):
        graph.link(call.before, call.end, Way.PASSES)
        if call.certain and not call.within.isdisjoint(again):
            graph.repeats[place] = call._replace(certain=False)
    if all(call.certain for call in graph.repeats):
        return
    order = _Order(graph)
    bit = _bits(call for call in graph.repeats if not call.certain)
    may, _must = _run_before(graph, order, bit, order.points())
    first = _without_node(graph)
    cyclic: list[Repeat] = []
    ends: _Ends = {}
    for call in graph.repeats:
        after = ends.setdefault(call.entry, {call.entry})
        if call.certain or _passing(call) not in graph.arrows[call.before]:
            pass  # the latter comes back to before it, or never runs
        elif call.entry in first:
            pass
        elif may[call.before] & bit[call.entry]:
            cyclic.append(call)
        elif order.insert(call.before, call.entry, after):
            _lead_in(graph, call)
        else:
            cyclic.append(call)
        after.add(call.end)
    if cyclic:
        _add_later(graph, order, cyclic, ends)
    graph.order = []


def _without_node(graph: Graph) -> set[int]:
    """The points to which a way leads from the start on which there is nothing else."""
    seen, pending = {0}, [0]
    while pending:
        for arrow in graph.arrows[pending.pop()]:
            if arrow.target not in seen and graph.points[arrow.target] is None:
                seen.add(arrow.target)
                pending.append(arrow.target)
    return seen


def _lead_in(graph: Graph, call: Repeat) -> None:
    """The call is an ordinary one: control goes through the function."""
    arrows = graph.arrows[call.before]
    arrows[arrows.index(_passing(call))] = Arrow(call.entry, Way.AGAIN)


def _passing(call: Repeat) -> Arrow:
    return Arrow(call.end, Way.PASSES)


class _Order:
    """A topological order of the graph that grows with it."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.place = [0] * len(graph.points)
        for index, point in enumerate(graph.forward_order()):
            self.place[point] = index
        self.arriving = [[source for source, _arrow in found] for found in graph.arriving()]
        self._added: dict[int, list[int]] = {}

    def points(self) -> list[int]:
        """The points in their order."""
        return sorted(range(len(self.place)), key=self.place.__getitem__)

    def insert(self, source: int, target: int, after: set[int]) -> bool:
        """Add an arrow; False if it would close a cycle.

        ``after`` are points that come after the target: they are met sooner than itself.
        """
        low, high = self.place[target], self.place[source]
        if low < high:
            before = self._reaching(source, low, after)
            if before is None:
                return False
            self._reorder(before, self._reached(target, high))
        self._added.setdefault(source, []).append(target)
        self.arriving[target].append(source)
        return True

    def last_apart(self, point: int, start: int) -> list[int]:
        """The last on the ways to a point that do not come after another one, which it does."""
        after = self._reached(start, self.place[point])
        found: dict[int, None] = {}
        seen, pending = {point}, [point]
        while pending:
            for source in self.arriving[pending.pop()]:
                if source not in after:
                    found[source] = None
                elif source not in seen:
                    seen.add(source)
                    pending.append(source)
        return list(found)

    def _reached(self, start: int, high: int) -> set[int]:
        """What comes after a point, up to a place."""
        seen, pending = {start}, [start]
        while pending:
            point = pending.pop()
            targets = [a.target for a in self._graph.arrows[point] if a.way is not Way.BACK]
            for target in (*targets, *self._added.get(point, ())):
                if target not in seen and self.place[target] <= high:
                    seen.add(target)
                    pending.append(target)
        return seen

    def _reaching(self, end: int, low: int, never: set[int]) -> set[int] | None:
        """What comes before a point, down to a place; None if one of some points does."""
        seen, pending = {end}, deque([end])
        while pending:
            point = pending.popleft()
            if point in never:
                return None
            for source in self.arriving[point]:
                if source not in seen and self.place[source] >= low:
                    seen.add(source)
                    pending.append(source)
        return seen

    def _reorder(self, before: set[int], after: set[int]) -> None:
        """Exchange the places of two sets, each in its order."""
        points = [*sorted(before, key=self.place.__getitem__)]
        points += sorted(after, key=self.place.__getitem__)
        for place, point in zip(sorted(self.place[p] for p in points), points, strict=True):
            self.place[point] = place


def _add_later(graph: Graph, order: _Order, cyclic: list[Repeat], ends: _Ends) -> None:
    """Arrows for ways on which a call that comes after another one is the first.

    Sets of functions are the bits of a number: few functions are called again like that.
    """
    bit = _bits(cyclic)
    for call in cyclic:  # back from here only past the call: who returned was called elsewhere
        order.arriving[call.end] = [call.before]
    bit.update((call.end, bit[call.entry]) for call in cyclic)
    linked: set[tuple[int, int]] = set()
    while found := dict.fromkeys(
        way for way in _first_calls(graph, order, bit, cyclic) if way not in linked
    ):
        linked.update(found)
        pending = list(reversed(found))
        while pending:
            source, entry = pending.pop()
            if order.insert(source, entry, ends[entry]):
                graph.link(source, entry, Way.LATER)
            else:
                further = [(point, entry) for point in order.last_apart(source, entry)]
                pending += [way for way in further if way not in linked]
                linked.update(further)


def _first_calls(
    graph: Graph, order: _Order, bit: dict[int, int], cyclic: list[Repeat]
) -> Iterator[tuple[int, int]]:
    """Points from which ways lead to a call that is the first of a function there; its entry.

    A way into one function may lead on to the first call of another, so that arrows that are
    added for the one may ask for more.
    """
    points = order.points()
    may, must = _run_before(graph, order, bit, points)
    entries = list(_bits(cyclic))
    wanted = [0] * len(points)
    """Functions by the points on ways to calls of them that may be the first."""
    for call in cyclic:
        wanted[call.before] |= bit[call.entry] & ~must[call.before]
    for point in reversed(points):
        for source in order.arriving[point] if wanted[point] else ():
            wanted[source] |= wanted[point] & may[source] & ~must[source]
            missing = wanted[point] & ~may[source]
            yield from ((source, entry) for entry in _members(entries, missing))


def _bits(calls: Iterable[Repeat]) -> dict[int, int]:
    """A bit for every function that is called, by its entry."""
    entries = dict.fromkeys(call.entry for call in calls)
    return {entry: 1 << index for index, entry in enumerate(entries)}


def _run_before(
    graph: Graph, order: _Order, bit: dict[int, int], points: list[int]
) -> tuple[list[int], list[int]]:
    """The functions that may, and those that must have been called before each point."""
    may, must = [0] * len(points), [0] * len(points)
    for point in points:
        sources = order.arriving[point]
        own = bit.get(point, 0)
        may[point] = reduce(or_, (may[source] for source in sources), own)
        both = (must[source] for source in sources)
        known = reduce(or_ if point in graph.joins else and_, both) if sources else 0
        must[point] = known | own
    return may, must


def _members(entries: list[int], bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield entries[lowest.bit_length() - 1]
        bits ^= lowest
