"""The feature matrix: named columns, a row per tool or per capability (LE-5).

Every column is bounded by its own formula, from 0 to 1 or from -1 to 1, and none is scaled by the
values of other rows: what grows without bound is squashed by x / (1 + x), what counts runs is
logarithmic.  So a node that is new gets its row while the others stay (`pml.features.new_tool`).
Who wants columns of mean 0 and deviation 1 takes a `pml.features.standardising.Standardiser`.

Numbers of groups are names, not sizes: they stand beside the matrix, and columns say how large and
how close a group is.  (The seed's 1 / (1 + number) would rank groups by chance.)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float32, Float64, Int64

from pml.features.activity import Activity, NodeActivity
from pml.features.arguments import ARGUMENT_COLUMNS
from pml.features.association import capability_association, tool_association
from pml.features.columns import CAPABILITY_COLUMNS, TOOL_COLUMNS
from pml.features.heat import heat
from pml.features.measures import inside_group, share_of_group, squashed, steps_inside
from pml.features.reliability import Reliability, reliability
from pml.features.structure import Structure
from pml.features.walks import activity_walk

FULL = 4.0
"""Tools of a capability at which its column reaches a half; so with capabilities in it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FeatureMatrix:
    """A row per node.

    Invariant: all values are finite and from -1 to 1; rows are in the order of ``ids``.
    """

    ids: tuple[str, ...]
    names: tuple[str, ...]
    values: Float32[np.ndarray, "nodes features"]
    groups: Int64[np.ndarray, " nodes"]
    """Community of a tool, cluster of a capability; -1 for none."""

    def column(self, name: str) -> Float32[np.ndarray, " nodes"]:
        """By its name.

        Raises:
            ValueError: there is none of that name.
        """
        return self.values[:, self.names.index(name)]


def feature_matrices(
    structure: Structure, activity: Activity, now_ms: int
) -> tuple[FeatureMatrix, FeatureMatrix]:
    """Of the tools, and of the capabilities, at the moment ``now_ms``."""
    warmth = node_heat(structure, activity, now_ms)
    tools = len(structure.graph.tools)
    return (
        _tool_matrix(structure, activity, now_ms, warmth[:tools]),
        _capability_matrix(structure, activity, now_ms, warmth[tools:]),
    )


def node_heat(
    structure: Structure, activity: Activity, now_ms: int
) -> Float64[np.ndarray, " nodes"]:
    """Heat of each tool, then of each capability; each begins as hot as its decayed uses."""
    graph = structure.graph
    nodes = [activity.tool(key) for key in graph.tools]
    nodes += [activity.capability(key) for key in graph.capabilities]
    sources = np.array([node.uses.activity(now_ms) for node in nodes], dtype=np.float64)
    return heat(activity_walk(graph), sources)


def activity_columns(
    nodes: Sequence[NodeActivity], runs: int, now_ms: int
) -> dict[str, Float64[np.ndarray, " nodes"]]:
    """What runs tell of nodes by themselves; ``runs`` are all that there were."""
    used = np.array([node.runs for node in nodes], dtype=np.float64)
    known = _reliability(nodes)
    return {
        "frequency": np.log1p(used) / np.log1p(max(runs, 1)),
        "recency": np.array([node.uses.recency(now_ms) for node in nodes], dtype=np.float64),
        "activity": squashed(
            np.array([node.uses.activity(now_ms) for node in nodes], dtype=np.float64)
        ),
        "reliability_rate": known.rate,
        "reliability_lower": known.lower,
        "reliability_evidence": known.evidence,
    }


def stacked(
    names: Sequence[str],
    columns: Mapping[str, Float64[np.ndarray, " nodes"]],
    nodes: Sequence[NodeActivity],
) -> Float32[np.ndarray, "nodes features"]:
    """The columns in the order of ``names``, then the means of the nodes' argument vectors."""
    own = [columns[name] for name in names[: -len(ARGUMENT_COLUMNS)]]
    arguments = [node.arguments.mean() for node in nodes]
    width = (len(nodes), len(ARGUMENT_COLUMNS))
    values = [np.column_stack(own), np.reshape(np.array(arguments), width)]
    return np.concatenate(values, axis=1).astype(np.float32)


def _tool_matrix(
    structure: Structure, activity: Activity, now_ms: int, warmth: Float64[np.ndarray, " tools"]
) -> FeatureMatrix:
    graph, groups = structure.graph, structure.communities
    nodes = [activity.tool(key) for key in graph.tools]
    association = [tool_association(activity.together, key) for key in graph.tools]
    columns = {
        "pagerank": squashed(len(nodes) * structure.pagerank),
        "community_share": share_of_group(groups),
        "community_inside": inside_group(graph.ties, groups),
        "adamic_adar": squashed(structure.adamic_adar),
        "heat": squashed(warmth),
        "association": np.array(association, dtype=np.float64),
        **activity_columns(nodes, activity.together.runs, now_ms),
    }
    return FeatureMatrix(
        ids=graph.tools,
        names=TOOL_COLUMNS,
        values=stacked(TOOL_COLUMNS, columns, nodes),
        groups=groups,
    )


def _capability_matrix(
    structure: Structure,
    activity: Activity,
    now_ms: int,
    warmth: Float64[np.ndarray, " capabilities"],
) -> FeatureMatrix:
    graph, groups = structure.graph, structure.clusters
    nodes = [activity.capability(key) for key in graph.capabilities]
    members = graph.incidence.tocsc()
    inside = [
        [graph.tools[row] for row in members.indices[start:end].tolist()]
        for start, end in pairwise(members.indptr.tolist())
    ]
    association = [capability_association(activity.together, tools) for tools in inside]
    rates = [weakest(activity, tools) for tools in inside]
    columns = {
        "hypergraph_pagerank": squashed(len(nodes) * structure.hypergraph_pagerank),
        "cluster_share": share_of_group(groups),
        "cluster_inside": steps_inside(graph, groups),
        "tools": squashed(np.diff(members.indptr) / FULL),
        "nested": squashed(np.diff(graph.containment.indptr) / FULL),
        "heat": squashed(warmth),
        "association": np.array(association, dtype=np.float64),
        "reliability_weakest_tool": np.array(rates, dtype=np.float64),
        **activity_columns(nodes, activity.runs, now_ms),
    }
    return FeatureMatrix(
        ids=graph.capabilities,
        names=CAPABILITY_COLUMNS,
        values=stacked(CAPABILITY_COLUMNS, columns, nodes),
        groups=groups,
    )


def weakest(activity: Activity, tools: Sequence[str]) -> float:
    """The lowest success rate among the tools; 1 without any."""
    nodes = [activity.tool(tool) for tool in tools]
    return float(_reliability(nodes).rate.min(initial=1.0))


def _reliability(nodes: Sequence[NodeActivity]) -> Reliability:
    successes = np.array([node.successes for node in nodes], dtype=np.float64)
    return reliability(successes, np.array([node.failures for node in nodes], dtype=np.float64))
