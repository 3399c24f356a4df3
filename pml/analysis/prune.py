"""Which branches and loops are nodes of the structure.

The rule: a branch is a node if a call lies in one of its arms, or if its outcomes differ in
which node comes next (the end of the program counts as one).  A loop is a node if one lies in
its body.  What remains decides nothing about calls and is passed through.  Exceptions that any
expression may throw do not make a branch a node; a ``throw`` does.
"""

from pml.analysis.graph import Graph, Point, Role, Way

_KEPT = frozenset({Role.TASK, Role.FORK, Role.JOIN})
_NOT_NEXT = frozenset({Way.BACK, Way.THROWN, Way.LATER})
_Next = frozenset[int]
_NONE: _Next = frozenset()


def kept_points(graph: Graph, end: int) -> set[int]:
    """Numbers of the points that are nodes; ``end`` is where the program has ended."""
    kept: set[int] = set()
    open_points = False
    for number, point in enumerate(graph.points):
        if point is not None:
            if _in_any_case(point):
                _keep(graph, number, kept)
            else:
                open_points = True
    if open_points:
        _keep_differing(graph, end, kept)
    return kept


def _in_any_case(point: Point) -> bool:
    return point.role in _KEPT or point.guards


def _keep(graph: Graph, number: int, kept: set[int]) -> None:
    """Keep a point and the loops around it."""
    while number >= 0 and number not in kept:
        kept.add(number)
        number = graph.inside[number]


def _keep_differing(graph: Graph, end: int, kept: set[int]) -> None:
    """Keep the decisions whose outcomes lead to different next nodes.

    From the end to the start: what comes next is known before what decides about it.
    """
    following: dict[int, _Next] = {}
    for number in reversed(graph.forward_order()):
        ways = [
            frozenset({a.target}) if a.target in kept else following.get(a.target, _NONE)
            for a in graph.arrows[number]
            if a.way not in _NOT_NEXT
        ]
        if number == end or not graph.arrows[number]:  # here something ends
            ways.append(frozenset({end}))
        different = {way for way in ways if way}
        point = graph.points[number]
        if len(different) > 1 and point is not None and point.role is Role.DECISION:
            _keep(graph, number, kept)
        following[number] = (
            next(iter(different)) if len(different) == 1 else _NONE.union(*different)
        )
