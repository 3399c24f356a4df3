"""Columns of mean 0 and deviation 1, by the nodes that a model was trained on.

A model that learned from standardised columns has to see new nodes by the same means and
deviations, so they are kept with it.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

FARTHEST = 5.0
"""Deviations from the mean; what is farther is as strange as that."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standardiser:
    """Means and deviations per column; the deviation of a constant column is 1."""

    mean: Float32[np.ndarray, " features"]
    deviation: Float32[np.ndarray, " features"]

    @classmethod
    def of(cls, values: Float32[np.ndarray, "nodes features"]) -> "Standardiser":
        """Those of these nodes; without nodes values stay as they are."""
        if not len(values):
            width = values.shape[1]
            return cls(mean=np.zeros(width, np.float32), deviation=np.ones(width, np.float32))
        exact = values.astype(np.float64)
        mean, deviation = exact.mean(axis=0), exact.std(axis=0)
        # Rounding leaves a constant column a deviation of about 1e-17.
        deviation = np.where(deviation > _LEAST, deviation, 1.0)
        return cls(mean=mean.astype(np.float32), deviation=deviation.astype(np.float32))

    def apply(
        self, values: Float32[np.ndarray, "nodes features"]
    ) -> Float32[np.ndarray, "nodes features"]:
        """From -`FARTHEST` to `FARTHEST`."""
        return np.asarray(np.clip((values - self.mean) / self.deviation, -FARTHEST, FARTHEST))


_LEAST = 1e-6
