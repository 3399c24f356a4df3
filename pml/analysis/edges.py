"""From the control-flow graph to nodes, edges and layers of the structure (SA-2, SA-3).

Every node is preceded by the last nodes that can run before it; `reduction` leaves out what
follows from other edges.  Conventions: out of the body of a loop leads one edge, from the loop
to what comes after it, and no edge leads back.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from pml.analysis.graph import Arrow, Form, Graph, Point, Role, Way
from pml.analysis.reduction import Certainty, Flow, Leaving, reduced
from pml.domain.structure import Edge, EdgeType

_LETTERS = {Role.TASK: "n", Role.DECISION: "d", Role.FORK: "f", Role.LOOP: "l"}
_CERTAINTY = {Way.PASSES: Certainty.PASSED, Way.LATER: Certainty.LATER}


@dataclass(frozen=True, slots=True)
class Drawn:
    """The structure's nodes in order, its control edges, and its layers."""

    points: list[Point]
    edges: tuple[Edge, ...]
    layers: tuple[tuple[str, ...], ...]


def name_points(points: Iterable[Point], joins: dict[Point, Point]) -> list[Point]:
    """Give ids per kind in source order; the points in the order in which they take effect."""
    counts: dict[Role, int] = {}
    kept = sorted(points, key=lambda p: p.at)
    for point in kept:
        if point.role is not Role.JOIN:
            counts[point.role] = counts.get(point.role, 0) + 1
            point.id = f"{_LETTERS[point.role]}{counts[point.role]}"
    for fork, join in joins.items():
        join.id = f"j{fork.id[1:]}"
    return sorted(kept, key=lambda p: (p.order, p.at))


def draw(graph: Graph, kept: set[int], joins: dict[Point, Point]) -> Drawn:
    """Nodes with their ids, control edges between them, call sites by depth."""
    by_number = {n: p for n in kept if (p := graph.points[n]) is not None}
    points = name_points(by_number.values(), joins)
    order = graph.forward_order()
    catches = {n for n, point in by_number.items() if point.form is Form.TRY}
    joined: set[tuple[Leaving, int]] = set()
    edges = reduced(flow(graph, kept, order, joined), joined=joined, catches=catches)
    place = {point: index for index, point in enumerate(points)}
    edges.sort(key=lambda e: (place[by_number[e[1]]], place[by_number[e[0][0]]], e[0][2] or ""))
    drawn = tuple(
        Edge(source=by_number[u].id, target=by_number[v].id, type=kind, outcome=outcome)
        for (u, kind, outcome), v in edges
    )
    return Drawn(points, drawn, _layers(graph, by_number, order, place))


def flow(graph: Graph, kept: set[int], order: list[int], joined: set[tuple[Leaving, int]]) -> Flow:
    """For every node, in topological order, the nodes that can run last before it.

    ``joined`` gets the edges that come only from what was awaited together with something else.
    """
    arriving = graph.arriving()
    found: Flow = {}
    for number in order:
        if number in kept:
            found[number] = _last_before(graph, arriving, kept, number, joined)
    return found


def _last_before(
    graph: Graph,
    arriving: list[list[tuple[int, Arrow]]],
    kept: set[int],
    node: int,
    joined: set[tuple[Leaving, int]],
) -> dict[Leaving, Certainty]:
    """Back from a node to the nodes before it, through the points between them."""
    found: dict[Leaving, Certainty] = {}
    alone: set[Leaving] = set()
    seen: set[int] = set()
    pending: list[list[int]] = [[node], [], []]
    for certainty in Certainty:
        while pending[certainty]:
            point = pending[certainty].pop()
            if point in seen:
                continue
            seen.add(point)
            for source, arrow in arriving[point]:
                if arrow.leaves in kept:
                    continue
                here = max(certainty, _CERTAINTY.get(arrow.way, Certainty.DIRECT))
                if source not in kept:
                    pending[here].append(source)
                    continue
                leaving = _leaving(source, arrow)
                found[leaving] = min(here, found.get(leaving, here))
                if point not in graph.joins:
                    alone.add(leaving)
    joined.update((leaving, node) for leaving in found if leaving not in alone)
    return found


def _leaving(source: int, arrow: Arrow) -> Leaving:
    if arrow.way is Way.CONTAINS:
        return source, EdgeType.CONTAINS, None
    if arrow.outcome is not None:
        return source, EdgeType.CONDITIONAL, arrow.outcome
    return source, EdgeType.SEQUENCE, None


def _layers(
    graph: Graph, by_number: dict[int, Point], order: list[int], place: dict[Point, int]
) -> tuple[tuple[str, ...], ...]:
    """Call sites by the number of calls on the longest path to them."""
    depth = dict.fromkeys(order, 0)
    layers: dict[int, list[Point]] = {}
    for number in order:
        point = by_number.get(number)
        mine = depth[number]
        if point is not None and point.role is Role.TASK:
            layers.setdefault(mine, []).append(point)
            mine += 1
        for arrow in graph.arrows[number]:
            if arrow.way is not Way.BACK:
                depth[arrow.target] = max(depth[arrow.target], mine)
    return tuple(
        tuple(point.id for point in sorted(layers[level], key=place.__getitem__))
        for level in sorted(layers)
    )
