"""How much two sets have in common."""

from collections.abc import Hashable
from collections.abc import Set as AbstractSet

import numpy as np
from jaxtyping import Float64, Int64

from pml.evaluation.measured import Statistic


def f1(found: AbstractSet[Hashable], gold: AbstractSet[Hashable]) -> float:
    """Harmonic mean of precision and recall; 0 where one of the sets is empty.

    Whoever finds nothing where there is nothing gets 0 as well: ask about no such case.
    """
    size = len(found) + len(gold)
    return 2 * len(found & gold) / size if size else 0.0


def precision(
    said: Float64[np.ndarray, " cases"], gold: Float64[np.ndarray, " cases"]
) -> Statistic:
    """Share of what was said that is gold; NaN where nothing was said.  Both are 0 or 1."""
    right = said * gold

    def of(chosen: Int64[np.ndarray, " resample"]) -> float:
        return _ratio(right[chosen].sum(), said[chosen].sum())

    return Statistic(of=of)


def recall(said: Float64[np.ndarray, " cases"], gold: Float64[np.ndarray, " cases"]) -> Statistic:
    """Share of gold that was said; NaN where there is none.  Both are 0 or 1."""
    right = said * gold

    def of(chosen: Int64[np.ndarray, " resample"]) -> float:
        return _ratio(right[chosen].sum(), gold[chosen].sum())

    return Statistic(of=of)


def pooled_f1(
    said: Float64[np.ndarray, " cases"], gold: Float64[np.ndarray, " cases"]
) -> Statistic:
    """Harmonic mean of precision and recall over all cases; NaN where there is no gold."""
    right, both = said * gold, said + gold

    def of(chosen: Int64[np.ndarray, " resample"]) -> float:
        return _ratio(2 * right[chosen].sum(), both[chosen].sum()) if gold[chosen].any() else np.nan

    return Statistic(of=of)


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else float("nan")
