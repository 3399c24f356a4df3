"""What discovery needs of the world, as Protocols."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable  # tests check shapes and types while they run
class Encoder(Protocol):
    """Texts to vectors; equal texts give equal vectors."""

    @property
    def name(self) -> str:
        """Names the model and its version: vectors of different names are not comparable."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape ``(texts, dimension)``; may take long, so call it in a thread."""
