"""How well a method answered: figures by case, so that methods can be compared case by case.

A metric is either a mean over cases (recall, F1 of a plan) or a statistic of all cases
together (AUC, the F1 of a set of pairs).  Both can be computed of any resample of the cases,
which is all that intervals and tests need (`pml.evaluation.resampling`, `comparing`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A metric that is the mean over cases."""

    values: Float64[np.ndarray, " cases"]
    """NaN where a case has no value (a link-F1 without links); such cases do not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """A metric of all cases together."""

    of: Callable[[Int64[np.ndarray, " resample"]], float]
    """Its value of the cases with these indices, which may repeat; NaN where it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one method reached in one problem."""

    metrics: Mapping[str, Mean | Statistic]
    """By name, in the order in which they are shown."""
    groups: Int64[np.ndarray, " cases"]
    """Cases of one group (an episode, a workflow) depend on each other: they are drawn together."""
