"""What the torch model reads and computes, as tensors on its device.

A `View` is made once per graph and inputs, `NodeStates` once per pass, and any number of queries
are scored against those.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float32, Int
from torch import Tensor

from pml.models.inputs import Queries, RankingTask
from pml.models.wiring import Wiring

ABSENT = -1
"""Fills up prefixes that are shorter than the longest."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class View:
    """A graph with its inputs."""

    vectors: Float[Tensor, "nodes dim"]
    tool_features: Float[Tensor, "tools tool_columns"]
    capability_features: Float[Tensor, "capabilities capability_columns"]
    """Features as they come; the model standardises them."""
    rows: Int[Tensor, " nodes"]
    """Of the table of id embeddings; `pml.models.trained_ids.UNKNOWN` for a node without any."""
    wiring: Wiring


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeStates:
    """Of all candidates, ready to be multiplied with queries.

    Columns are the node state, then what the feature heads made of the node's features, head by
    head.
    """

    tools: Float[Tensor, "tools columns"]
    capabilities: Float[Tensor, "capabilities columns"]

    def of(self, task: RankingTask) -> Float[Tensor, "candidates columns"]:
        """Of the candidates of a task."""
        return self.capabilities if task is RankingTask.CAPABILITIES else self.tools


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryTensors:
    """`pml.models.inputs.Queries`."""

    vectors: Float[Tensor, "queries dim"]
    evidence: Float[Tensor, "queries candidates columns"]
    stats: Float[Tensor, "queries stats"]
    prefixes: Int[Tensor, "queries longest"]
    """Numbers of tools, the earliest first, then `ABSENT`; without columns where there are none."""


def tensor_of(values: Float32[np.ndarray, "*shape"], *, like: Tensor) -> Float[Tensor, "*shape"]:
    """On the device and in the precision of ``like``; copied only if need be."""
    # Torch has no tensors that cannot be written to, and warns of arrays that cannot.
    return torch.from_numpy(np.require(values, requirements="W")).to(like)


def query_tensors(queries: Queries, *, like: Tensor) -> QueryTensors:
    """On the device and in the precision of ``like``."""
    longest = max(map(len, queries.prefixes), default=0)
    prefixes = np.full((len(queries.vectors), longest), ABSENT, dtype=np.int64)
    for row, prefix in zip(prefixes, queries.prefixes, strict=False):
        row[: len(prefix)] = prefix
    return QueryTensors(
        vectors=tensor_of(queries.vectors, like=like),
        evidence=tensor_of(queries.evidence, like=like),
        stats=tensor_of(queries.stats, like=like),
        prefixes=torch.from_numpy(prefixes).to(like.device),
    )
