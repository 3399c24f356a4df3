"""Which trust the counts earn (ST-4), the posterior against integration of its density."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.capability import Lifecycle
from pml.learning.lifecycle import CANONICAL_ARGUMENTS, chance_below, lifecycle

COUNTS = st.integers(0, 60)
RATES = st.floats(0.01, 0.99)
RANKS = [Lifecycle.DEPRECATED, Lifecycle.CANDIDATE, Lifecycle.VERIFIED, Lifecycle.CANONICAL]


def state(successes: int, failures: int, arguments: int = CANONICAL_ARGUMENTS) -> Lifecycle:
    return lifecycle(successes, failures, distinct_arguments=arguments, has_parameters=True)


@given(rate=RATES, successes=COUNTS, failures=COUNTS)
def test_the_posterior_is_the_integral_of_its_density(
    rate: float, successes: int, failures: int
) -> None:
    below = (np.arange(40_000) + 0.5) / 40_000 * rate
    above = rate + (np.arange(40_000) + 0.5) / 40_000 * (1 - rate)
    mass = [
        float(np.mean(x**successes * (1 - x) ** failures)) * width
        for x, width in ((below, rate), (above, 1 - rate))
    ]
    assert chance_below(rate, successes, failures) == pytest.approx(
        mass[0] / sum(mass), rel=1e-5, abs=1e-9
    )


@given(rate=RATES, successes=st.integers(0, 10**6), failures=st.integers(0, 10**6))
def test_successes_and_failures_mirror_each_other(
    rate: float, successes: int, failures: int
) -> None:
    mirrored = chance_below(1 - rate, failures, successes)
    assert chance_below(rate, successes, failures) + mirrored == pytest.approx(1, abs=1e-6)


@given(rate=RATES, successes=COUNTS)
def test_without_failures_the_posterior_has_a_closed_form(rate: float, successes: int) -> None:
    assert chance_below(rate, successes, 0) == pytest.approx(rate ** (successes + 1))


@given(successes=COUNTS, failures=COUNTS, arguments=st.integers(0, 4))
def test_a_success_never_costs_trust_and_a_failure_never_earns_it(
    successes: int, failures: int, arguments: int
) -> None:
    rank = RANKS.index(state(successes, failures, arguments))
    assert RANKS.index(state(successes + 1, failures, arguments)) >= rank
    assert RANKS.index(state(successes, failures + 1, arguments)) <= rank
    assert RANKS.index(state(successes, failures, arguments + 1)) >= rank


@given(successes=COUNTS, failures=COUNTS)
def test_one_run_does_not_turn_trust_into_distrust(successes: int, failures: int) -> None:
    ranks = [RANKS.index(state(successes, failures + more)) for more in (0, 1)]
    assert not (ranks[0] >= 2 and ranks[1] == 0)


@pytest.mark.parametrize(
    ("successes", "failures", "arguments", "expected"),
    [
        (0, 0, 0, Lifecycle.CANDIDATE),
        (3, 0, 3, Lifecycle.CANDIDATE),
        (4, 0, 2, Lifecycle.VERIFIED),
        (400, 0, 1, Lifecycle.CANDIDATE),
        (12, 0, 3, Lifecycle.VERIFIED),
        (13, 0, 3, Lifecycle.CANONICAL),
        (13, 0, 2, Lifecycle.VERIFIED),
        (19, 1, 3, Lifecycle.VERIFIED),
        (20, 1, 3, Lifecycle.CANONICAL),
        (0, 3, 0, Lifecycle.CANDIDATE),
        (0, 4, 0, Lifecycle.DEPRECATED),
        (1_000_000, 1_000_000, 3, Lifecycle.CANDIDATE),
    ],
)
def test_evidence_decides(
    successes: int, failures: int, arguments: int, expected: Lifecycle
) -> None:
    assert state(successes, failures, arguments) is expected


def test_what_takes_no_arguments_is_not_asked_for_different_ones() -> None:
    known = lifecycle(13, 0, distinct_arguments=1, has_parameters=False)
    assert known is Lifecycle.CANONICAL
