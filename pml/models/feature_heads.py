"""Feature heads: what a node's structure, use, reliability and arguments say for a query.

Each head brings the features of a node and the vector of a query to a few numbers each and takes
their inner product.  So one query may ask for what is popular, and another may not.
"""

from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Float32
from torch import Tensor, nn

from pml.features.columns import CAPABILITY_COLUMNS, TOOL_COLUMNS
from pml.features.standardising import FARTHEST, Standardiser
from pml.models.config import ShgatConfig
from pml.models.inputs import CAPABILITY_WIDTHS, TOOL_WIDTHS, FeatureHead, columns_of
from pml.models.linear import Named, linear

Kind = Literal["tools", "capabilities"]

_COLUMNS = {"tools": TOOL_COLUMNS, "capabilities": CAPABILITY_COLUMNS}


class Standardised(nn.Module):
    """Columns of mean 0 and deviation 1 by what training saw; what `Standardiser` computes."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, columns: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(columns))
        self.register_buffer("deviation", torch.ones(columns))

    def fit(self, values: Float32[np.ndarray, "nodes columns"]) -> None:
        """Take means and deviations from these."""
        by = Standardiser.of(values)
        self.mean.copy_(torch.from_numpy(by.mean))
        self.deviation.copy_(torch.from_numpy(by.deviation))

    def forward(self, values: Float[Tensor, "nodes columns"]) -> Float[Tensor, "nodes columns"]:
        """From -`FARTHEST` to `FARTHEST`."""
        return ((values - self.mean) / self.deviation).clamp(-FARTHEST, FARTHEST)


class FeatureHeadLayer(nn.Module):
    """One head: F and c by kind of node, A and d by task."""

    def __init__(self, head: FeatureHead, config: ShgatConfig) -> None:
        super().__init__()
        self._places = {kind: columns_of(head, columns) for kind, columns in _COLUMNS.items()}
        width = config.feature_dim
        self.tools: nn.Linear = linear(TOOL_WIDTHS[head], width, bias=True)
        self.capabilities: nn.Linear = linear(CAPABILITY_WIDTHS[head], width, bias=True)
        self.query: Named[nn.Linear] = Named(
            {task.value: linear(config.dim, width, bias=True) for task in config.tasks}
        )

    def node_terms(
        self, kind: Kind, features: Float[Tensor, "nodes columns"]
    ) -> Float[Tensor, "nodes feature_dim"]:
        """What the head makes of standardised features of nodes of one kind."""
        of_kind = self.tools if kind == "tools" else self.capabilities
        terms: Tensor = of_kind(features[:, self._places[kind]])
        return terms.tanh()

    def start(self, generator: torch.Generator) -> None:
        """Draw F; the rest begins at 0."""
        for of_kind in (self.tools, self.capabilities):
            # Features have deviation 1, so what tanh is given has as well.
            nn.init.normal_(of_kind.weight, std=of_kind.in_features**-0.5, generator=generator)
