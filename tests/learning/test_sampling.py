"""Sampled candidates (LE-5): what is kept for sure, and the correction for what is drawn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.learning.folds import Targets
from pml.learning.sampling import Candidates, candidates_for
from pml.models.inputs import Queries

NONE = np.zeros(0, dtype=np.int64)


def queries(candidates: int, *, asked: int = 2, seed: int = 0) -> Queries:
    rng = np.random.default_rng(seed)
    return Queries(
        vectors=np.zeros((asked, 1), np.float32),
        evidence=rng.uniform(size=(asked, candidates, 2)).astype(np.float32),
        stats=np.zeros((asked, 0), np.float32),
    )


TARGETS = Targets(
    positives=(np.array([3]), NONE),
    failed=(NONE, np.array([5])),
    served=np.array([True, False]),
    weights=np.ones(2, np.float32),
    sources=("a", "b"),
    groups=np.arange(2),
)


def chosen(candidates: int, *, hard: int, sampled: int, seed: int) -> Candidates:
    return candidates_for(
        queries(candidates),
        TARGETS,
        np.arange(2),
        hard=hard,
        sampled=sampled,
        rng=np.random.default_rng(seed),
    )


@given(st.integers(6, 40), st.integers(0, 50), st.integers(1, 50), st.integers(0, 99))
def test_what_is_known_and_what_is_hard_is_always_there(
    candidates: int, hard: int, sampled: int, seed: int
) -> None:
    found = chosen(candidates, hard=hard, sampled=sampled, seed=seed)
    assert np.all(np.diff(found.places) > 0)
    total = queries(candidates).evidence.sum(axis=2)
    best = np.argsort(-total, axis=1)[:, :hard].ravel()
    sure = found.places[found.log_q == 0]
    assert {3, 5, *best.tolist()} <= set(found.places.tolist())
    if candidates > sampled:
        assert len(found.places) <= 2 + 2 * hard + sampled
        assert {3, 5, *best.tolist()} <= set(sure.tolist())
    else:
        assert len(sure) == candidates


def test_the_sum_over_a_sample_is_that_over_all_on_average() -> None:
    """Mean of 4,000 draws, whose standard error is about a percent."""
    weights = np.random.default_rng(1).exponential(size=30)
    found = [chosen(30, hard=2, sampled=6, seed=seed) for seed in range(4_000)]
    sums = [float((weights[one.places] / np.exp(one.log_q)).sum()) for one in found]
    assert np.mean(sums) == pytest.approx(weights.sum(), rel=0.02)
