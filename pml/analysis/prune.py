"""Which branches and loops are nodes of the structure.

The rule: a branch is a node if a call lies in one of its arms, or if its outcomes differ in
which node comes next (the end of the program counts as one).  A loop is a node if one lies in
its body.  What remains decides nothing about calls and is passed through.
"""

from bisect import bisect_left

from pml.analysis.graph import Graph, Point, Role, Way

_Next = frozenset[int]


def kept_points(graph: Graph, end: int) -> set[int]:
    """Numbers of the points that are nodes; ``end`` is where the program has ended."""
    points = list(enumerate(graph.points))
    decisions = [n for n, p in points if p is not None and p.role is Role.DECISION]
    loops = [(n, p) for n, p in points if p is not None and p.role is Role.LOOP]
    kept = {n for n, p in points if p is not None and _in_any_case(p)}
    open_decisions = [n for n in decisions if n not in kept]
    order = graph.forward_order() if open_decisions else []
    _keep_loops(loops, kept)
    while True:
        found = _differing(graph, open_decisions, kept, order, end)
        if not found:
            return kept
        kept |= found
        open_decisions = [n for n in open_decisions if n not in kept]
        _keep_loops(loops, kept)


def _in_any_case(point: Point) -> bool:
    return point.role in {Role.TASK, Role.FORK, Role.JOIN} or point.guards


def _keep_loops(loops: list[tuple[int, Point]], kept: set[int]) -> None:
    ordered = sorted(kept)
    for number, point in loops:
        low, high = point.body
        first = bisect_left(ordered, low)
        if first < len(ordered) and ordered[first] < high:
            kept.add(number)


def _differing(
    graph: Graph, decisions: list[int], kept: set[int], order: list[int], end: int
) -> set[int]:
    """The decisions whose outcomes lead to different next nodes."""
    if not decisions:
        return set()
    following: dict[int, _Next] = {}
    for number in reversed(order):
        found: set[int] = {end} if number == end else set()
        for arrow in graph.arrows[number]:
            target = arrow.target
            if target in kept:
                found.add(target)
            elif arrow.way is not Way.BACK:
                found |= following[target]
        following[number] = frozenset(found)
    return {n for n in decisions if len(_outcomes(graph, n, kept, following)) > 1}


def _outcomes(
    graph: Graph, decision: int, kept: set[int], following: dict[int, _Next]
) -> set[_Next]:
    return {
        frozenset({arrow.target}) if arrow.target in kept else following[arrow.target]
        for arrow in graph.arrows[decision]
    }
