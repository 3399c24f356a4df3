"""Attention over pairs (source, target): what goes up and down the hypergraph, in plain torch.

The incidence is a list of pairs, so memory is O(pairs * heads * head_dim).  What depends on the
pairs alone is done once per graph, by the constructor of an `Aggregation`; the layer's parameters
are apart, in `PairAttention`, so that one set serves all levels and both implementations
(`pml.models.dgl_attention` is the other).

References:
    Brody, Alon, Yahav. How Attentive are Graph Attention Networks? ICLR 2022, arXiv:2105.14491
    (the score: the non-linearity before the attention vector).
    Bachlechner et al. ReZero is All You Need. UAI 2021, arXiv:2003.04887 (the gate).  We have one
    gate per head, not one per layer.
"""

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from pml.models.config import ShgatConfig
from pml.models.linear import linear

SLOPE = 0.2
"""Of the LeakyReLU for negative values, as in the paper."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairs:
    """Who attends to whom: each target to its sources."""

    sources: Int[Tensor, " pairs"]
    """Numbers below ``n_sources``."""
    targets: Int[Tensor, " pairs"]
    n_sources: int
    n_targets: int


@runtime_checkable
class Aggregation(Protocol):
    """Attends over the pairs that it was made for."""

    def __call__(
        self,
        values: Float[Tensor, "sources heads head_dim"],
        queries: Float[Tensor, "targets heads head_dim"],
        score: Float[Tensor, "heads head_dim"],
    ) -> Float[Tensor, "targets heads head_dim"]:
        """Weighted mean of the values of each target's sources; zeros for one without any."""
        ...


class TorchAggregation:
    """In plain torch: the reference, and as fast as dgl up to some thousands of pairs."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs

    def __call__(
        self,
        values: Float[Tensor, "sources heads head_dim"],
        queries: Float[Tensor, "targets heads head_dim"],
        score: Float[Tensor, "heads head_dim"],
    ) -> Float[Tensor, "targets heads head_dim"]:
        """Of `Aggregation`."""
        pairs = self._pairs
        # index_select, as the gradient of indexing sorts the pairs anew each time.
        value = values.index_select(0, pairs.sources)  # (pairs, heads, head_dim)
        query = queries.index_select(0, pairs.targets)  # (pairs, heads, head_dim)
        logit = (leaky_relu(value + query, SLOPE) * score).sum(-1)  # (pairs, heads)
        weight = segment_softmax(logit, pairs.targets, n_segments=pairs.n_targets)
        aggregated = torch.zeros_like(queries)
        return aggregated.index_add(0, pairs.targets, weight.unsqueeze(-1) * value)


def segment_softmax(
    logit: Float[Tensor, "pairs heads"], segment: Int[Tensor, " pairs"], *, n_segments: int
) -> Float[Tensor, "pairs heads"]:
    """Softmax over the pairs that share a segment, stable for large logits."""
    row = segment.unsqueeze(-1).expand_as(logit)
    peak = logit.new_full((n_segments, logit.shape[1]), -math.inf)
    peak = peak.scatter_reduce(0, row, logit.detach(), reduce="amax")
    exp = (logit - peak.index_select(0, segment)).exp()
    total = torch.zeros_like(peak).index_add(0, segment, exp)
    return exp / total.index_select(0, segment)


class PairAttention(nn.Module):
    r"""Lets the states of sources into those of their targets.

    .. math::
        \alpha_{ie} = \mathrm{softmax}_{i \in e}\; a^\top \mathrm{LeakyReLU}(V h_i + U h_e),\quad
        h_e \leftarrow h_e + g \sum_{i \in e} \alpha_{ie} V h_i

    Parameters are zeros until `start`.
    """

    def __init__(self, config: ShgatConfig) -> None:
        super().__init__()
        self._split = (config.heads, config.head_dim)
        self.source: nn.Linear = linear(config.width, config.width)  # V
        self.target: nn.Linear = linear(config.width, config.width)  # U
        self.score = nn.Parameter(torch.zeros(self._split))  # a
        self.gate = nn.Parameter(torch.zeros(config.heads))  # g

    def start(self) -> None:
        """Begin with the mean of the states of all sources, behind gates that are shut."""
        for weight in (self.source.weight, self.target.weight):
            nn.init.eye_(weight)

    def values(
        self, states: Float[Tensor, "sources width"]
    ) -> Float[Tensor, "sources heads head_dim"]:
        """What these nodes send."""
        sent: Tensor = self.source(states)
        return sent.view(-1, *self._split)

    def forward(
        self,
        values: Float[Tensor, "sources heads head_dim"],
        states: Float[Tensor, "targets width"],
        aggregate: Aggregation,
    ) -> Float[Tensor, "targets width"]:
        """States of the targets after they have attended to their sources."""
        queries: Tensor = self.target(states)
        aggregated = aggregate(values, queries.view(-1, *self._split), self.score)
        return states + (self.gate.unsqueeze(-1) * aggregated).flatten(1)
