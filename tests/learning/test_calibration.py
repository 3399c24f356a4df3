"""Chances from scores (LE-5) against scipy and scikit-learn, and laws."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from jaxtyping import Float64
from scipy.optimize import minimize
from scipy.special import expit, logsumexp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

from pml.learning.calibration import (
    Calibration,
    Cases,
    brier,
    calibration_error,
    fitted,
    log_loss,
)


@st.composite
def cases(draw: st.DrawFn, *, largest: float = 1e3, least: int = 1) -> Cases:
    n = draw(st.integers(least, 30))
    numbers = arrays(np.float64, n, elements=st.floats(-largest, largest))
    return Cases(
        scores=draw(numbers),
        log_partitions=draw(numbers),
        positive=draw(arrays(np.bool_, n)),
        weights=draw(arrays(np.float64, n, elements=st.floats(0, 10))),
    )


def drawn(
    n: int, *, seed: int, slope: float = 0.7, rivalry: float = -0.4, intercept: float = -2.0
) -> Cases:
    """Scores with labels whose chances are known."""
    rng = np.random.default_rng(seed)
    scores, log_partitions = rng.normal(0, 3, (2, n))
    true = Calibration(slope=slope, rivalry=rivalry, intercept=intercept)
    return Cases(
        scores=scores,
        log_partitions=log_partitions,
        positive=rng.random(n) < true.chances(scores, log_partitions),
        weights=rng.uniform(0.1, 1, n),
    )


def loss_of(calibration: Calibration, of: Cases) -> float:
    return log_loss(calibration.chances(of.scores, of.log_partitions), of.positive, of.weights)


@given(cases())
def test_calibration_never_loses_to_the_scores_as_they_are(of: Cases) -> None:
    before = loss_of(Calibration(), of)
    assert loss_of(fitted(of), of) <= before + 1e-9 * (1 + before)


@given(cases())
def test_calibration_never_turns_the_ranking_of_a_query_round(of: Cases) -> None:
    found = fitted(of)
    scores = np.sort(of.scores)
    assert found.slope >= 0
    of_one_query = np.full_like(scores, of.log_partitions[0])
    assert np.all(np.diff(found.chances(scores, of_one_query)) >= 0)


@pytest.mark.parametrize("seed", range(3))
def test_the_fit_is_that_of_a_general_optimiser(seed: int) -> None:
    of = drawn(400, seed=seed)

    def loss(at: Float64[np.ndarray, " 3"]) -> float:
        logits = at[0] * of.scores + at[1] * of.log_partitions + at[2]
        losses = np.logaddexp(0, np.where(of.positive, -logits, logits))
        return float(of.weights @ losses + np.dot([5e-4, 0.5, 5e-4], (at - [1, 0, 0]) ** 2))

    best = minimize(loss, np.array([1.0, 0.0, 0.0]), tol=1e-12)
    np.testing.assert_allclose(fitted(of).numbers, best.x, atol=1e-5)


def test_the_fit_is_that_of_an_unpenalised_logistic_regression() -> None:
    of = drawn(5_000, seed=5)
    oracle = LogisticRegression(C=np.inf, tol=1e-8)
    columns = np.stack([of.scores, of.log_partitions], axis=1)
    oracle.fit(columns, of.positive, sample_weight=of.weights)
    expected = [*oracle.coef_[0], oracle.intercept_[0]]
    np.testing.assert_allclose(fitted(of).numbers, expected, atol=1e-3)


def test_a_chance_that_falls_with_the_scores_of_rivals_is_found() -> None:
    """Of queries with one answer each, drawn by the softmax of their scores."""
    rng = np.random.default_rng(3)
    scores = rng.normal(0, 2, (4_000, 5)) + rng.normal(0, 5, (4_000, 1))
    partitions = logsumexp(scores, axis=1, keepdims=True)
    answers = (rng.random((4_000, 1)) > np.exp(scores - partitions).cumsum(axis=1)).sum(axis=1)
    positive = np.arange(5) == np.minimum(answers, 4)[:, None]
    of = Cases(
        scores=scores.ravel(),
        log_partitions=np.repeat(partitions, 5),
        positive=positive.ravel(),
        weights=np.ones(20_000),
    )
    found, top = fitted(of), scores.argmax(axis=1)
    chances = found.chances(scores.max(axis=1), partitions[:, 0])
    assert found.rivalry < -0.5
    assert calibration_error(chances, positive[np.arange(4_000), top]) < 0.1
    alone = fitted(dataclasses.replace(of, log_partitions=np.zeros(20_000)))
    deaf = alone.chances(scores.max(axis=1), np.zeros(4_000))
    assert calibration_error(deaf, positive[np.arange(4_000), top]) > 0.2


@pytest.mark.parametrize("seed", range(3))
def test_few_queries_say_little_of_rivals(seed: int) -> None:
    """The log partition of one query is the same for all its candidates, as an intercept is."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 2, 40)
    of = Cases(
        scores=scores,
        log_partitions=np.full(40, logsumexp(scores)),
        positive=np.arange(40) == scores.argmax(),
        weights=np.ones(40),
    )
    assert abs(fitted(of).rivalry) < 0.5


def test_scores_that_mislead_are_told_apart_no_longer() -> None:
    of = drawn(400, seed=1, slope=-2.0, rivalry=0.0, intercept=0.0)
    found = fitted(of)
    share = of.weights @ of.positive / of.weights.sum()
    assert found.slope == 0
    chances = found.chances(of.scores, np.zeros(400))
    np.testing.assert_allclose(chances, share, atol=0.03)


def test_scores_that_separate_stay_finite() -> None:
    scores = np.array([-1.0, -2.0, 1.0, 2.0])
    of = Cases(scores=scores, log_partitions=np.zeros(4), positive=scores > 0, weights=np.ones(4))
    assert 1 < fitted(of).slope < 100


def test_nothing_known_leaves_scores_as_they_are() -> None:
    nothing = np.zeros(0)
    of = Cases(
        scores=nothing, log_partitions=nothing, positive=nothing.astype(bool), weights=nothing
    )
    assert fitted(of) == Calibration()


@pytest.mark.parametrize(
    "change", [{"scores": np.nan}, {"log_partitions": np.inf}, {"weights": -1.0}]
)
def test_what_is_no_number_is_refused(change: dict[str, float]) -> None:
    wrong = {name: np.array([value]) for name, value in change.items()}
    with pytest.raises(ValueError, match="must be finite"):
        fitted(dataclasses.replace(drawn(1, seed=0), **wrong))


def test_losses_are_those_of_scikit_learn() -> None:
    of = drawn(200, seed=2)
    chances, positive, weights = expit(of.scores), of.positive, of.weights
    assert log_loss(chances, positive, weights) == pytest.approx(
        sklearn_log_loss(positive, chances, sample_weight=weights)
    )
    assert brier(chances, positive, weights) == pytest.approx(
        brier_score_loss(positive, chances, sample_weight=weights)
    )


@given(cases())
def test_the_calibration_error_is_at_most_the_largest_gap(of: Cases) -> None:
    chances, positive = expit(of.scores), of.positive
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
