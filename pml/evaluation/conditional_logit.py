"""Conditional logit: learn how much each of several scores counts when one of many is chosen.

The chance that candidate ``c`` is chosen is proportional to ``exp(w . x_c)``; the weights ``w``
make what was chosen likeliest, but for a small penalty.  If the features are logarithms of
chances, that is a logarithmic opinion pool of them.

References:
    D. McFadden: Conditional logit analysis of qualitative choice behavior, in P. Zarembka (ed.):
    Frontiers in Econometrics, 1974.
    T. Heskes: Selecting weighting factors in logarithmic opinion pools, NIPS 10, 1998.
"""

import numpy as np
from jaxtyping import Float64, Int64
from scipy.optimize import minimize
from scipy.special import logsumexp


def fitted(
    features: Float64[np.ndarray, "choices candidates features"],
    chosen: Int64[np.ndarray, " choices"],
    *,
    penalty: float = 1.0,
) -> Float64[np.ndarray, " features"]:
    """The weights; zeros where there was no choice.

    Args:
        features: Of every candidate in every choice.
        chosen: Which candidate it was.
        penalty: Of half the squared length of the weights, beside the sum over choices.
    """
    right = features[np.arange(len(chosen)), chosen]

    def loss(
        weights: Float64[np.ndarray, " features"],
    ) -> tuple[float, Float64[np.ndarray, " features"]]:
        scores = features @ weights  # (choices, candidates)
        logs = logsumexp(scores, axis=1, keepdims=True)
        expected = np.einsum("ij,ijk->k", np.exp(scores - logs), features)
        value = logs.sum() - (right @ weights).sum() + penalty / 2 * weights @ weights
        return float(value), expected - right.sum(axis=0) + penalty * weights

    start = np.zeros(features.shape[2])
    if not len(chosen):
        return start
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B").x, dtype=np.float64)
