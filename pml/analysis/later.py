"""Functions that are called again where their first call may not have happened.

In ``if (c) h(); b(); h();`` the second call comes after ``b``, and ``b`` after what the first one
runs: drawn both ways that were a cycle, so the arrow into the second call goes BACK (`graph`).
But if ``c`` is false, ``h`` runs for the first time there.  So what comes before the second call
and cannot come after the first one, here the other arm of the branch, also leads into ``h``.
"""

from pml.analysis.graph import Arrow, Graph, Way

_Arriving = list[list[tuple[int, Arrow]]]


def add_later_calls(graph: Graph) -> None:
    """Complete the graph with arrows of way LATER."""
    order = graph.forward_order()
    if not graph.repeats:
        return
    place = {number: index for index, number in enumerate(order)}
    again: dict[int, list[int]] = {}
    for before, entry in graph.repeats:
        again.setdefault(entry, []).append(before)
    arriving = graph.arriving()
    found = [
        (source, entry, arrow)
        for entry, calls in again.items()
        for source, arrow in _other_ways(graph, arriving, place, entry, calls)
    ]
    for source, entry, arrow in found:
        if len(again) == 1 or not _reaches(graph, entry, source):
            graph.link(source, entry, Way.LATER, arrow.outcome, leaves=arrow.leaves)
    graph.order = []


def _other_ways(
    graph: Graph, arriving: _Arriving, place: dict[int, int], entry: int, calls: list[int]
) -> list[tuple[int, Arrow]]:
    """The arrows by which control gets to the calls without having run the function."""
    may, must = _after(graph, arriving, place, entry, calls)
    found: list[tuple[int, Arrow]] = []
    pending = [call for call in calls if call not in must]
    seen = set(pending)
    while pending:
        for source, arrow in arriving[pending.pop()]:
            if source in must or source in seen:
                continue
            if source in may:
                seen.add(source)
                pending.append(source)
            else:
                found.append((source, arrow))
    return found


def _after(
    graph: Graph, arriving: _Arriving, place: dict[int, int], entry: int, calls: list[int]
) -> tuple[set[int], set[int]]:
    """Of the points up to the calls those that may, and those that must come after the entry."""
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


def _reaches(graph: Graph, start: int, goal: int) -> bool:
    """Whether control can get from one point to another."""
    seen, pending = {start}, [start]
    while pending:
        for arrow in graph.arrows[pending.pop()]:
            if arrow.way is not Way.BACK and arrow.target not in seen:
                seen.add(arrow.target)
                pending.append(arrow.target)
    return goal in seen
