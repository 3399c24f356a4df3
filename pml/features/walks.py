"""Random walks over tools and capabilities: where they end up, and how activity spreads.

A walk is a chain of sparse steps that are never multiplied out: from a capability to one of its
tools, from the tool to one of its capabilities costs two products with the incidence matrix, where
the matrix of all pairs of capabilities could be dense.

Reference: D. Zhou, J. Huang, B. Schölkopf, "Learning with Hypergraphs: Clustering,
Classification, and Embedding", NIPS 2006, section 4 (the random walk on a hypergraph).  Ours
walks on the dual, where capabilities are the vertices and tools the hyperedges.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from scipy.sparse import block_array, csr_array, diags_array

from pml.features.graph import FeatureGraph, checked_weight


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Walk:
    """One step of a random walk, as factors that are applied to a distribution one by one.

    Invariant: a step keeps what is not leaked: ``moved(x).sum() + leak @ x == x.sum()``.
    """

    factors: tuple[csr_array, ...]
    """Each column-stochastic, but for columns of zeros."""
    leak: Float64[np.ndarray, " nodes"]
    """Per node the chance that there is nowhere to go: 1 where it is isolated."""

    def moved(self, x: Float64[np.ndarray, " nodes"]) -> Float64[np.ndarray, " nodes"]:
        """The distribution one step later, without what leaked."""
        for factor in self.factors:
            x = factor @ x
        return x


def tool_walk(graph: FeatureGraph) -> Walk:
    """From tool to tool along the edges, by weight."""
    return _walk(graph.links)


def capability_walk(
    graph: FeatureGraph, weights: Float64[np.ndarray, " capabilities"] | None = None
) -> Walk:
    """From capability to capability over a tool that both have.

    A tool leads to its capabilities by ``weights`` (all alike if None), the one that the walk
    came from among them.

    Raises:
        ValueError: a weight is negative, infinite or NaN; the message names the capability.
    """
    if weights is None:
        weights = np.ones(len(graph.capabilities))
    for key, weight in zip(graph.capabilities, weights.tolist(), strict=True):
        checked_weight(weight, f"capability {key!r}")
    weighted = csr_array(graph.incidence @ diags_array(weights))
    return _walk(csr_array(graph.incidence.T), weighted)


def activity_walk(graph: FeatureGraph) -> Walk:
    """Over tools and capabilities together (tools first), along ties and memberships.

    A tool spends half of its steps on tools that it is tied to and half on its capabilities, all
    on one kind where it lacks the other; a capability steps to its tools.
    """
    ties, up = _stochastic(graph.ties), _stochastic(graph.incidence)
    down = csr_array(graph.incidence.T)
    return _walk(csr_array(block_array([[ties, up], [down, None]])))


def _walk(*weights: csr_array) -> Walk:
    """By rows: from each node to where its row has weight."""
    steps = [_stochastic(one) for one in weights]
    kept = np.ones(steps[-1].shape[1])
    for step in reversed(steps):
        kept = step @ kept
    leak = np.clip(1.0 - kept, 0.0, 1.0)
    leak[leak < _ROUNDING] = 0.0
    return Walk(factors=tuple(csr_array(step.T) for step in steps), leak=leak)


_ROUNDING = 1e-12


def _stochastic(weights: csr_array) -> csr_array:
    """Rows divided by their sums; rows of zeros stay."""
    rows = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
    sums = np.bincount(rows, weights.data, minlength=weights.shape[0])
    shares = np.divide(weights.data, sums[rows], out=np.zeros(len(rows)), where=sums[rows] > 0)
    return csr_array((shares, weights.indices, weights.indptr), shape=weights.shape)
