"""How far a capability is to be trusted, by the evidence of its runs (ST-4).

Of a capability that succeeded s times and failed f times, the success rate has the posterior
Beta(1 + s, 1 + f) (uniform prior).  A state is earned when 95 % of that posterior lies on the
right side of a rate, so a few lucky runs do not suffice, and two states with runs of equal
rate may differ by how many there were.

The counts decide anew after each run; nothing is kept for having been reached before.  There
is no hysteresis: between verified and deprecated lies candidate, so that one run more cannot
turn trust into distrust, and the neighbours differ little in what they allow.

Reference: A. Gelman et al., "Bayesian Data Analysis", 3rd edition 2013, section 2.4.  The
posterior's distribution function at x is P(Binomial(s + f + 1, x) > s) (DLMF 8.17.5), a sum
of terms that fall geometrically: exact, and quick also for a million runs.
"""

import math
from typing import Final

from pml.domain.capability import Lifecycle

DOUBT: Final = 0.05
"""Share of the posterior that may lie on the wrong side."""
MOSTLY: Final = 0.5
"""Verified works more often than not, which is where four successes in a row lead; deprecated
fails more often than not."""
RELIABLY: Final = 0.8
"""Canonical works four times in five: thirteen successes in a row, or twenty with one failure.  A
plan of three such steps still succeeds more often than not."""
VERIFIED_ARGUMENTS: Final = 2
"""Different arguments of successes: what ran twice with one input may know only that input."""
CANONICAL_ARGUMENTS: Final = 3
"""One more than a first run and the run that tries the lifted parameters."""
_NEGLIGIBLE = 1e-17


def lifecycle(
    successes: int, failures: int, *, distinct_arguments: int, has_parameters: bool
) -> Lifecycle:
    """The state that the counts earn.

    What takes no arguments cannot be run with others, so nothing is asked of it there.
    """
    arguments = distinct_arguments if has_parameters else CANONICAL_ARGUMENTS
    if chance_below(RELIABLY, successes, failures) <= DOUBT and arguments >= CANONICAL_ARGUMENTS:
        return Lifecycle.CANONICAL
    below = chance_below(MOSTLY, successes, failures)
    if below <= DOUBT and arguments >= VERIFIED_ARGUMENTS:
        return Lifecycle.VERIFIED
    if below >= 1 - DOUBT:
        return Lifecycle.DEPRECATED
    return Lifecycle.CANDIDATE


def chance_below(rate: float, successes: int, failures: int) -> float:
    """Posterior probability that the success rate is below ``rate``, which lies inside (0, 1).

    A lower 5 % bound of the posterior is above ``rate`` where this is under 0.05.
    """
    trials = successes + failures + 1
    if successes + 1 > trials * rate:
        return _tail(trials, successes + 1, rate)
    return 1 - _tail(trials, trials - successes, 1 - rate)


def _tail(trials: int, least: int, rate: float) -> float:
    """P(Binomial(trials, rate) >= least), where ``least`` is not below the mean."""
    term = math.exp(
        math.lgamma(trials + 1)
        - math.lgamma(least + 1)
        - math.lgamma(trials - least + 1)
        + least * math.log(rate)
        + (trials - least) * math.log1p(-rate)
    )
    total, odds = 0.0, rate / (1 - rate)
    for hits in range(least, trials + 1):
        total += term
        if term < _NEGLIGIBLE:
            break
        term *= (trials - hits) / (hits + 1) * odds
    return total
