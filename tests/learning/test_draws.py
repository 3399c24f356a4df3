"""Batches of traces (LE-3): each once, or by error with importance weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.learning.draws import Drawer
from pml.learning.training_config import Draws


@given(st.integers(1, 30), st.integers(1, 10), st.integers(0, 99))
def test_uniform_draws_bring_each_trace_once_per_pass(count: int, batch: int, seed: int) -> None:
    sources = [f"t{at}" for at in range(count)]
    drawer = Drawer(sources, {}, draws=Draws.UNIFORM, batch=batch)
    rng = np.random.default_rng(seed)
    for _ in range(2):
        drawn = [drawer.draw(beta=0.4, rng=rng) for _ in range(drawer.batches)]
        assert sorted(key for one in drawn for key in one.keys) == sorted(sources)
        assert all(len(one.keys) <= batch and np.all(one.weights == 1) for one in drawn)


def test_prioritised_draws_follow_the_errors_and_weights_undo_them() -> None:
    drawer = Drawer(["easy", "hard"], {"easy": 0.0}, draws=Draws.PRIORITISED, batch=2)
    rng = np.random.default_rng(0)
    drawn = [drawer.draw(beta=1.0, rng=rng) for _ in range(5_000)]
    keys = [key for one in drawn for key in one.keys]
    weights = np.concatenate([one.weights for one in drawn])
    hard = np.array([key == "hard" for key in keys])
    assert hard.mean() > 0.8
    assert weights[hard].sum() == pytest.approx(weights[~hard].sum(), rel=0.15)


def test_an_error_that_a_step_found_changes_the_draws() -> None:
    drawer = Drawer(["a", "b"], {}, draws=Draws.PRIORITISED, batch=2)
    drawer.refresh(["a"], np.array([0.0]))
    rng = np.random.default_rng(0)
    keys = [key for _ in range(200) for key in drawer.draw(beta=1.0, rng=rng).keys]
    assert keys.count("b") > 0.8 * len(keys)


def test_a_fold_without_traces_has_no_batches() -> None:
    assert Drawer([], {}, draws=Draws.UNIFORM, batch=4).batches == 0
