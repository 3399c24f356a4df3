"""Sum tree: draw indices in proportion to weights that change all the time.

Prioritised replay draws experience ``i`` with probability ``w[i] / sum(w)`` and rewrites a batch
of weights after every learning step.  Both cost O(batch x log capacity) here.

The tree is a pyramid of arrays: level 0 holds the weights, each higher level what neighbouring
pairs come to, the top what all come to.  A parent is always computed anew from its two
children, never patched by a difference, so rounding errors cannot add up.  A batch goes
through a level at once, so that numpy does the work: 40 calls for a million weights.

Reference: T. Schaul, J. Quan, I. Antonoglou, D. Silver, "Prioritized Experience Replay", ICLR
2016, arXiv:1511.05952, appendix B.2.1.
"""

from itertools import pairwise
from typing import Final

import numpy as np
from jaxtyping import Float64, Int64

from pml.errors import EmptyReplayError


class Pyramid:
    """Values over ``range(capacity)``, and what all of them come to under an operation.

    Invariant: ``levels[k + 1][j] == combine(levels[k][2 * j], levels[k][2 * j + 1])``; what lies
    past the capacity is ``neutral``.
    """

    def __init__(self, capacity: int, combine: np.ufunc, neutral: float) -> None:
        if capacity < 1:
            msg = f"capacity must be at least 1, got {capacity}"
            raise ValueError(msg)
        self.capacity: Final = capacity
        self._combine = combine
        height = (capacity - 1).bit_length()
        self.levels = [np.full(1 << (height - k), neutral) for k in range(height + 1)]

    @property
    def root(self) -> float:
        """What all values come to."""
        return float(self.levels[-1][0])

    @property
    def values(self) -> Float64[np.ndarray, " {self.capacity}"]:
        """A view of the values: not to be written."""
        return self.levels[0][: self.capacity]

    def set(self, index: Int64[np.ndarray, " batch"], value: Float64[np.ndarray, " batch"]) -> None:
        """Set ``values[index] = value``; of a repeated index the last one counts.

        Raises:
            ValueError: an index is outside ``range(capacity)``.  Nothing has changed then.
        """
        if np.any((index < 0) | (index >= self.capacity)):
            msg = f"indices must lie in [0, {self.capacity})"
            raise ValueError(msg)
        self.levels[0][index] = value
        for children, parents in pairwise(self.levels):
            if len(index) >= len(parents):  # all of the level is less work, here and above
                self._combine(children[::2], children[1::2], out=parents)
            else:
                index = index >> 1
                parents[index] = self._combine(children[2 * index], children[2 * index + 1])


class SumTree:
    """Non-negative weights over ``range(capacity)``; all of them start at zero.

    Invariant: the sum of the weights is finite, since none exceeds ``largest``.
    """

    def __init__(self, capacity: int) -> None:
        self._sums = Pyramid(capacity, np.add, 0.0)
        self.capacity: Final = capacity
        self.largest: Final = float(np.finfo(np.float64).max) / (2 * capacity)

    @property
    def total(self) -> float:
        """Sum of all weights."""
        return self._sums.root

    @property
    def weights(self) -> Float64[np.ndarray, " {self.capacity}"]:
        """A view of the weights: not to be written."""
        return self._sums.values

    def update(
        self, index: Int64[np.ndarray, " batch"], weight: Float64[np.ndarray, " batch"]
    ) -> None:
        """Set ``weights[index] = weight``; of a repeated index the last one counts.

        Raises:
            ValueError: an index is outside ``range(capacity)``, or a weight is negative, NaN or
                more than ``largest``.  The tree is then unchanged.
        """
        if not np.all((weight >= 0) & (weight <= self.largest)):
            msg = f"weights must lie in [0, {self.largest:g}]"
            raise ValueError(msg)
        self._sums.set(index, weight)

    def draw(self, n: int, rng: np.random.Generator) -> Int64[np.ndarray, " {n}"]:
        """Draw one index from each of ``n`` equal slices of the total weight.

        The slices keep the marginal probabilities and lower the variance of the batch.

        Raises:
            EmptyReplayError: every weight is zero.
        """
        return self.find((np.arange(n) + rng.random(n)) / n * self.total)

    def find(self, mass: Float64[np.ndarray, " batch"]) -> Int64[np.ndarray, " batch"]:
        """Index at which the running sum of the weights first exceeds ``mass >= 0``.

        A weight of zero is never found.  Raises like `draw`.
        """
        if self.total == 0:
            raise EmptyReplayError
        node = np.zeros(len(mass), dtype=np.int64)
        for level in reversed(self._sums.levels[:-1]):
            node *= 2
            left = level[node]
            # A positive right side keeps every visited node positive, whatever the rounding.
            go_right = (mass >= left) & (level[node + 1] > 0)
            mass = mass - left * go_right
            node += go_right
        return node
