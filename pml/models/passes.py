"""Messages between tools and capabilities, upwards and downwards, in numpy.

Pairs are sorted by who attends, so that all of a node's neighbours are one segment and softmax and
sum are `reduceat`: no matrix of nodes by capabilities is ever made.  Work and memory grow with the
pairs.  The mathematics is that of `pml.models.config`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float32, Int64

from pml.models.hypergraph import Hypergraph

SLOPE = np.float32(0.2)
"""Of the LeakyReLU below 0."""
_ALONE = 2**18
"""Multiplications up to which OpenBLAS uses one thread, whatever it may use."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Attention:
    """Parameters of one direction."""

    source: Float32[np.ndarray, "width width"]
    """V: of who is heard."""
    target: Float32[np.ndarray, "width width"]
    """U: of who attends."""
    score: Float32[np.ndarray, "heads head_dim"]
    gate: Float32[np.ndarray, " heads"]

    @classmethod
    def of(
        cls, parameters: Mapping[str, Float32[np.ndarray, "..."]], direction: str
    ) -> "Attention":
        """``up`` or ``down`` of a model."""
        return cls(
            source=parameters[f"{direction}.source.weight"],
            target=parameters[f"{direction}.target.weight"],
            score=parameters[f"{direction}.score"],
            gate=parameters[f"{direction}.gate"],
        )

    def heard(
        self,
        targets: Float32[np.ndarray, "targets width"],
        sources: Float32[np.ndarray, "sources width"],
        target_of: Int64[np.ndarray, " pairs"],
        source_of: Int64[np.ndarray, " pairs"],
    ) -> Float32[np.ndarray, "targets width"]:
        """States of the targets once each has heard its sources.

        Args:
            targets: States before.  One that is in no pair keeps its own.
            sources: States of who is heard.
            target_of: Row of the target of each pair, in ascending order.
            source_of: Row of its source.
        """
        if not len(target_of):
            return targets.copy()
        heads, head_dim = self.score.shape
        starts = np.flatnonzero(np.diff(target_of, prepend=-1))
        sizes = np.diff(starts, append=len(target_of))
        owners = target_of[starts]
        values = product(sources, self.source)[source_of]  # (pairs, width)
        hidden = np.repeat(product(targets[owners], self.target), sizes, axis=0)
        hidden += values
        np.maximum(hidden, SLOPE * hidden, out=hidden)
        logits = np.einsum("phd,hd->ph", hidden.reshape(-1, heads, head_dim), self.score)
        logits -= np.repeat(np.maximum.reduceat(logits, starts), sizes, axis=0)
        weights = np.exp(logits)  # (pairs, heads)
        totals = np.add.reduceat(weights, starts)
        split = values.reshape(-1, heads, head_dim)
        split *= weights[:, :, None]
        sums = np.add.reduceat(split, starts)  # (owners, heads, head_dim)
        messages = sums * (self.gate / totals)[:, :, None]
        result = targets.copy()
        result[owners] += messages.reshape(len(owners), -1)
        return result


def product(
    rows: Float32[np.ndarray, "rows width"], weight: Float32[np.ndarray, "out width"]
) -> Float32[np.ndarray, "rows out"]:
    """Rows times the transposed weight, in blocks so small that BLAS does each in this thread.

    Several threads wait for each other, and a change at a node is a few small products: on busy
    cores each took 30 to 50 ms in two threads and 0.02 ms in one.  For many rows blocks cost half
    as much again as one large product.
    """
    block = max(1, _ALONE // max(1, weight.size))
    blocks = len(rows) // block
    whole = blocks * block
    result = np.empty((len(rows), len(weight)), np.float32)
    in_blocks = result[:whole].reshape(blocks, block, len(weight))
    np.matmul(rows[:whole].reshape(blocks, block, rows.shape[1]), weight.T, out=in_blocks)
    np.matmul(rows[whole:], weight.T, out=result[whole:])
    return result


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Passes:
    """Both directions of a model."""

    up: Attention
    down: Attention

    @classmethod
    def of(cls, parameters: Mapping[str, Float32[np.ndarray, "..."]]) -> "Passes":
        """Of a model that passes messages."""
        return cls(up=Attention.of(parameters, "up"), down=Attention.of(parameters, "down"))

    def upwards(
        self, graph: Hypergraph, states: Float32[np.ndarray, "nodes width"]
    ) -> Float32[np.ndarray, "nodes width"]:
        """States once every container has heard its members, the lowest level first."""
        risen = states.copy()
        for low, high in pairwise(graph.starts[1:]):
            _hear(self.up, risen, (low, high), graph.containers, graph.members)
        return risen

    def downwards(
        self, graph: Hypergraph, states: Float32[np.ndarray, "nodes width"]
    ) -> Float32[np.ndarray, "nodes width"]:
        """States once every member has heard its containers, the highest level first."""
        settled = states.copy()
        order = np.lexsort((graph.containers, graph.members))
        members, containers = graph.members[order], graph.containers[order]
        for high, low in pairwise(reversed(graph.starts)):
            _hear(self.down, settled, (low, high), members, containers)
        return settled


def _hear(
    attention: Attention,
    states: Float32[np.ndarray, "nodes width"],
    level: tuple[int, int],
    targets: Int64[np.ndarray, " pairs"],
    sources: Int64[np.ndarray, " pairs"],
) -> None:
    """Nodes of one level, from number to number, hear their neighbours; in place."""
    low, high = level
    first, last = np.searchsorted(targets, level)
    heard, source_of = np.unique(sources[first:last], return_inverse=True)
    states[low:high] = attention.heard(
        states[low:high], states[heard], targets[first:last] - low, source_of
    )
