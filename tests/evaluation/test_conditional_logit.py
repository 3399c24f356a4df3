"""Conditional logit beside scikit-learn's logistic regression, and its first-order condition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from pml.evaluation.conditional_logit import fitted

SEEDS = st.integers(0, 2**32 - 1)


def made(seed: int, candidates: int) -> tuple[np.ndarray, np.ndarray]:
    """Random features of 30 choices, and what was chosen."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(30, candidates, 3)), rng.integers(0, candidates, 30)


@settings(max_examples=15)  # scikit-learn takes its time
@given(seed=SEEDS)
def test_of_two_candidates_it_is_logistic_regression_on_their_difference(seed: int) -> None:
    features, chosen = made(seed, 2)
    oracle = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-8)
    # Both directions of each choice, so that there are two classes; half the weight each.
    difference = features[:, 1] - features[:, 0]
    oracle.fit(
        np.concatenate([difference, -difference]),
        np.concatenate([chosen, 1 - chosen]),
        sample_weight=np.full(60, 0.5),
    )
    assert fitted(features, chosen, penalty=2.0) == pytest.approx(oracle.coef_[0], abs=1e-3)


@settings(max_examples=40)
@given(seed=SEEDS, candidates=st.integers(1, 5))
def test_what_is_expected_differs_from_what_was_chosen_by_the_penalty(
    seed: int, candidates: int
) -> None:
    features, chosen = made(seed, candidates)
    weights = fitted(features, chosen, penalty=1.5)
    chances = softmax(features @ weights, axis=1)
    expected = (chances[:, :, None] * features).sum(axis=(0, 1))
    observed = features[np.arange(30), chosen].sum(axis=0)
    assert observed - expected == pytest.approx(1.5 * weights, abs=2e-2)


def test_a_feature_that_every_choice_follows_counts_most() -> None:
    features, _ = made(1, 4)
    weights = fitted(features, features[:, :, 1].argmax(axis=1))
    assert weights[1] > 3 * np.abs(weights[[0, 2]]).max()


def test_without_choices_nothing_counts() -> None:
    assert fitted(np.zeros((0, 4, 3)), np.zeros(0, dtype=np.int64)).tolist() == [0, 0, 0]
