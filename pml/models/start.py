"""Where training begins: text search, not noise.

One orthogonal map stands in all projections and query matrices, so that the score of a candidate
begins as a multiple of the cosine between its vector and the query's.  Where the model is narrower
than the encoder, a map that is drawn loses much of it (with 128 of 256 dimensions, an eighth of the
nDCG of the cosine); the principal axes of the vectors at hand lose little.

Gates, id embeddings and query sides of feature heads begin at 0: they add nothing until training
shows that they help, and their gradients are not 0, as the other factor of each product is not.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float, Float32
from torch import Tensor

from pml.models.config import ShgatConfig
from pml.models.inputs import RankingTask


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Start:
    """Values before training."""

    scale: float = 20.0
    """Score of a candidate whose vector is the query's; as in contrastive training of encoders
    (1 / temperature)."""
    evidence: Mapping[RankingTask, tuple[float, ...]] = field(default_factory=dict)
    """Weights of the evidence columns, by task; 0 where a task is not named."""
    vectors: Float32[np.ndarray, "vectors dim"] | None = None
    """Whose inner products the map keeps best, where the model is narrower than the encoder:
    those of nodes and intents.  ``None`` for those of no vectors more than of others."""

    def map(self, config: ShgatConfig, generator: torch.Generator) -> Float[Tensor, "width dim"]:
        """What projections and query matrices begin as."""
        width, dim = config.width, config.dim
        if self.vectors is None or width >= dim:
            axes = random_axes(width, dim, generator)
        else:
            # Turned, as the first head would have nearly all of what the vectors differ in.
            axes = random_axes(width, width, generator) @ principal_axes(self.vectors, width)
        # The score divides by the root of the width of a head.
        return axes * math.sqrt(self.scale * math.sqrt(config.head_dim))


def random_axes(rows: int, dim: int, generator: torch.Generator) -> Float[Tensor, "rows dim"]:
    """As a map it keeps inner products: exactly if ``rows >= dim``, else on average."""
    drawn = torch.randn(max(rows, dim), min(rows, dim), generator=generator, dtype=torch.float64)
    basis: Tensor = torch.linalg.qr(drawn).Q
    axes = basis if rows >= dim else basis.T * math.sqrt(dim / rows)
    return axes.float()


def principal_axes(
    vectors: Float32[np.ndarray, "vectors dim"], rows: int
) -> Float[Tensor, "rows dim"]:
    """The map to the directions that the vectors fill most, at most as many as they have."""
    exact = vectors.astype(np.float64)
    _, basis = np.linalg.eigh(exact.T @ exact)  # the last column is filled most
    return torch.from_numpy(basis[:, ::-1].T[:rows].astype(np.float32))
