"""The gate (LE-5): a model serves only where it beats the fallback on held-back traces.

Pass rates are counted over fixed seeds; that 400 true nulls pass more than 32 times happens for 1
in 100 choices of seeds.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from jaxtyping import Float64
from sklearn.metrics import ndcg_score

from pml.learning.gate import ALPHA, LEAST_INTENTS, gate, ndcg

QUALITIES = arrays(np.float64, st.integers(0, 60), elements=st.floats(0, 1))


@given(QUALITIES)
def test_equal_scores_never_pass(qualities: Float64[np.ndarray, " queries"]) -> None:
    verdict = gate(qualities, qualities.copy(), np.arange(len(qualities)), seed=0)
    assert not verdict.passes
    assert verdict.p == 1


@given(QUALITIES, st.integers(0, 9))
def test_who_is_never_better_never_passes(
    qualities: Float64[np.ndarray, " queries"], seed: int
) -> None:
    worse = qualities * np.random.default_rng(seed).random(len(qualities))
    assert not gate(worse, qualities, np.arange(len(qualities)), seed=0).passes


def test_labels_that_are_permuted_pass_about_as_often_as_is_said() -> None:
    rng = np.random.default_rng(0)
    passed = 0
    for seed in range(400):
        pair = rng.random((40, 2))  # which of the two is the model's is arbitrary
        passed += gate(pair[:, 0], pair[:, 1], np.arange(40), seed=seed).passes
    assert passed <= 32  # 20 are expected


def test_queries_of_one_intent_are_one_piece_of_evidence() -> None:
    """Thirty intents of a coin each, asked a hundred times."""
    rng = np.random.default_rng(1)
    passed = 0
    for seed in range(400):
        groups = np.repeat(np.arange(30), 100)
        passed += gate(rng.random(30)[groups], rng.random(30)[groups], groups, seed=seed).passes
    assert passed <= 32


def test_a_better_model_passes() -> None:
    rng = np.random.default_rng(2)
    fallback = rng.uniform(0.3, 0.7, 100)
    verdict = gate(fallback + rng.normal(0.1, 0.2, 100), fallback, np.arange(100), seed=0)
    assert verdict.passes
    assert verdict.p <= ALPHA
    assert verdict.model > verdict.fallback
    assert verdict.intents == 100


@pytest.mark.parametrize("intents", [0, 1, LEAST_INTENTS - 1])
def test_few_traces_or_none_leave_the_fallback(intents: int) -> None:
    verdict = gate(np.ones(intents), np.zeros(intents), np.arange(intents), seed=0)
    assert not verdict.passes
    assert verdict.intents == intents


def test_just_as_many_intents_as_are_needed_may_pass() -> None:
    verdict = gate(
        np.ones(LEAST_INTENTS), np.zeros(LEAST_INTENTS), np.arange(LEAST_INTENTS), seed=0
    )
    assert verdict.passes


def test_queries_without_an_answer_are_not_judged() -> None:
    model = np.array([1.0, np.nan, 0.5])
    verdict = gate(model, np.array([0.0, np.nan, 0.0]), np.array([0, 1, 0]), seed=0)
    assert (verdict.model, verdict.fallback, verdict.intents) == (0.75, 0.0, 1)


@given(st.integers(1, 30), st.integers(1, 9), st.integers(0, 99))
def test_ndcg_is_that_of_scikit_learn_with_ties_too(n: int, different: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, different, size=(1, n + 1)) + rng.normal()
    wanted = np.flatnonzero(rng.random(n + 1) < 0.3)
    if not len(wanted):
        wanted = np.array([0])
    truth = np.zeros((1, n + 1))
    truth[0, wanted] = 1
    assert ndcg(scores, [wanted])[0] == pytest.approx(ndcg_score(truth, scores, k=10))


def test_queries_of_unknown_answer_have_no_ndcg() -> None:
    assert np.isnan(ndcg(np.zeros((1, 3)), [np.array([], dtype=np.int64)])[0])


def test_to_break_the_fallbacks_ties_at_random_is_no_merit() -> None:
    rng = np.random.default_rng(3)
    passed = 0
    for seed in range(200):
        fallback = rng.integers(0, 4, size=(40, 30)) / 4
        served = [np.array([rng.choice(30, p=(row + 0.1) / (row + 0.1).sum())]) for row in fallback]
        model = fallback + 1e-3 * rng.random(fallback.shape)
        both = ndcg(model, served), ndcg(fallback, served)
        passed += gate(*both, np.arange(40), seed=seed).passes
    assert passed <= 18  # as seldom as more than 32 of 400
