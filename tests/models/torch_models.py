"""Torch models whose parameters are all at work."""

import numpy as np
import torch

from pml.models.config import ShgatConfig
from pml.models.shgat import Shgat
from pml.models.trained_ids import TrainedIds
from pml.models.wiring import Library
from tests.models.worlds import CONFIG


def model_of(
    trained: TrainedIds,
    *,
    config: ShgatConfig = CONFIG,
    seed: int = 2,
    library: Library = "torch",
) -> Shgat:
    """Every parameter is drawn, the gates too, in double precision."""
    generator = torch.Generator().manual_seed(seed)
    model = Shgat(config, trained, generator=generator, library=library).double()
    for name, values in sorted(model.state_dict().items()):
        drawn = torch.randn(values.shape, generator=generator, dtype=torch.float64)
        values.copy_(drawn.abs() + 0.5 if "deviation" in name else drawn / 2)
    return model


def arrays_of(model: Shgat) -> dict[str, np.ndarray]:
    return {name: values.numpy() for name, values in model.state_dict().items()}
