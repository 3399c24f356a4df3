"""PageRank of tools, and of capabilities as hyperedges: how much of everything leads there.

A surfer follows edges by weight and now and then starts anew; the share of time spent at a node
is its rank.  One power iteration serves graph and hypergraph.  After a change it starts from the
old ranks and stops as soon as the bound on the error allows, which is what makes it incremental.

Reference: L. Page, S. Brin, R. Motwani, T. Winograd, "The PageRank Citation Ranking", 1999;
A. Langville, C. Meyer, "Deeper Inside PageRank", Internet Mathematics 1(3), 2004, section 5.1
(convergence by the damping factor).  What leaves a node without edges starts anew, as in networkx.
"""

import math

import numpy as np
from jaxtyping import Float64

from pml.features.graph import FeatureGraph
from pml.features.walks import Walk, capability_walk, tool_walk

DAMPING = 0.85
"""Chance of following an edge instead of starting anew."""
TOLERANCE = 1e-9
"""Bound on the sum of all errors."""


def pagerank(
    graph: FeatureGraph, *, start: Float64[np.ndarray, " tools"] | None = None
) -> Float64[np.ndarray, " tools"]:
    """Of each tool, along the edges; sums to 1.  ``start`` saves time and changes nothing."""
    return stationary(tool_walk(graph), start=start)


def hypergraph_pagerank(
    graph: FeatureGraph,
    *,
    weights: Float64[np.ndarray, " capabilities"] | None = None,
    start: Float64[np.ndarray, " capabilities"] | None = None,
) -> Float64[np.ndarray, " capabilities"]:
    """Of each capability, over shared tools; sums to 1.  See `capability_walk` for ``weights``."""
    return stationary(capability_walk(graph, weights), start=start)


def stationary(
    walk: Walk,
    *,
    damping: float = DAMPING,
    restart: Float64[np.ndarray, " nodes"] | None = None,
    start: Float64[np.ndarray, " nodes"] | None = None,
    tolerance: float = TOLERANCE,
) -> Float64[np.ndarray, " nodes"]:
    """Where a walk that starts anew with chance 1 - ``damping`` spends its time; sums to 1.

    ``restart`` says where (anywhere if None).  Off by ``tolerance`` at most, all nodes together: a
    step shrinks the distance to the answer by ``damping``, so it is below d / (1 - d) times the
    last change.  That also bounds the number of steps, by log(tolerance (1 - d) / 2) / log(d).

    Raises:
        ValueError: ``damping`` is outside [0, 1), ``restart`` has a negative or no weight, or
            an array has the wrong length.
    """
    if not 0 <= damping < 1:
        msg = f"damping must be in [0, 1), got {damping}"
        raise ValueError(msg)
    count = len(walk.leak)
    if count == 0:
        return np.zeros(0)
    anew = distribution(restart, count)
    x = distribution(start, count)
    enough = tolerance * (1 - damping) / max(damping, 0.5)
    for _ in range(_steps(damping, enough)):
        y = damping * walk.moved(x)
        y += (1.0 - y.sum()) * anew
        change = float(np.abs(y - x).sum())
        x = y
        if change <= enough:
            break
    return np.asarray(x / x.sum())


def _steps(damping: float, enough: float) -> int:
    """After so many the change, 2 at first, is ``enough`` at most."""
    return 2 if damping == 0 else math.ceil(math.log(enough / 2) / math.log(damping)) + 1


def distribution(
    weights: Float64[np.ndarray, " n"] | None, count: int
) -> Float64[np.ndarray, " count"]:
    """``weights`` as shares; equal shares if None.

    Raises:
        ValueError: another length than ``count``, or no distribution.
    """
    if weights is None:
        return np.full(count, 1.0 / count)
    if len(weights) != count:
        msg = f"expected {count} weights, got {len(weights)}"
        raise ValueError(msg)
    largest = float(weights.max())
    if not (np.isfinite(weights).all() and weights.min() >= 0 and largest > 0):
        msg = "weights must be finite, not negative, and not all zero"
        raise ValueError(msg)
    shares = weights / largest
    return np.asarray(shares / shares.sum())


def carried(before: dict[str, float], ids: tuple[str, ...]) -> Float64[np.ndarray, " nodes"]:
    """Ranks by id, as a start for other nodes: a new one begins with the mean of the old ones."""
    mean = sum(before.values()) / len(before) if before else 1.0
    return np.array([before.get(key, mean) for key in ids], dtype=np.float64)
