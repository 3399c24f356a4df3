"""Draws a static structure: what may run after what, and which result flows where.

Rows are the longest way from the start, so whatever stands in one row may run side by side; what
follows a loop stands below the loop's body.  Lanes follow from the nodes above (the barycentre
rule of K. Sugiyama, S. Tagawa, M. Toda, "Methods for Visual Understanding of Hierarchical System
Structures", IEEE Transactions on Systems, Man, and Cybernetics 11(2), 1981), without its second
sweep: programs are narrow.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from pml.domain.structure import (
    CATCH,
    CapabilityCall,
    Decision,
    Edge,
    EdgeType,
    Evidence,
    Join,
    Loop,
    Node,
    StaticStructure,
    Task,
)
from pml.evaluation.style import BLUE, GREY, ORANGE, VERMILION

_CALLS = (Task, CapabilityCall)
_SHOWN_CHARS = 26
_FLOW = (EdgeType.SEQUENCE, EdgeType.CONDITIONAL, EdgeType.CONTAINS)
_LANE, _ROW = 2.6, 1.0
_ASIDE = 0.7
Place = tuple[float, float]


def draw_structure(structure: StaticStructure, axes: Axes) -> None:
    """Calls in boxes, decisions and loops as text; orange is where results flow."""
    flow = [edge for edge in structure.edges if edge.type in _FLOW]
    at = places(structure)
    for edge in flow:
        _draw_edge(axes, edge, at)
    for edge in structure.edges:
        if edge.type is EdgeType.PROVIDES and edge.evidence is Evidence.DATAFLOW:
            _draw_value(axes, at[edge.source], at[edge.target])
    for node in structure.nodes:
        _draw_node(axes, node, at[node.id])
    axes.set_axis_off()
    xs, ys = zip(*at.values(), strict=True) if at else ((0.0,), (0.0,))
    axes.set_xlim(min(xs) - _LANE / 2, max(xs) + _LANE / 2 + 0.4)
    axes.set_ylim(min(ys) - 0.6, max(ys) + 0.6)


def places(structure: StaticStructure) -> Mapping[str, Place]:
    """Where each node stands, by id; the first row is the highest."""
    flow = [edge for edge in structure.edges if edge.type in _FLOW]
    rows = _rows(structure, flow)
    into: defaultdict[str, list[Edge]] = defaultdict(list)
    for edge in flow:
        into[edge.target].append(edge)
    lowest = {
        edge.source: max(rows[one.target] for one in flow if one.source == edge.source)
        for edge in flow
    }
    lanes: dict[str, float] = {}
    for row in range(max(rows.values(), default=-1) + 1):
        wanted = {
            node.id: _lane(node, into[node.id], lanes, lowest, rows)
            for node in structure.nodes
            if rows[node.id] == row
        }
        lanes |= _spread(wanted)
    return {one: (lane * _LANE, -rows[one] * _ROW) for one, lane in lanes.items()}


def _lane(
    node: Node,
    into: Sequence[Edge],
    lanes: Mapping[str, float],
    lowest: Mapping[str, int],
    rows: Mapping[str, int],
) -> float:
    """Below what came first; to the side of a way around it."""
    above = sorted((edge for edge in into if edge.source in lanes), key=lambda e: rows[e.source])
    if not above:
        return 0.0
    if isinstance(node, Join):
        return _mean([lanes[edge.source] for edge in above])
    aside = len(into) == 1 and lowest[above[0].source] > rows[node.id]
    return lanes[above[0].source] + _ASIDE * aside


def _rows(structure: StaticStructure, flow: Sequence[Edge]) -> dict[str, int]:
    """The longest way to each node, where what follows a loop also comes after its body."""
    order = [(edge.source, edge.target) for edge in flow]
    for loop in (node for node in structure.nodes if isinstance(node, Loop)):
        body = _within(structure, loop.id)
        after = [
            edge.target
            for edge in flow
            if edge.source == loop.id and edge.type is not EdgeType.CONTAINS
        ]
        for then in set(after) - body:
            # A helper stands elsewhere in the source, and may come before a part of the body.
            order += [(one, then) for one in body - _reached(then, order)]
    rows = dict.fromkeys((node.id for node in structure.nodes), 0)
    for _ in rows:
        for source, target in order:
            rows[target] = min(max(rows[target], rows[source] + 1), len(rows))
    return rows


def _reached(start: str, order: Sequence[tuple[str, str]]) -> set[str]:
    """What can come after a node, itself included."""
    reached, pending = {start}, [start]
    while pending:
        source = pending.pop()
        fresh = {target for one, target in order if one == source} - reached
        reached |= fresh
        pending += fresh
    return reached


def _within(structure: StaticStructure, loop_id: str) -> set[str]:
    """The nodes that stand in the loop's source text."""
    whole = structure.locations[loop_id]
    return {
        one
        for one, place in structure.locations.items()
        if one != loop_id and whole.start <= place.start and place.end <= whole.end
    }


