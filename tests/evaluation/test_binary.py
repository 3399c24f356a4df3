"""AUC, Brier and calibration error beside scikit-learn's, of any resample (RW-6)."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, roc_auc_score

from pml.evaluation.binary import BINS, auc, brier, calibration_error

CHANCES = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
Cases = tuple[np.ndarray, np.ndarray]


@st.composite
def cases(draw: st.DrawFn) -> Cases:
    """Chances, often equal ones, and what came to be."""
    rows = draw(st.lists(st.tuples(CHANCES, st.booleans()), min_size=1, max_size=40))
    return np.array([row[0] for row in rows]), np.array([float(row[1]) for row in rows])


def drawn_of(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, count, count)


@settings(max_examples=40)  # scikit-learn takes 10 ms for its figures
@given(said=cases(), seed=st.integers(0, 9))
def test_auc_equals_that_of_the_oracle(said: Cases, seed: int) -> None:
    chances, came = said
    drawn = drawn_of(len(chances), seed)
    assume(0 < came[drawn].sum() < len(drawn))
    expected = roc_auc_score(came[drawn], chances[drawn])
    assert auc(chances, came).of(drawn) == pytest.approx(expected)


@given(said=cases())
def test_auc_is_the_share_of_pairs_in_the_right_order(said: Cases) -> None:
    chances, came = said
    pairs = [(a > b) + 0.5 * (a == b) for a in chances[came == 1] for b in chances[came == 0]]
    found = auc(chances, came).of(np.arange(len(chances)))
    assert found == pytest.approx(np.mean(pairs) if pairs else np.nan, nan_ok=True)


@given(said=cases())
def test_auc_turns_round_with_the_classes(said: Cases) -> None:
    chances, came = said
    every = np.arange(len(chances))
    first, second = auc(chances, came).of(every), auc(chances, 1 - came).of(every)
    assert first == pytest.approx(1 - second, nan_ok=True)


@pytest.mark.parametrize("came", [0.0, 1.0])
def test_auc_of_one_class_is_no_number(came: float) -> None:
    assert math.isnan(auc(np.array([0.1, 0.9]), np.full(2, came)).of(np.arange(2)))


@given(said=cases())
def test_brier_equals_that_of_the_oracle(said: Cases) -> None:
    chances, came = said
    expected = brier_score_loss(came, chances, pos_label=1)
    assert brier(chances, came).values.mean() == pytest.approx(expected)


@settings(max_examples=40)  # scikit-learn takes 10 ms for its figures
@given(said=cases(), seed=st.integers(0, 9))
def test_the_calibration_error_weighs_the_gaps_of_the_oracle(said: Cases, seed: int) -> None:
    chances, came = said
    drawn = drawn_of(len(chances), seed)
    told, outcome = chances[drawn], came[drawn]
    shares, means = calibration_curve(outcome, told, n_bins=BINS, strategy="quantile")
    inner = np.percentile(told, np.linspace(0, 100, BINS + 1))[1:-1]
    filled = np.bincount([int(np.sum(inner < one)) for one in told])
    expected = np.abs(shares - means) @ filled[filled > 0] / len(told)
    assert calibration_error(chances, came).of(drawn) == pytest.approx(expected)


@given(said=cases())
def test_the_calibration_error_is_between_its_bounds(said: Cases) -> None:
    chances, came = said
    error = calibration_error(chances, came).of(np.arange(len(chances)))
    assert abs(chances.mean() - came.mean()) - 1e-9 <= error
    assert error <= np.abs(chances - came).mean() + 1e-9


def test_true_chances_have_no_calibration_error() -> None:
    chances = np.repeat([0.25, 0.75], 4)
    came = np.array([1, 0, 0, 0, 1, 1, 1, 0], dtype=np.float64)
    assert calibration_error(chances, came).of(np.arange(8)) == pytest.approx(0)


def test_small_chances_are_told_apart() -> None:
    """Bins of equal width would compare the means of all, which agree."""
    chances = np.repeat([0.01, 0.09], 100)
    came = np.zeros(200)
    came[:10] = 1  # ten of those of which one was expected
    assert calibration_error(chances, came).of(np.arange(200)) == pytest.approx(0.09)


def test_no_case_has_no_figure() -> None:
    none = np.zeros(0)
    assert math.isnan(calibration_error(none, none).of(np.arange(0, dtype=np.int64)))
    assert math.isnan(auc(none, none).of(np.arange(0, dtype=np.int64)))
