"""``provides`` edges: what flows from one call into another, or could by the schemas (SA-3)."""

from collections.abc import Callable, Mapping
from functools import cache, partial

from pml.analysis.calls import Site
from pml.analysis.fields.mapping import Sides
from pml.analysis.graph import Graph, Point, Role, Way
from pml.analysis.schemas import coverage, properties
from pml.domain.structure import SPREAD, Coverage, Edge, EdgeType, Evidence, FieldFlow
from pml.domain.tools import Catalog, Tool

_Latest = dict[str, frozenset[int]]
"""By tool, the call sites whose result is the latest one of that tool."""
_MOST = 12
"""Of calls of one tool that may each be the latest, since each may be passed by: the last ones.
In a program of n such calls after each other there would be n * n edges."""


def dataflow_edges(
    flows: Mapping[Site, Mapping[str, set[str]]],
    fields: Callable[[Site, str], tuple[FieldFlow, ...]],
    ids: Mapping[Site, str],
    catalog: Catalog,
) -> list[Edge]:
    """An edge for every result that flows into a call's arguments.

    Args:
        flows: by call site and the id of what feeds it, the arguments that it feeds.
        fields: the parts that flow, of the same.
        ids: of the call sites.
        catalog: the tools that are called.
    """
    covered = cache(partial(_covered, catalog))
    return [
        Edge(
            source=producer,
            target=ids[site],
            type=EdgeType.PROVIDES,
            coverage=covered(tool, frozenset(names)),
            evidence=Evidence.DATAFLOW,
            fields=fields(site, producer),
        )
        for site, producers in flows.items()
        for tool in [site.handle.tool]
        for producer, names in producers.items()
    ]


def _covered(catalog: Catalog, tool_id: str, names: frozenset[str]) -> Coverage | None:
    tool = catalog.find(tool_id)
    if tool is None:
        return None
    return coverage(tool, names.union(properties(tool.input_schema)) if SPREAD in names else names)


def schema_edges(graph: Graph, catalog: Catalog, known: set[tuple[str, str]]) -> list[Edge]:
    """An edge where an earlier call's result has a field that a later one can take.

    ``known`` are the pairs that have a dataflow edge.  Of several calls of one tool only the
    latest before the consumer provides: what it returned is newer, and edges stay few in long
    programs; of those that may each be the latest, the last `_MOST`.  Only what a schema says of
    a result counts, declared or learned; names and descriptions are too little evidence for an
    edge of a program.
    """
    find = cache(catalog.find)
    matching = cache(partial(_matching, find))
    latest: dict[int, _Latest] = {}
    edges: list[Edge] = []
    for number in graph.forward_order():
        here = latest.pop(number, {})
        point = graph.points[number]
        if point is not None and point.role is Role.TASK:
            edges += _into(graph, point, here, matching, known)
            tool = find(point.label)
            if tool is not None and tool.result_schema:
                here = {**here, point.label: frozenset({number})}
        for arrow in graph.arrows[number]:
            if arrow.way is not Way.BACK:
                latest[arrow.target] = _merged(latest.get(arrow.target), here)
    return edges


def _matching(find: Callable[[str], Tool | None], producer: str, consumer: str) -> Coverage | None:
    """What a result covers of the other's input, by ids; None for nothing and unknown tools."""
    first, second = find(producer), find(consumer)
    return None if first is None or second is None else _SIDES.provided(first, second)


_SIDES = Sides(2_000)
"""Of tools that programs use: reading one takes 0.1 ms, a program of 21 lines a few."""


def _into(
    graph: Graph,
    point: Point,
    latest: _Latest,
    matching: Callable[[str, str], Coverage | None],
    known: set[tuple[str, str]],
) -> list[Edge]:
    edges: list[Edge] = []
    for tool_id, numbers in latest.items():
        covered = matching(tool_id, point.label)
        for number in sorted(numbers) if covered else ():
            source = graph.points[number]
            if source is not None and (source.id, point.id) not in known:
                edges.append(
                    Edge(
                        source=source.id,
                        target=point.id,
                        type=EdgeType.PROVIDES,
                        coverage=covered,
                        evidence=Evidence.SCHEMA,
                    )
                )
    return edges


def _merged(first: _Latest | None, second: _Latest) -> _Latest:
    if first is None or first is second:
        return second
    merged = dict(first)
    for tool, numbers in second.items():
        known = first.get(tool, numbers)
        merged[tool] = numbers if known == numbers else _last(known | numbers)
    return merged


def _last(numbers: frozenset[int]) -> frozenset[int]:
    return numbers if len(numbers) <= _MOST else frozenset(sorted(numbers)[-_MOST:])
