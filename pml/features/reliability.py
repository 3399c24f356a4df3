"""Reliability: how sure is it that a call works, given how few were seen?

A rate of successes with a Beta prior: the mean leans towards the prior until there is evidence, and
the lower bound is the rate that is reached with a chance of 95 %, so that one success in one call
does not beat ninety-nine in a hundred.

Reference: A. Gelman et al., "Bayesian Data Analysis", 3rd edition 2013, section 2.4.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from scipy.special import betaincinv

PRIOR_RATE = 0.9
"""Calls work as a rule: of the calls of sgd 95 % do, of toolbench 76 %."""
PRIOR_CALLS = 4.0
"""Calls that the prior weighs as much as."""
DOUBT = 0.05
"""Chance that the rate is below the lower bound."""
_FULL = 10.0
"""Calls at which the evidence reaches a half."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reliability:
    """Per node; all from 0 to 1."""

    rate: Float64[np.ndarray, " nodes"]
    """Posterior mean of the success rate."""
    lower: Float64[np.ndarray, " nodes"]
    """Its 5 % quantile."""
    evidence: Float64[np.ndarray, " nodes"]
    """n / (n + 10) for n calls."""


def reliability(
    successes: Float64[np.ndarray, " nodes"], failures: Float64[np.ndarray, " nodes"]
) -> Reliability:
    """Of nodes with these counts, which may be weighted or decayed.

    Raises:
        ValueError: a count is negative, infinite or NaN.
    """
    both = np.stack([successes, failures])
    if not (np.isfinite(both).all() and (both >= 0).all()):
        msg = "counts of successes and failures must be finite and not negative"
        raise ValueError(msg)
    a = successes + PRIOR_RATE * PRIOR_CALLS
    b = failures + (1 - PRIOR_RATE) * PRIOR_CALLS
    calls = successes + failures
    return Reliability(
        rate=a / (a + b), lower=betaincinv(a, b, DOUBT), evidence=calls / (calls + _FULL)
    )
