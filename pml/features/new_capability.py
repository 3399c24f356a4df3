"""The row of a capability that is new, while everything else stays as it is (LE-5).

As `pml.features.new_tool`: its tools say which capabilities are near, and one step over them says
what its rank, cluster and heat would be if nobody else moved.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64
from scipy.sparse import csr_array

from pml.features.activity import Activity
from pml.features.association import capability_association
from pml.features.clusters import cluster_of
from pml.features.columns import CAPABILITY_COLUMNS
from pml.features.graph import FeatureGraph, index_of
from pml.features.matrix import FULL, activity_columns, stacked, weakest
from pml.features.measures import squashed
from pml.features.members import Members
from pml.features.new_tool import NewRow
from pml.features.pagerank import DAMPING
from pml.features.structure import Structure


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Place:
    """Where the new capability stands."""

    tools: Int64[np.ndarray, " members"]
    """Rows of its tools."""
    shared: csr_array
    """(members, capabilities): who else has them."""
    share: Float64[np.ndarray, " members"]
    """Chance that a step from the tool leads to the new capability: 1 / (n + 1)."""


def new_capability(
    structure: Structure,
    activity: Activity,
    now_ms: int,
    warmth: Float64[np.ndarray, " nodes"],
    *,
    members: Members,
) -> NewRow:
    """The row of a capability that is not in the graph; ``warmth`` is that of `node_heat`.

    Tools and capabilities that are not in the graph are passed over.

    Raises:
        ValueError: the capability is in the graph.
    """
    graph = structure.graph
    if members.id in graph.capabilities:
        msg = f"capability {members.id!r} is in the graph"
        raise ValueError(msg)
    place, inner = _place(graph, members)
    group = cluster_of(graph, structure.clusters, place.tools)
    same = (structure.clusters == group) & (group >= 0)
    tools = [graph.tools[row] for row in place.tools.tolist()]
    nodes = [activity.capability(members.id)]
    rank = (len(graph.capabilities) + 1) * _rank(structure, place)
    values = {
        "hypergraph_pagerank": squashed(np.array([rank])),
        "cluster_share": np.array([(same.sum() + 1) / (len(same) + 1) if tools else 0.0]),
        "cluster_inside": np.array([_inside(place, same)]),
        "tools": squashed(np.array([len(tools) / FULL])),
        "nested": squashed(np.array([inner / FULL])),
        "heat": squashed(np.array([_inflow(graph, place, warmth)])),
        "association": np.array([capability_association(activity.together, tools)]),
        "reliability_weakest_tool": np.array([weakest(activity, tools)]),
        **activity_columns(nodes, activity.runs, now_ms),
    }
    return NewRow(values=stacked(CAPABILITY_COLUMNS, values, nodes)[0], group=group)


def _place(graph: FeatureGraph, members: Members) -> tuple[_Place, int]:
    """And the number of capabilities in it; their tools are its tools."""
    row, column = index_of(graph.tools), index_of(graph.capabilities)
    inner = [column[key] for key in dict.fromkeys(members.capabilities) if key in column]
    own = [row[tool] for tool in members.tools if tool in row]
    tools = np.union1d(own, graph.incidence[:, inner].nonzero()[0]).astype(np.int64)
    shared = csr_array(graph.incidence[tools])
    share = 1.0 / (np.diff(shared.indptr) + 1.0)
    return _Place(tools=tools, shared=shared, share=share), len(inner)


def _inside(place: _Place, same: np.ndarray) -> float:
    """Chance that a step over one of its tools stays in the cluster, or comes back."""
    if not len(place.tools):
        return 0.0
    near = place.shared @ same.astype(np.float64) + 1.0
    return float((near * place.share).mean())


def _rank(structure: Structure, place: _Place) -> float:
    """One step of hypergraph PageRank into it; it begins with the mean rank, as in `carried`."""
    count = len(structure.hypergraph_pagerank)
    ranks = structure.hypergraph_pagerank * count / (count + 1)
    sizes = np.asarray(structure.graph.incidence.sum(axis=0)).reshape(-1)
    nowhere = float(ranks[sizes == 0].sum())
    anew = (1 - DAMPING + DAMPING * nowhere) / (count + 1)
    arrive = place.share @ (place.shared @ (ranks / np.maximum(sizes, 1.0)))
    back = float(place.share.mean()) if len(place.share) else 0.0
    return anew + DAMPING * (float(arrive) + back / (count + 1))


def _inflow(graph: FeatureGraph, place: _Place, warmth: Float64[np.ndarray, " nodes"]) -> float:
    """Heat that one step of `activity_walk` brings from its tools."""
    half = np.where(np.diff(graph.ties.indptr)[place.tools] > 0, 0.5, 1.0)
    return float((warmth[place.tools] * half) @ place.share)
