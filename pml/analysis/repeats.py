"""Functions that are called again: a call site stands in the structure once (SA-3).

The body of a function is in the graph where the source calls it first.  A further call, in the
other arm of a branch say, leads into it too.  Where it can come after an earlier call, as in
``h(); b(); h();``, that would be a cycle: then control goes past it, and happens-before says
that ``b`` comes after the first run.

In ``if (c) h(); b(); h();`` the second call is such a one, but if ``c`` is false it is the first
that happens.  So what comes before it and cannot come after the first one, here the other arm,
leads into ``h`` as well, by an arrow of way LATER.

Which arrows would close a cycle is found while the topological order is kept up to date:
D. J. Pearce, P. H. J. Kelly, "A dynamic topological sort algorithm for directed acyclic graphs",
ACM JEA 11 (2006), doi:10.1145/1187436.1210590, section 3.
"""

from pml.analysis.graph import Arrow, Graph, Repeat, Way


def place_repeats(graph: Graph) -> None:
    """Give every repeated call its arrows."""
    for call in graph.repeats:
        graph.link(call.before, call.end, Way.PASSES)
    if all(call.certain for call in graph.repeats):
        return
    order = _Order(graph)
    cyclic: dict[int, list[int]] = {}
    for call in graph.repeats:
        if call.certain or _passing(call) not in graph.arrows[call.before]:
            continue  # the latter: it comes back to before it, or never runs
        if order.insert(call.before, call.entry):
            _lead_in(graph, call)
        else:
            cyclic.setdefault(call.entry, []).append(call.before)
    _add_later(graph, order, cyclic)
    graph.order = []


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
        self.arriving = graph.arriving()
        self._added: dict[int, list[int]] = {}

    def insert(self, source: int, target: int) -> bool:
        """Add an arrow; False if it would close a cycle."""
        low, high = self.place[target], self.place[source]
        if low < high:
            after = self._reached(target, high)
            if source in after:
                return False
            self._reorder(self._reaching(source, low), after)
        self._added.setdefault(source, []).append(target)
        self.arriving[target].append((source, Arrow(target, Way.AGAIN)))
        return True

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

    def _reaching(self, end: int, low: int) -> set[int]:
        """What comes before a point, down to a place."""
        seen, pending = {end}, [end]
        while pending:
            for source, _arrow in self.arriving[pending.pop()]:
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


def _add_later(graph: Graph, order: _Order, cyclic: dict[int, list[int]]) -> None:
    """Arrows for ways on which a call that comes after another one is the first."""
    found = [
        (source, entry, arrow)
        for entry, calls in cyclic.items()
        for source, arrow in _other_ways(graph, order, entry, calls)
    ]
    for source, entry, arrow in found:
        if order.insert(source, entry):
            graph.link(source, entry, Way.LATER, arrow.outcome, leaves=arrow.leaves)


def _other_ways(
    graph: Graph, order: _Order, entry: int, calls: list[int]
) -> list[tuple[int, Arrow]]:
    """The arrows by which control gets to the calls without having run the function."""
    may, must = _after(graph, order, entry, calls)
    found: list[tuple[int, Arrow]] = []
    pending = [call for call in calls if call not in must]
    seen = set(pending)
    while pending:
        for source, arrow in order.arriving[pending.pop()]:
            if source in must or source in seen:
                continue
            if source in may:
                seen.add(source)
                pending.append(source)
            else:
                found.append((source, arrow))
    return found


def _after(graph: Graph, order: _Order, entry: int, calls: list[int]) -> tuple[set[int], set[int]]:
    """Of the points up to the calls those that may, and those that must come after the entry."""
    place, arriving = order.place, order.arriving
    between, pending = set(calls), list(calls)
    while pending:
        for source, _arrow in arriving[pending.pop()]:
            if place[source] > place[entry] and source not in between:
                between.add(source)
                pending.append(source)
    may, must = {entry}, {entry}
    for point in sorted(between, key=place.__getitem__):
        sources = [source for source, _arrow in arriving[point]]
        if any(source in may for source in sources):
            may.add(point)
            if (any if point in graph.joins else all)(source in must for source in sources):
                must.add(point)
    return may, must
