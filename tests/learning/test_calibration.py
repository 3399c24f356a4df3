"""Chances from scores (LE-5) against scipy and scikit-learn, and laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from jaxtyping import Bool, Float64
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

from pml.learning.calibration import Calibration, brier, calibration_error, fitted, log_loss

Cases = tuple[
    Float64[np.ndarray, " cases"], Bool[np.ndarray, " cases"], Float64[np.ndarray, " cases"]
]


@st.composite
def cases(draw: st.DrawFn, *, largest: float = 1e3, least: int = 1) -> Cases:
    n = draw(st.integers(least, 30))
    scores = draw(arrays(np.float64, n, elements=st.floats(-largest, largest)))
    positive = draw(arrays(np.bool_, n))
    weights = draw(arrays(np.float64, n, elements=st.floats(0, 10)))
    return scores, positive, weights


def drawn(n: int, *, seed: int, slope: float = 0.7, intercept: float = -2.0) -> Cases:
    """Scores with labels whose chances are known."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 3, n)
    chances = 1 / (1 + np.exp(-(slope * scores + intercept)))
    return scores, rng.random(n) < chances, rng.uniform(0.1, 1, n)


@given(cases())
def test_calibration_never_loses_to_the_scores_as_they_are(given_cases: Cases) -> None:
    scores, positive, weights = given_cases
    found = fitted(scores, positive, weights)
    before = log_loss(Calibration().chances(scores), positive, weights)
    after = log_loss(found.chances(scores), positive, weights)
    assert after <= before + 1e-9 * (1 + before)


@given(cases())
def test_calibration_never_turns_a_ranking_round(given_cases: Cases) -> None:
    found = fitted(*given_cases)
    scores = np.sort(given_cases[0])
    assert found.slope >= 0
    assert np.all(np.diff(found.chances(scores)) >= 0)


@pytest.mark.parametrize("seed", range(3))
def test_the_fit_is_that_of_a_general_optimiser(seed: int) -> None:
    scores, positive, weights = drawn(400, seed=seed)

    def loss(at: Float64[np.ndarray, " 2"]) -> float:
        logits = at[0] * scores + at[1]
        losses = np.logaddexp(0, np.where(positive, -logits, logits))
        return float(weights @ losses + 5e-4 * ((at[0] - 1) ** 2 + at[1] ** 2))

    best = minimize(loss, np.array([1.0, 0.0]), tol=1e-12)
    found = fitted(scores, positive, weights)
    np.testing.assert_allclose([found.slope, found.intercept], best.x, atol=1e-5)


def test_the_fit_is_that_of_an_unpenalised_logistic_regression() -> None:
    scores, positive, weights = drawn(5_000, seed=5)
    oracle = LogisticRegression(C=np.inf, tol=1e-8)
    oracle.fit(scores[:, None], positive, sample_weight=weights)
    found = fitted(scores, positive, weights)
    assert found.slope == pytest.approx(oracle.coef_[0, 0], abs=1e-3)
    assert found.intercept == pytest.approx(oracle.intercept_[0], abs=1e-3)


def test_scores_that_mislead_are_told_apart_no_longer() -> None:
    scores, positive, weights = drawn(400, seed=1, slope=-2.0, intercept=0.0)
    found = fitted(scores, positive, weights)
    share = weights @ positive / weights.sum()
    assert found.slope == 0
    np.testing.assert_allclose(found.chances(scores), share, atol=1e-3)


def test_scores_that_separate_stay_finite() -> None:
    scores = np.array([-1.0, -2.0, 1.0, 2.0])
    found = fitted(scores, scores > 0, np.ones(4))
    assert 1 < found.slope < 100


def test_nothing_known_leaves_scores_as_they_are() -> None:
    nothing = np.zeros(0)
    assert fitted(nothing, nothing.astype(bool), nothing) == Calibration()


@pytest.mark.parametrize(("score", "weight"), [(np.nan, 1.0), (np.inf, 1.0), (0.0, -1.0)])
def test_what_is_no_number_is_refused(score: float, weight: float) -> None:
    with pytest.raises(ValueError, match="must be finite"):
        fitted(np.array([score]), np.array([True]), np.array([weight]))


def test_losses_are_those_of_scikit_learn() -> None:
    scores, positive, weights = drawn(200, seed=2)
    chances = Calibration().chances(scores)
    assert log_loss(chances, positive, weights) == pytest.approx(
        sklearn_log_loss(positive, chances, sample_weight=weights)
    )
    assert brier(chances, positive, weights) == pytest.approx(
        brier_score_loss(positive, chances, sample_weight=weights)
    )


@given(cases())
def test_the_calibration_error_is_at_most_the_largest_gap(given_cases: Cases) -> None:
    scores, positive, _ = given_cases
    chances = Calibration().chances(scores)
    found = calibration_error(chances, positive)
    mean_gap = abs(float((chances - positive).mean()))
    assert mean_gap - 1e-12 <= found <= float(np.abs(chances - positive).mean()) + 1e-12


def test_true_chances_have_hardly_any_error_and_shifted_ones_the_shift() -> None:
    rng = np.random.default_rng(0)
    chances = rng.uniform(0.2, 0.6, 200_000)
    positive = rng.random(200_000) < chances
    assert calibration_error(chances, positive) < 0.01
    assert calibration_error(chances + 0.2, positive) == pytest.approx(0.2, abs=0.01)
    assert calibration_error(np.zeros(0), np.zeros(0, dtype=bool)) == 0


def test_errors_of_different_chances_do_not_cancel() -> None:
    """Half are told .25 and never come true, half .75 and always do."""
    positive = np.arange(100) % 2 == 1
    chances = np.where(positive, 0.75, 0.25)
    assert calibration_error(chances, positive) == pytest.approx(0.25)
