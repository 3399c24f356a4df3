"""Columns of mean 0 and deviation 1, kept for nodes that come later."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.features.standardising import FARTHEST, Standardiser

SEEDS = st.integers(0, 10**6)


def values_of(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = rng.normal(rng.normal(), rng.random() + 0.1, size=(rng.integers(2, 30), 4))
    values[:, 3] = 0.3
    return values.astype(np.float32)


@given(seed=SEEDS)
def test_columns_have_mean_0_and_deviation_1(seed: int) -> None:
    values = values_of(seed)
    found = Standardiser.of(values)
    plain = (values - found.mean) / found.deviation
    assert plain.mean(axis=0) == pytest.approx(np.zeros(4), abs=1e-4)
    assert plain[:, :3].std(axis=0) == pytest.approx(np.ones(3), abs=1e-3)
    assert found.apply(values) == pytest.approx(np.clip(plain, -FARTHEST, FARTHEST))
    assert not plain[:, 3].any()


@given(seed=SEEDS, factor=st.floats(0.1, 10), shift=st.floats(-3, 3))
def test_units_do_not_count(seed: int, factor: float, shift: float) -> None:
    values = values_of(seed)
    scaled = (values * factor + shift).astype(np.float32)
    one, other = Standardiser.of(values).apply(values), Standardiser.of(scaled).apply(scaled)
    assert one[:, :3] == pytest.approx(other[:, :3], abs=1e-2)


def test_without_nodes_values_stay() -> None:
    found = Standardiser.of(np.zeros((0, 2), dtype=np.float32))
    assert found.apply(np.ones((1, 2), dtype=np.float32)).tolist() == [[1, 1]]


def test_what_is_very_far_is_cut() -> None:
    found = Standardiser.of(np.array([[0.0], [1.0]], dtype=np.float32))
    assert found.apply(np.array([[1e6]], dtype=np.float32)).tolist() == [[FARTHEST]]
