"""Weights of evidence that depend on the query: what makes them the best, and what for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pml.evaluation.conditional_logit import fitted as conditional_logit
from pml.evaluation.gated_logit import fitted

SEEDS = st.integers(0, 2**32 - 1)


def made(seed: int, *, stats: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Evidence, stats, and one or two right candidates of each of 40 queries."""
    rng = np.random.default_rng(seed)
    right = np.zeros((40, 5), dtype=bool)
    right[np.arange(40), rng.integers(0, 5, 40)] = True
    right[np.arange(40), rng.integers(0, 5, 40)] = True
    evidence = rng.normal(size=(40, 5, 3)).astype(np.float32)
    return evidence, rng.random((40, stats)).astype(np.float32), right


@settings(max_examples=20)
@given(SEEDS)
def test_with_one_right_candidate_and_no_stats_it_is_conditional_logit(seed: int) -> None:
    evidence, stats, right = made(seed, stats=0)
    chosen = right.argmax(axis=1)
    right = np.eye(5, dtype=bool)[chosen]
    scale = evidence.std(axis=(0, 1)) + 1e-6
    oracle = conditional_logit((evidence / scale).astype(np.float64), chosen, penalty=2.0) / scale
    assert fitted(evidence, stats, right, penalty=2.0).base == pytest.approx(oracle, abs=1e-2)


@settings(max_examples=20)
@given(SEEDS)
def test_no_step_away_from_the_weights_makes_the_right_likelier(seed: int) -> None:
    evidence, stats, right = made(seed)
    found = fitted(evidence, stats, right, penalty=1e-3)

    def loss(step: np.ndarray) -> float:
        scores = found.scores(evidence, stats) + evidence @ step
        chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        return float(-np.log((chances * right).sum(axis=1)).sum())

    rng = np.random.default_rng(seed)
    for _ in range(5):
        assert loss(np.zeros(3)) <= loss(0.05 * rng.normal(size=3)) + 1e-2


@settings(max_examples=20)
@given(SEEDS)
def test_how_often_a_query_counts_adds_up(seed: int) -> None:
    evidence, stats, right = made(seed)
    parts = np.random.default_rng(seed).uniform(0, 3, (2, len(evidence)))
    once = fitted(evidence, stats, right, counts=parts.sum(axis=0))
    twice = fitted(
        *(np.concatenate([one, one]) for one in (evidence, stats, right)), counts=parts.ravel()
    )
    assert once.base == pytest.approx(twice.base, abs=4e-3)
    assert once.by_stats == pytest.approx(twice.by_stats, abs=4e-3)


def test_a_stat_decides_which_evidence_counts() -> None:
    rng = np.random.default_rng(0)
    evidence = rng.random((300, 4, 2)).astype(np.float32)
    stats = rng.integers(0, 2, (300, 1)).astype(np.float32)
    column = stats[:, 0].astype(np.int64)
    best = np.take_along_axis(evidence, column[:, None, None], axis=2)[:, :, 0].argmax(axis=1)
    found = fitted(evidence, stats, np.eye(4, dtype=bool)[best], penalty=0.1)
    assert (found.scores(evidence, stats).argmax(axis=1) == best).mean() > 0.9


def test_queries_without_a_right_candidate_count_for_nothing() -> None:
    evidence, stats, right = made(1)
    some = right.copy()
    some[20:] = False
    one, other = fitted(evidence, stats, some), fitted(evidence[:20], stats[:20], right[:20])
    assert one.base == pytest.approx(other.base)
    nothing = fitted(evidence, stats, np.zeros_like(right))
    assert not nothing.base.any()
    assert not nothing.by_stats.any()


@pytest.mark.parametrize("value", [1.0, -13.8])
def test_a_column_that_is_the_same_for_all_candidates_weighs_nothing(value: float) -> None:
    """The deviation of equal float32 numbers need not be 0 where it is added up in float32."""
    evidence, stats, right = made(2)
    evidence[:, :, 1] = value
    found, without = fitted(evidence, stats, right), fitted(evidence[:, :, [0, 2]], stats, right)
    assert not found.base[1]
    assert not found.by_stats[1].any()
    assert found.base[[0, 2]] == pytest.approx(without.base, abs=1e-3)