def _spread(wanted: Mapping[str, float]) -> dict[str, float]:
    """Lanes near the wanted ones, at least one apart, otherwise in the order of the source."""
    ordered = sorted(wanted, key=lambda one: wanted[one])
    lanes: list[float] = []
    for one in ordered:
        lanes.append(max(wanted[one], lanes[-1] + 1) if lanes else wanted[one])
    shift = _mean(list(wanted.values())) - _mean(lanes)
    return {one: lane + shift for one, lane in zip(ordered, lanes, strict=True)}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _draw_edge(axes: Axes, edge: Edge, at: Mapping[str, Place]) -> None:
    (x, y), (to_x, to_y) = at[edge.source], at[edge.target]
    style = "--" if edge.type is EdgeType.CONTAINS else "-"
    arrow = {"arrowstyle": "-|>", "color": GREY, "linestyle": style, "shrinkA": 9, "shrinkB": 9}
    axes.annotate("", (to_x, to_y), (x, y), arrowprops=arrow, zorder=1)
    if edge.outcome is not None:
        near = (x + 0.3 * (to_x - x), y + min(0.45, 0.45 / max(y - to_y, 0.1)) * (to_y - y))
        white = {"boxstyle": "square,pad=0.05", "facecolor": "white", "edgecolor": "none"}
        axes.text(
            *near, edge.outcome, color=VERMILION, fontsize=8, ha="center", va="center", bbox=white
        )


def _draw_value(axes: Axes, source: Place, target: Place) -> None:
    arrow = {
        "arrowstyle": "-|>",
        "color": ORANGE,
        "alpha": 0.75,
        "linewidth": 1.2,
        "connectionstyle": "arc3,rad=-0.35",
        "shrinkA": 12,
        "shrinkB": 12,
    }
    axes.annotate("", target, source, arrowprops=arrow, zorder=2)


def _draw_node(axes: Axes, node: Node, place: Place) -> None:
    calls = isinstance(node, _CALLS)
    box = {
        "boxstyle": "round,pad=0.35" if calls else "square,pad=0.15",
        "facecolor": "#eaf3fa" if calls else "white",
        "edgecolor": BLUE if calls else "none",
        "linewidth": 1,
    }
    colour = "#222222" if calls else "#555555"
    axes.text(
        *place, _label(node), ha="center", va="center", fontsize=8, color=colour, bbox=box, zorder=3
    )


def _label(node: Node) -> str:
    if isinstance(node, Task):
        return f"{node.id}  {node.tool}"
    if isinstance(node, CapabilityCall):
        return f"{node.id}  capabilities.{node.name}"
    if isinstance(node, Decision) and node.condition == CATCH:
        return "try, or catch"
    if isinstance(node, Decision | Loop):
        said = f"{'if' if isinstance(node, Decision) else 'for'} {node.condition}"
        return said if len(said) <= _SHOWN_CHARS else said[: _SHOWN_CHARS - 1] + "…"
    return "together" if node.id.startswith("f") else "joined"
