"""How well chances tell two classes apart, and how true they are as chances.

References:
    T. Fawcett: An introduction to ROC analysis, Pattern Recognition Letters 27(8), 2006,
    section 7 (AUC as the chance that one of each class is ranked rightly, ties half).
    G. W. Brier: Verification of forecasts expressed in terms of probability, Monthly Weather
    Review 78(1), 1950 (for two classes: half his sum, as is usual since).
    J. Nixon et al.: Measuring calibration in deep learning, CVPR Workshops 2019,
    arXiv:1904.01685, section 3 (bins of equal filling).
"""

import numpy as np
from jaxtyping import Float64, Int64

from pml.evaluation.measured import Mean, Statistic

BINS = 10
"""Of the calibration error."""


def auc(
    scores: Float64[np.ndarray, " cases"], positive: Float64[np.ndarray, " cases"]
) -> Statistic:
    """Chance that a positive case scores above a negative one, ties half; NaN for one class.

    Args:
        scores: larger for what is more likely positive.
        positive: 1 or 0.
    """
    values, level = np.unique(scores, return_inverse=True)

    def of(chosen: Int64[np.ndarray, " resample"]) -> float:
        at, yes = level[chosen], positive[chosen]
        positives = np.bincount(at, weights=yes, minlength=len(values))
        negatives = np.bincount(at, weights=1 - yes, minlength=len(values))
        pairs = positives.sum() * negatives.sum()
        below = np.cumsum(negatives) - negatives / 2
        return float(positives @ below / pairs) if pairs else float("nan")

    return Statistic(of=of)


def brier(chances: Float64[np.ndarray, " cases"], positive: Float64[np.ndarray, " cases"]) -> Mean:
    """Squared difference of chance and what came to be; smaller is better."""
    return Mean(values=(chances - positive) ** 2)


def calibration_error(
    chances: Float64[np.ndarray, " cases"], positive: Float64[np.ndarray, " cases"]
) -> Statistic:
    """Mean difference of chance and share of positives over `BINS` bins of equal filling.

    The expected calibration error, with bins between the deciles of the chances in place of bins
    of equal width: where one call in twenty fails, nearly all chances are below 0.1, and bins of
    equal width would compare one pair of means.  Equal chances are in one bin, so that there may
    be fewer bins.
    """
    inner = np.linspace(0, 1, BINS + 1)[1:-1]

    def of(chosen: Int64[np.ndarray, " resample"]) -> float:
        said, came = chances[chosen], positive[chosen]
        if not len(said):
            return float("nan")
        bins = np.searchsorted(np.quantile(said, inner), said)
        gap = np.bincount(bins, weights=said - came, minlength=BINS)
        return float(np.abs(gap).sum() / len(said))

    return Statistic(of=of)
