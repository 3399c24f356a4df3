"""Numbers that tell how a node stands to its group, and the squashing of what has no bound."""

import numpy as np
from jaxtyping import Float64, Int64
from scipy.sparse import csr_array

from pml.features.graph import FeatureGraph
from pml.features.walks import capability_walk


def squashed(values: Float64[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
    """Values x as x / (1 + x): 0 stays 0, 1 becomes a half, and nothing passes 1."""
    return values / (1.0 + values)


def share_of_group(groups: Int64[np.ndarray, " nodes"]) -> Float64[np.ndarray, " nodes"]:
    """Share of all nodes that are in the node's group; 0 without one."""
    sizes = np.bincount(groups[groups >= 0], minlength=1)
    return np.where(groups >= 0, sizes[groups] / max(len(groups), 1), 0.0)


def inside_group(
    ties: csr_array, groups: Int64[np.ndarray, " nodes"]
) -> Float64[np.ndarray, " nodes"]:
    """Share of a node's ties, by weight, that stay in its group; 0 without ties."""
    rows = np.repeat(np.arange(len(groups)), np.diff(ties.indptr))
    same = groups[rows] == groups[ties.indices]
    inside = np.bincount(rows[same], ties.data[same], minlength=len(groups))
    total = np.bincount(rows, ties.data, minlength=len(groups))
    return np.divide(inside, total, out=np.zeros(len(groups)), where=total > 0)


def steps_inside(
    graph: FeatureGraph, groups: Int64[np.ndarray, " capabilities"]
) -> Float64[np.ndarray, " capabilities"]:
    """Chance that a step over a shared tool stays in the capability's cluster; 0 without tools."""
    to_tool, to_capability = capability_walk(graph).factors
    members = csr_array(
        (np.ones(len(groups)), (np.arange(len(groups)), np.maximum(groups, 0))),
        shape=(len(groups), int(groups.max(initial=0)) + 1),
    )
    arrive = csr_array(to_tool.T @ csr_array(to_capability.T @ members))
    return np.asarray(arrive.multiply(members).sum(axis=1), dtype=np.float64).reshape(-1)
