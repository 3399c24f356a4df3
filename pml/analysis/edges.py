"""From the control-flow graph to nodes, edges and layers of the structure (SA-2, SA-3).

Happens-before is drawn in transitive reduction: an edge falls away if another path says the
same.  A conditional edge says more than that one node precedes another, namely on which
outcome, so only a path that starts with the same outcome replaces it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from pml.analysis.graph import Graph, Point, Role, Way
from pml.domain.structure import Edge, EdgeType

_LETTERS = {Role.TASK: "n", Role.DECISION: "d", Role.FORK: "f", Role.LOOP: "l"}
_Leaving = tuple[int, EdgeType, str | None]
"""A node and how it is left: in sequence, on an outcome, or into its body."""


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
    arriving = _arriving(graph, kept, order)
    edges = _reduced(arriving, [n for n in order if n in kept])
    place = {point: index for index, point in enumerate(points)}
    edges.sort(key=lambda e: (place[by_number[e[1]]], place[by_number[e[0][0]]], e[0][2] or ""))
    drawn = tuple(
        Edge(source=by_number[u].id, target=by_number[v].id, type=kind, outcome=outcome)
        for (u, kind, outcome), v in edges
    )
    return Drawn(points, drawn, _layers(graph, by_number, order, place))


def _arriving(graph: Graph, kept: set[int], order: list[int]) -> dict[int, set[_Leaving]]:
    """For every point the nodes that can come last before it, and how they are left."""
    arriving: dict[int, set[_Leaving]] = {n: set() for n in order}
    for number in order:
        point = graph.points[number] if number in kept else None
        for arrow in graph.arrows[number]:
            if arrow.way is Way.BACK:
                continue
            if point is None:
                leaves_kept_loop = arrow.way is Way.LEAVES and _loop_is_kept(
                    graph, arrow.target, kept
                )
                if not leaves_kept_loop:
                    arriving[arrow.target] |= arriving[number]
            elif arrow.way is Way.CONTAINS:
                arriving[arrow.target].add((number, EdgeType.CONTAINS, None))
            elif arrow.outcome is not None:
                arriving[arrow.target].add((number, EdgeType.CONDITIONAL, arrow.outcome))
            elif arrow.way is Way.NEXT or not _loop_is_kept(graph, arrow.target, kept):
                arriving[arrow.target].add((number, EdgeType.SEQUENCE, None))
    return arriving


def _loop_is_kept(graph: Graph, end: int, kept: set[int]) -> bool:
    return graph.loop_ends[end] in kept


def _reduced(arriving: dict[int, set[_Leaving]], order: list[int]) -> list[tuple[_Leaving, int]]:
    """The edges that no other path replaces; ``order`` lists nodes, earlier ones first."""
    bit: dict[_Leaving, int] = {}
    before: dict[int, int] = {}
    """For every node, as bits, all ways of leaving nodes that lead to it."""
    edges: list[tuple[_Leaving, int]] = []
    for number in order:
        leavings = arriving[number]
        through = {leaving: before[leaving[0]] for leaving in leavings}
        total = 0
        for leaving, earlier in through.items():
            total |= earlier | _bits(leaving, bit)
        before[number] = total
        for leaving in leavings:
            mine = _bits(leaving, bit, own=True)
            if not any(e & mine for other, e in through.items() if other != leaving):
                edges.append((leaving, number))
    return edges


def _bits(leaving: _Leaving, bit: dict[_Leaving, int], *, own: bool = False) -> int:
    """The bit of a way of leaving a node; with it, unless ``own``, that of leaving it at all."""
    number, kind, _outcome = leaving
    any_way: _Leaving = (number, EdgeType.SEQUENCE, None)
    found = bit.setdefault(leaving, 1 << len(bit))
    if own or kind is EdgeType.SEQUENCE or kind is EdgeType.CONTAINS:
        return found
    return found | bit.setdefault(any_way, 1 << len(bit))


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
