"""Sum tree and replay buffer against those of torchrl (LE-3)."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pml.learning.replay import ReplayBuffer, ReplayConfig
from pml.learning.sum_tree import SumTree
from tests.learning.torchrl_samplers import load

SIZE = 12
WEIGHTS = st.lists(st.floats(1e-3, 100), min_size=1, max_size=40)


@pytest.fixture(scope="module")
def torchrl_data() -> ModuleType:
    return load()


@given(weights=WEIGHTS, seed=st.integers(0, 2**32 - 1))
def test_a_sum_tree_finds_what_the_segment_tree_finds(
    torchrl_data: ModuleType, weights: list[float], seed: int
) -> None:
    rng, size = np.random.default_rng(seed), len(weights)
    ours = SumTree(size)
    theirs = torchrl_data.replay_buffers.samplers.prioritized.SumSegmentTreeFp64(size)
    for _ in range(3):
        index = rng.integers(0, size, 8)
        values = np.array(weights)[index]
        ours.update(index, values)
        theirs[torch.from_numpy(index)] = torch.from_numpy(values)
    assert ours.total == pytest.approx(theirs.query(0, size))
    mass = rng.uniform(0, ours.total, 32)
    found = theirs.scan_lower_bound(torch.from_numpy(mass)).numpy()
    np.testing.assert_array_equal(ours.find(mass), found)


@pytest.fixture(scope="module")
def storage(torchrl_data: ModuleType) -> Any:  # noqa: ANN401  # torchrl has no types
    """Full, of what does not matter."""
    storage = torchrl_data.LazyTensorStorage(SIZE)
    storage.set(range(SIZE), torch.arange(SIZE))
    return storage


@settings(max_examples=50)
@given(
    errors=st.lists(st.floats(0, 100), min_size=SIZE, max_size=SIZE),
    alpha=st.sampled_from([0.0, 0.6, 1.0]),
    beta=st.sampled_from([0.0, 0.4, 0.7, 1.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_probabilities_and_weights_are_those_of_torchrl(  # noqa: PLR0917  # drawn
    torchrl_data: ModuleType,
    storage: Any,  # noqa: ANN401
    errors: list[float],
    alpha: float,
    beta: float,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    config = ReplayConfig(capacity=SIZE, alpha=alpha)
    ours: ReplayBuffer[int] = ReplayBuffer(config)
    ours.add(range(SIZE))
    theirs = torchrl_data.PrioritizedSampler(
        SIZE, alpha=alpha, beta=beta, eps=config.epsilon, dtype=torch.double
    )
    theirs.update_priority(torch.arange(SIZE), torch.ones(SIZE, dtype=torch.double))
    keys = rng.permutation(SIZE)[: rng.integers(1, SIZE + 1)]
    theirs.update_priority(torch.from_numpy(keys), torch.tensor(errors, dtype=torch.double)[keys])
    ours.refresh(keys.tolist(), np.array(errors)[keys])
    weights = np.array([theirs._sum_tree[i] for i in range(SIZE)])
    np.testing.assert_allclose(ours.probabilities, weights / weights.sum())
    drawn, info = theirs.sample(storage, 64)
    batch = ours.draw(256, beta=beta, rng=rng)
    known = dict(zip(batch.keys, batch.weights, strict=True))
    pairs = zip(drawn.tolist(), info["priority_weight"].tolist(), strict=True)
    both = [(known[key], weight) for key, weight in pairs if key in known]
    assert both
    np.testing.assert_allclose([ours for ours, _ in both], [theirs for _, theirs in both])
