"""Thresholds by risk and mode (LE-4, SP-1): the order of modes and risks as a law."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.learning.arms import ArmConfig
from pml.learning.risk import Risk
from pml.learning.thompson import ThompsonSampler
from pml.learning.thresholds import Mode, threshold
from pml.learning.verdicts import Verdict
from tests.learning.bandits import CONFIGS, HISTORIES, TOOLS, History, taught

MEANS = st.floats(0, 1, exclude_min=True, exclude_max=True)
ANY_TOOL = st.sampled_from((*TOOLS, "other:unknown"))
RISKS, MODES = st.sampled_from(list(Risk)), st.sampled_from(list(Mode))


def all_thresholds(sampler: ThompsonSampler, tool: str) -> dict[tuple[Risk, Mode], float]:
    pairs = itertools.product(Risk, Mode)
    return {(risk, mode): sampler.get_threshold(tool, risk, mode) for risk, mode in pairs}


@given(history=HISTORIES, config=CONFIGS, tool=ANY_TOOL)
def test_modes_are_in_strict_order_for_every_tool_risk_and_evidence(
    history: History, config: ArmConfig, tool: str
) -> None:
    at = all_thresholds(taught(history, config), tool)
    search, suggestion, speculation = Mode
    assert all(
        0 <= at[risk, search] < at[risk, suggestion] < at[risk, speculation] <= 1 for risk in Risk
    )


@given(history=HISTORIES, config=CONFIGS, tool=ANY_TOOL)
def test_more_risk_never_needs_less_confidence(
    history: History, config: ArmConfig, tool: str
) -> None:
    at = all_thresholds(taught(history, config), tool)
    assert all(
        at[Risk.SAFE, mode] <= at[Risk.MODERATE, mode] <= at[Risk.DANGEROUS, mode] for mode in Mode
    )


@given(mean=MEANS, bonus=st.floats(0, 1e6), risk=RISKS)
def test_the_order_holds_for_any_mean_and_bonus(mean: float, bonus: float, risk: Risk) -> None:
    search, suggestion, speculation = (threshold(mean, bonus, risk, mode) for mode in Mode)
    assert 0 < search < suggestion < speculation <= 1


@given(mean=MEANS, other=MEANS, bonus=st.floats(0, 2), risk=RISKS, mode=MODES)
def test_the_more_reliable_tool_never_needs_more_confidence(
    mean: float, other: float, bonus: float, risk: Risk, mode: Mode
) -> None:
    low, high = sorted((mean, other))
    assert threshold(high, bonus, risk, mode) <= threshold(low, bonus, risk, mode)


def test_before_any_outcome_the_seeds_thresholds_hold() -> None:
    sampler = ThompsonSampler()
    assert sampler.get_threshold("s:a", Risk.MODERATE, Mode.PASSIVE_SUGGESTION) == pytest.approx(
        0.7
    )
    assert sampler.get_threshold("s:a", Risk.MODERATE, Mode.SPECULATION) == pytest.approx(0.8)


@given(mean=st.floats(0.6, 0.99), confidence=MEANS)
def test_acting_pays_exactly_where_match_and_tool_together_succeed_often_enough(
    mean: float, confidence: float
) -> None:
    """0.56 is the seed's 0.7 times 0.8: the chance that makes a moderate risk worth it."""
    acts = confidence >= threshold(mean, 0.0, Risk.MODERATE, Mode.PASSIVE_SUGGESTION)
    assert acts == (confidence * mean >= 0.56) or confidence * mean == pytest.approx(0.56)


@pytest.mark.parametrize("rate", [0.65, 0.8, 0.95])
def test_with_experience_the_threshold_comes_to_the_best_fixed_one(rate: float) -> None:
    """Story 10.7c, test 7.

    The bound is four deviations of a discounted mean: the three cases
    together fail with one seed in five thousand.
    """
    rng, sampler = np.random.default_rng(2), ThompsonSampler()
    for _ in range(2_000):
        worked = rng.random() < rate
        sampler.record("s:a", Verdict.SUCCESS if worked else Verdict.FAILURE)
    found = sampler.get_threshold("s:a", Risk.MODERATE, Mode.PASSIVE_SUGGESTION)
    half_life = sampler.config.half_life
    deviation = math.sqrt(rate * (1 - rate) * math.log(2) / (2 * half_life))
    assert 0.56 / found == pytest.approx(rate, abs=4 * deviation + 4 / half_life)


def test_what_is_dangerous_gets_no_bonus_for_being_unknown() -> None:
    kinds = (Risk.DANGEROUS, Mode.ACTIVE_SEARCH)
    assert threshold(0.7, 0.3, *kinds) == threshold(0.7, 0.0, *kinds)
    assert threshold(0.7, 0.3, Risk.SAFE, Mode.ACTIVE_SEARCH) < threshold(
        0.7, 0.0, Risk.SAFE, Mode.ACTIVE_SEARCH
    )


@given(mean=st.floats(0.5, 0.99), bonus=st.floats(0.01, 0.3), risk=RISKS)
def test_a_search_takes_the_upper_bound_and_speculation_the_lower(
    mean: float, bonus: float, risk: Risk
) -> None:
    """What is rarely used is tried where somebody looks, and not run where nobody asked."""
    lower = threshold(mean - bonus, 0.0, risk, Mode.SPECULATION)
    assert threshold(mean, bonus, risk, Mode.SPECULATION) == pytest.approx(lower)
    mean_alone = threshold(mean, 0.0, risk, Mode.PASSIVE_SUGGESTION)
    assert threshold(mean, bonus, risk, Mode.PASSIVE_SUGGESTION) == mean_alone
    if risk is not Risk.DANGEROUS:
        upper = threshold(min(mean + bonus, 1.0), 0.0, risk, Mode.ACTIVE_SEARCH)
        assert threshold(mean, bonus, risk, Mode.ACTIVE_SEARCH) == pytest.approx(upper)


def test_a_tool_that_fails_needs_more_and_one_that_works_less() -> None:
    sampler = taught([("s:bad", Verdict.FAILURE)] * 5 + [("s:good", Verdict.SUCCESS)] * 40)
    bad, good = (
        sampler.get_threshold(tool, Risk.MODERATE, Mode.PASSIVE_SUGGESTION)
        for tool in ("s:bad", "s:good")
    )
    assert good < 0.7 < bad
