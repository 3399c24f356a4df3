"""The graph that structural features are read from: tools, capabilities, and what ties them.

Tools and their dependencies are an ordinary graph.  Capabilities are hyperedges over tools: the
incidence matrix says which tool is in which, through nested capabilities too.  Records come in,
sparse arrays go out; everything else in this package takes those.

Order: rows are in the order in which ids were given, so a new node is a new row at the end.  A
tool that only an edge or a capability names is a node as well, after those.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array

from pml.domain.trace import DependencyType, ToolDependency
from pml.features.members import Members

HEAVIEST = 1e100
"""So that no sum of weights overflows."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FeatureGraph:
    """Sparse arrays over tools and capabilities.

    Invariant: ``links`` and ``ties`` have no diagonal, and ``ties`` is symmetric; all weights are
    finite and positive where they are stored; ``incidence`` and ``containment`` hold ones.
    """

    tools: tuple[str, ...]
    capabilities: tuple[str, ...]
    links: csr_array
    """(tools, tools): weights of edges from row to column; co-occurrence goes both ways."""
    ties: csr_array
    """(tools, tools): weights whichever way an edge goes."""
    incidence: csr_array
    """(tools, capabilities): the tool is in the capability, or in one that is in it."""
    containment: csr_array
    """(capabilities, capabilities): the row's contains the column's directly."""


def feature_graph(
    tools: Iterable[str],
    capabilities: Iterable[Members] = (),
    dependencies: Iterable[ToolDependency] = (),
) -> FeatureGraph:
    """The arrays of these records.  Edges between the same two tools add up; loops are left out.

    Raises:
        ValueError: an id comes twice, a capability contains itself, or the weight of an edge is
            negative, infinite or NaN; the message names it.
    """
    members = {one.id: one for one in _unique(capabilities)}
    edges = [checked_edge(edge) for edge in dependencies]
    known = _all_tools(tools, members, edges)
    inside = _tools_inside(members)
    links, ties = _edge_arrays(known, edges)
    return FeatureGraph(
        tools=tuple(known),
        capabilities=tuple(members),
        links=links,
        ties=ties,
        incidence=_incidence(known, inside),
        containment=_containment(members),
    )


def index_of(ids: Sequence[str]) -> dict[str, int]:
    """Row of each id."""
    return {key: row for row, key in enumerate(ids)}


def _unique(capabilities: Iterable[Members]) -> list[Members]:
    seen: dict[str, Members] = {}
    for one in capabilities:
        if one.id in seen:
            msg = f"capability {one.id!r} comes twice"
            raise ValueError(msg)
        seen[one.id] = one
    return list(seen.values())


def checked_weight(weight: float, what: str) -> None:
    """Pass a weight that sums and quotients cannot make infinite.

    Raises:
        ValueError: it is negative, above `HEAVIEST`, or NaN; the message begins with ``what``.
    """
    if not 0 <= weight <= HEAVIEST:  # false for NaN
        msg = f"{what}: the weight must be from 0 to {HEAVIEST:g}, got {weight}"
        raise ValueError(msg)


def checked_edge(edge: ToolDependency) -> ToolDependency:
    """Pass an edge whose weight is one; raises as `checked_weight`, naming the edge."""
    checked_weight(edge.weight, f"edge {edge.source!r} -> {edge.target!r} ({edge.type})")
    return edge


def _all_tools(
    tools: Iterable[str], members: Mapping[str, Members], edges: Iterable[ToolDependency]
) -> dict[str, int]:
    known: dict[str, int] = {}
    for tool in tools:
        if tool in known:
            msg = f"tool {tool!r} comes twice"
            raise ValueError(msg)
        known[tool] = len(known)
    inner = (tool for one in members.values() for tool in one.tools)
    ends = (tool for edge in edges for tool in (edge.source, edge.target))
    for tool in (*inner, *ends):
        known.setdefault(tool, len(known))
    return known


def _tools_inside(members: Mapping[str, Members]) -> dict[str, frozenset[str]]:
    """Per capability the tools at any depth; without recursion, as nesting may be deep."""
    inside: dict[str, frozenset[str]] = {}
    for first in members:
        stack, open_ids = [first], {first}
        while stack:
            one = members[stack[-1]]
            inner = [key for key in one.capabilities if key in members]
            waiting = next((key for key in inner if key not in inside), None)
            if stack[-1] in inside or waiting is None:
                inside[one.id] = frozenset(one.tools).union(*(inside[key] for key in inner))
                open_ids.discard(stack.pop())
            elif waiting in open_ids:
                msg = f"capability {waiting!r} contains itself"
                raise ValueError(msg)
            else:
                stack.append(waiting)
                open_ids.add(waiting)
    return {key: inside[key] for key in members}


def _edge_arrays(
    known: Mapping[str, int], edges: Sequence[ToolDependency]
) -> tuple[csr_array, csr_array]:
    """Weights by direction, and whichever the direction."""
    kept = [edge for edge in edges if edge.source != edge.target and edge.weight > 0]
    mutual = [edge.type is DependencyType.CO_OCCURRENCE for edge in kept]
    rows = [known[edge.source] for edge in kept]
    columns = [known[edge.target] for edge in kept]
    weights = np.array([edge.weight for edge in kept])
    both = np.array(mutual, dtype=bool)
    one_way = _array(rows, columns, weights, len(known), len(known))
    back = _array(columns, rows, np.where(both, weights, 0.0), len(known), len(known))
    forth_and_back = _array(columns, rows, weights, len(known), len(known))
    # Sums of sparse arrays keep no zeros.
    return csr_array(one_way + back), csr_array(one_way + forth_and_back)


def _incidence(known: Mapping[str, int], inside: Mapping[str, frozenset[str]]) -> csr_array:
    pairs = [(known[t], column) for column, key in enumerate(inside) for t in sorted(inside[key])]
    return _ones(pairs, len(known), len(inside))


def _containment(members: Mapping[str, Members]) -> csr_array:
    row = index_of(tuple(members))
    pairs = [
        (row[one.id], row[key])
        for one in members.values()
        for key in dict.fromkeys(one.capabilities)
        if key in row
    ]
    return _ones(pairs, len(row), len(row))


def _ones(pairs: Sequence[tuple[int, int]], rows: int, columns: int) -> csr_array:
    return _array([r for r, _ in pairs], [c for _, c in pairs], np.ones(len(pairs)), rows, columns)


def _array(
    rows: Sequence[int], columns: Sequence[int], data: np.ndarray, height: int, width: int
) -> csr_array:
    places = (np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64))
    array = csr_array(coo_array((data, places), shape=(height, width)))
    array.sum_duplicates()
    return array
