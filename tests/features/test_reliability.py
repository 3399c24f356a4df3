"""Reliability (LE-5): Beta posteriors against scipy, and what they must order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from pml.features.reliability import DOUBT, PRIOR_CALLS, PRIOR_RATE, reliability

COUNTS = st.lists(
    st.tuples(st.integers(0, 1_000), st.integers(0, 1_000)), min_size=1, max_size=9
).map(lambda pairs: np.array(pairs, dtype=float).T)


@given(counts=COUNTS)
def test_the_rate_and_its_bound_are_those_of_the_posterior(counts: np.ndarray) -> None:
    successes, failures = counts
    found = reliability(successes, failures)
    posterior = beta(
        successes + PRIOR_RATE * PRIOR_CALLS, failures + (1 - PRIOR_RATE) * PRIOR_CALLS
    )
    assert found.rate == pytest.approx(posterior.mean())
    assert posterior.cdf(found.lower) == pytest.approx(np.full(len(successes), DOUBT))
    assert (found.lower < found.rate).all()
    assert ((found.evidence >= 0) & (found.evidence < 1)).all()


@given(counts=COUNTS)
def test_a_success_raises_and_a_failure_lowers(counts: np.ndarray) -> None:
    successes, failures = counts
    base = reliability(successes, failures)
    up, down = reliability(successes + 1, failures), reliability(successes, failures + 1)
    assert (up.rate > base.rate).all()
    assert (base.rate > down.rate).all()
    assert (up.lower > base.lower).all()
    assert (base.lower > down.lower).all()


def test_one_success_is_less_sure_than_ninety_nine_in_a_hundred() -> None:
    found = reliability(np.array([1.0, 99.0]), np.array([0.0, 1.0]))
    assert found.lower[0] < found.lower[1]


def test_without_calls_the_prior_speaks() -> None:
    found = reliability(np.zeros(1), np.zeros(1))
    assert found.rate == pytest.approx(PRIOR_RATE)
    assert found.evidence.tolist() == [0]
    assert len(reliability(np.zeros(0), np.zeros(0)).rate) == 0


@pytest.mark.parametrize("count", [-1.0, np.nan, np.inf])
def test_a_count_that_is_none_is_refused(count: float) -> None:
    with pytest.raises(ValueError, match="counts of successes and failures"):
        reliability(np.array([count]), np.array([1.0]))
