"""Attention over pairs in dgl: the only module that imports it.

The same function of the same parameters as `pml.models.attention.TorchAggregation`, with fused
kernels that never lay out one weighted value per pair.  dgl is dormant upstream
(docs/decisions/0009), so this file is all that goes when it no longer installs.
"""

import os
import warnings

from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import leaky_relu

from pml.models.attention import SLOPE, Pairs

# Read when dgl is imported; without it dgl writes a file into the home directory.
os.environ.setdefault("DGLBACKEND", "pytorch")

# Python says so when it compiles some docstrings of dgl.
with warnings.catch_warnings():
    warnings.filterwarnings("ignore", "invalid escape sequence", DeprecationWarning)
    import dgl
    from dgl.ops import edge_softmax, u_add_v, u_mul_e_sum


class DglAggregation:
    """In dgl."""

    def __init__(self, pairs: Pairs) -> None:
        self._graph = dgl.create_block(
            (pairs.sources, pairs.targets),
            num_src_nodes=pairs.n_sources,
            num_dst_nodes=pairs.n_targets,
        )
        self._graph.create_formats_()  # now, not in the first backward pass

    def __call__(
        self,
        values: Float[Tensor, "sources heads head_dim"],
        queries: Float[Tensor, "targets heads head_dim"],
        score: Float[Tensor, "heads head_dim"],
    ) -> Float[Tensor, "targets heads head_dim"]:
        """Of `pml.models.attention.Aggregation`."""
        both: Tensor = u_add_v(self._graph, values, queries)  # (pairs, heads, head_dim)
        logit = (leaky_relu(both, SLOPE) * score).sum(-1, keepdim=True)  # (pairs, heads, 1)
        aggregated: Tensor = u_mul_e_sum(self._graph, values, edge_softmax(self._graph, logit))
        return aggregated
