"""The row of a tool that is new, while everything else stays as it is (LE-5).

A tool that a server offers since this minute has edges, perhaps, and no runs.  Its row follows from
its edges and its neighbours: Adamic-Adar exactly, community and rank as they would be if nobody
else moved, heat as it flows in with one step.  The next `structure_of` puts it right.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Float64

from pml.domain.trace import DependencyType, ToolDependency
from pml.features.activity import Activity
from pml.features.association import tool_association
from pml.features.columns import TOOL_COLUMNS
from pml.features.communities import community_of
from pml.features.graph import FeatureGraph, checked_edge, index_of
from pml.features.matrix import activity_columns, stacked
from pml.features.measures import squashed
from pml.features.pagerank import DAMPING
from pml.features.structure import Structure


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NewRow:
    """Of one node; columns are those of the matrix of its kind."""

    values: Float32[np.ndarray, " features"]
    group: int
    """Community or cluster; -1 where none is near."""


def new_tool(
    structure: Structure,
    activity: Activity,
    now_ms: int,
    warmth: Float64[np.ndarray, " nodes"],
    *,
    tool: str,
    edges: Iterable[ToolDependency] = (),
) -> NewRow:
    """The row of a tool that is not in the graph; ``warmth`` is that of `node_heat`.

    Edges that do not join it to a tool of the graph are passed over.

    Raises:
        ValueError: the tool is in the graph, or an edge's weight is none.
    """
    graph = structure.graph
    if tool in graph.tools:
        msg = f"tool {tool!r} is in the graph"
        raise ValueError(msg)
    into, ties = _joined(graph, tool, edges)
    group = community_of(graph, structure.communities, ties)
    same = structure.communities == group
    total = float(ties.sum())
    nodes = [activity.tool(tool)]
    rank = (len(graph.tools) + 1) * _rank(structure, into)
    values = {
        "pagerank": squashed(np.array([rank])),
        "community_share": np.array([(same.sum() + 1) / (len(same) + 1)]),
        "community_inside": np.array([float(ties[same].sum()) / total if total else 0.0]),
        "adamic_adar": squashed(np.array([_adamic_adar(graph, ties)])),
        "heat": squashed(np.array([_inflow(graph, ties, warmth)])),
        "association": np.array([tool_association(activity.together, tool)]),
        **activity_columns(nodes, activity.together.runs, now_ms),
    }
    return NewRow(values=stacked(TOOL_COLUMNS, values, nodes)[0], group=group)


def _joined(
    graph: FeatureGraph, tool: str, edges: Iterable[ToolDependency]
) -> tuple[Float64[np.ndarray, " tools"], Float64[np.ndarray, " tools"]]:
    """Weights of links from each tool to the new one, and of ties with it."""
    row = index_of(graph.tools)
    into, ties = np.zeros(len(row)), np.zeros(len(row))
    for edge in map(checked_edge, edges):
        ends = {edge.source, edge.target} - {tool}
        if tool not in (edge.source, edge.target) or not ends & row.keys():
            continue
        other = row[ends.pop()]
        ties[other] += edge.weight
        if edge.target == tool or edge.type is DependencyType.CO_OCCURRENCE:
            into[other] += edge.weight
    return into, ties


def _rank(structure: Structure, into: Float64[np.ndarray, " tools"]) -> float:
    """One step of PageRank into the new tool, which begins with the mean rank, as in `carried`."""
    count = len(structure.pagerank)
    ranks = structure.pagerank * count / (count + 1)
    out = np.asarray(structure.graph.links.sum(axis=1)).reshape(-1)
    nowhere = float(ranks[(out + into) == 0].sum())
    shares = np.divide(into, out + into, out=np.zeros_like(into), where=into > 0)
    anew = (1 - DAMPING + DAMPING * nowhere) / (count + 1)
    return anew + DAMPING * float(ranks @ shares)


def _adamic_adar(graph: FeatureGraph, ties: Float64[np.ndarray, " tools"]) -> float:
    """Common neighbours of the new tool and each of its neighbours, all one degree richer."""
    near = np.flatnonzero(ties)
    degrees = np.diff(graph.ties.indptr)[near] + 1
    rarity = np.array([1.0 / math.log(degree) if degree > 1 else 0.0 for degree in degrees])
    common = graph.ties[near][:, near]
    return float((np.diff(common.indptr) * rarity).sum())


def _inflow(
    graph: FeatureGraph,
    ties: Float64[np.ndarray, " tools"],
    warmth: Float64[np.ndarray, " nodes"],
) -> float:
    """Heat that one step of `activity_walk` brings from the new tool's neighbours."""
    strength = np.asarray(graph.ties.sum(axis=1)).reshape(-1) + ties
    half = np.where(np.diff(graph.incidence.indptr) > 0, 0.5, 1.0)
    shares = np.divide(ties, strength, out=np.zeros_like(ties), where=ties > 0)
    return float(warmth[: len(ties)] @ (half * shares))
