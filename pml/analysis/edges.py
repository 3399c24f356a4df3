"""From the control-flow graph to nodes, edges and layers of the structure (SA-2, SA-3).

Every node is preceded by the last nodes that can run before it; `reduction` leaves out what
follows from other edges, as far as `arrivals` lets it.  Conventions: out of the body of a loop
leads one edge, from the loop to what comes after it, and no edge leads back.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, partial

from pml.analysis.arrivals import Arrivals, may_be_left_out
from pml.analysis.graph import Graph, Point, Role, Way
from pml.analysis.reduction import Leaving, Reduction
from pml.domain.structure import Edge

_LETTERS = {Role.TASK: "n", Role.DECISION: "d", Role.FORK: "f", Role.LOOP: "l"}


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
    edges = _edges(graph, kept, by_number, order)
    place = {point: index for index, point in enumerate(points)}
    edges.sort(key=lambda e: (place[by_number[e[1]]], place[by_number[e[0][0]]], e[0][2] or ""))
    drawn = tuple(
        Edge(source=by_number[u].id, target=by_number[v].id, type=kind, outcome=outcome)
        for (u, kind, outcome), v in edges
    )
    return Drawn(points, drawn, _layers(graph, by_number, order, place))


def _edges(
    graph: Graph, kept: set[int], points: dict[int, Point], order: list[int]
) -> list[tuple[Leaving, int]]:
    """The edges that remain of all that lead to each node."""
    arrivals = Arrivals(graph, kept, order)
    flow = {number: arrivals.ways(number) for number in order if number in kept}
    reduction = Reduction(flow)
    over = cache(lambda number: may_be_left_out(points[number]))
    found: list[tuple[Leaving, int]] = []
    for target, ways in flow.items():
        remain = reduction.remaining(target)
        if len(remain) < len(ways):
            left_out = cache(partial(reduction.replaced, target=target, over=over))
            remain |= arrivals.unsaid(target, remain, left_out)
        found += [(way, target) for way in ways if way in remain]
    return found


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
