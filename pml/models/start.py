"""Where training begins: text search, not noise.

One orthogonal map stands in all projections and query matrices, so that the score of a candidate
begins as a multiple of the cosine between its vector and the query's.  Gates, id embeddings and
query sides of feature heads begin at 0: they add nothing until training shows that they help, and
their gradients are not 0, as the other factor of each product is not.
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
    axes: Float[Tensor, "axes dim"] | None = None
    """Rows of the orthogonal map, for instance `principal_axes`; ``None`` draws them."""

    def map(self, config: ShgatConfig, generator: torch.Generator) -> Float[Tensor, "width dim"]:
        """What projections and query matrices begin as.

        Raises:
            ValueError: the axes are not of the sizes of the model.
        """
        size = (config.width, config.dim)
        axes = random_axes(*size, generator) if self.axes is None else self.axes
        if tuple(axes.shape) != size:
            msg = f"axes must be {size[0]} x {size[1]}, got {' x '.join(map(str, axes.shape))}"
            raise ValueError(msg)
        # The score divides by the root of the width of a head.
        return axes * math.sqrt(self.scale * math.sqrt(config.head_dim))


def random_axes(rows: int, dim: int, generator: torch.Generator) -> Float[Tensor, "rows dim"]:
    """As a map it keeps inner products: exactly if ``rows >= dim``, else on average."""
    drawn = torch.randn(max(rows, dim), min(rows, dim), generator=generator, dtype=torch.float64)
    basis: Tensor = torch.linalg.qr(drawn).Q
    axes = basis if rows >= dim else basis.T * math.sqrt(dim / rows)
    return axes.float()


def principal_axes(
    vectors: Float32[np.ndarray, "nodes dim"], rows: int
) -> Float[Tensor, "rows dim"]:
    """The map to the directions that the vectors fill most; it keeps their inner products best.

    Rows past the dimensions of the vectors are zero.
    """
    exact = vectors.astype(np.float64)
    _, basis = np.linalg.eigh(exact.T @ exact)
    axes = np.zeros((rows, exact.shape[1]), dtype=np.float32)
    kept = basis[:, ::-1].T[:rows]
    axes[: len(kept)] = kept
    return torch.from_numpy(axes)
