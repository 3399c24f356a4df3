"""The replay buffer against a list (LE-3); distributions are tested with fixed seeds.

A statistical test fails for 1 in 1,000 seeds where nothing is wrong; the seeds here passed.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from scipy import stats

from pml.errors import EmptyReplayError, SavedStateError
from pml.learning.replay import ReplayBuffer, ReplayConfig, annealed_beta
from pml.learning.replay_state import loaded, saved

CHANCE = 1e-3
KEYS = st.lists(st.integers(0, 15), max_size=6)
ERRORS = st.floats(-1e6, 1e6)
SEEDS = st.integers(0, 2**32 - 1)


def buffer_of(errors: list[float], **config: float) -> ReplayBuffer[int]:
    """With keys 0, 1, 2..."""
    buffer: ReplayBuffer[int] = ReplayBuffer(ReplayConfig(capacity=len(errors), **config))
    buffer.add(range(len(errors)), np.array(errors))
    return buffer


class Model(RuleBasedStateMachine):
    """Beside the buffer a list of what is in it, the oldest first."""

    @initialize(capacity=st.integers(1, 9), alpha=st.sampled_from([0.0, 0.6, 1.0]))
    def start(self, capacity: int, alpha: float) -> None:
        self.config = ReplayConfig(capacity=capacity, alpha=alpha)
        self.buffer: ReplayBuffer[int] = ReplayBuffer(self.config)
        self.items: list[tuple[int, float]] = []
        self.largest = 1.0

    def rewrite(self, key: int, error: float) -> None:
        self.items = [(k, abs(error) if k == key else e) for k, e in self.items]

    @rule(keys=KEYS, data=st.data(), with_errors=st.booleans())
    def add(self, keys: list[int], data: st.DataObject, with_errors: bool) -> None:
        errors = [self.largest] * len(keys)
        if with_errors:
            errors = data.draw(st.lists(ERRORS, min_size=len(keys), max_size=len(keys)))
        gone = []
        for key in keys:
            if key not in dict(self.items):
                if len(self.items) == self.config.capacity:
                    gone.append(self.items.pop(0)[0])
                self.items.append((key, math.nan))
        for key, error in zip(keys, errors, strict=True):
            self.seen(key, error)
        given_errors = np.array(errors, dtype=float) if with_errors else None
        assert self.buffer.add(keys, given_errors) == tuple(gone)

    @rule(keys=KEYS, data=st.data())
    def refresh(self, keys: list[int], data: st.DataObject) -> None:
        errors = data.draw(st.lists(ERRORS, min_size=len(keys), max_size=len(keys)))
        for key, error in zip(keys, errors, strict=True):
            self.seen(key, error)
        self.buffer.refresh(keys, np.array(errors, dtype=float))

    def seen(self, key: int, error: float) -> None:
        if key in dict(self.items):
            self.rewrite(key, error)

    @rule(keys=KEYS)
    def discard(self, keys: list[int]) -> None:
        there = {key for key in keys if key in dict(self.items)}
        self.items = [(key, error) for key, error in self.items if key not in there]
        assert self.buffer.discard(keys) == len(there)

    @rule(seed=SEEDS, beta=st.floats(0, 1))
    def draw(self, seed: int, beta: float) -> None:
        rng = np.random.default_rng(seed)
        if not self.items:
            with pytest.raises(EmptyReplayError):
                self.buffer.draw(4, beta=beta, rng=rng)
            return
        batch = self.buffer.draw(4, beta=beta, rng=rng)
        weight = {k: (e + self.config.epsilon) ** self.config.alpha for k, e in self.items}
        drawn = np.array([weight[key] for key in batch.keys])
        np.testing.assert_allclose(batch.probabilities, drawn / sum(weight.values()))
        np.testing.assert_allclose(batch.weights, (drawn / min(weight.values())) ** -beta)

    @rule()
    def save_and_load(self) -> None:
        self.buffer = loaded(saved(self.buffer), self.config, int)

    @invariant()
    def it_holds_what_the_list_holds(self) -> None:
        assert self.buffer.keys == tuple(key for key, _ in self.items)
        assert self.buffer.errors.tolist() == [error for _, error in self.items]
        assert len(self.buffer) == len(self.items) <= self.config.capacity
        assert all((key in self.buffer) == (key in dict(self.items)) for key in range(16))
        self.largest = max(self.largest, *self.buffer.errors, self.buffer.largest_error)
        assert self.buffer.largest_error == self.largest


TestModel = Model.TestCase


def test_keys_are_drawn_as_their_errors_say() -> None:
    buffer = buffer_of([0.0, 0.05, 0.1, 0.5, 0.9, 1.0])
    rng = np.random.default_rng(1)
    single = [buffer.draw(1, beta=0, rng=rng).keys[0] for _ in range(4_000)]
    expected = (np.array([0.0, 0.05, 0.1, 0.5, 0.9, 1.0]) + 0.01) ** 0.6
    expected *= len(single) / expected.sum()
    assert stats.chisquare(np.bincount(single, minlength=6), expected).pvalue > CHANCE


@given(errors=st.lists(st.floats(0, 1), min_size=1, max_size=30), seed=SEEDS)
def test_a_key_is_drawn_about_as_often_as_it_should_be(errors: list[float], seed: int) -> None:
    buffer = buffer_of(errors)
    batch = buffer.draw(1_000, beta=0, rng=np.random.default_rng(seed))
    counts = np.bincount(np.array(batch.keys), minlength=len(errors))
    # Of each slice one draw: a key that covers x slices is drawn more than x - 2 times, and
    # less than x + 2.
    assert np.all(np.abs(counts - 1_000 * buffer.probabilities) < 2)


def test_with_beta_one_weighted_draws_estimate_the_plain_mean() -> None:
    rng = np.random.default_rng(2)
    errors = rng.random(500)
    values = errors**2 + rng.random(500)  # what surprises is larger: the unweighted mean is off
    buffer = buffer_of(errors.tolist())
    means, unweighted = [], []
    for _ in range(400):
        batch = buffer.draw(64, beta=1, rng=rng)
        drawn = values[np.array(batch.keys)]
        # The weights are divided by the largest, (N min P)^-1.
        means.append((batch.weights * drawn).mean() / (500 * buffer.probabilities.min()))
        unweighted.append(drawn.mean())
    assert stats.ttest_1samp(means, values.mean()).pvalue > CHANCE
    assert stats.ttest_1samp(unweighted, values.mean()).pvalue < CHANCE


@pytest.mark.parametrize(("beta", "share"), [(0.0, 1 / 1.6), (0.5, 1 / 1.3), (1.0, 1.0)])
def test_what_priorities_do_to_a_probability_has_a_closed_form(beta: float, share: float) -> None:
    """Its log odds come to rest at 1 / (1 + alpha (1 - beta)) of the true ones."""
    outcomes = (np.arange(200) >= 30).astype(float)  # succeeds in 85 of 100
    buffer = buffer_of([1.0] * 200, epsilon=1e-6)
    rng = np.random.default_rng(3)
    value, values = 0.5, []
    for _ in range(1_500):
        batch = buffer.draw(32, beta=beta, rng=rng)
        errors = outcomes[np.array(batch.keys)] - value
        scale = batch.weights / batch.weights.mean()
        value += 0.02 * float((scale * errors).mean())
        buffer.refresh(batch.keys, errors)
        values.append(value)
    reached = np.mean(values[500:])
    expected = 1 / (1 + (30 / 170) ** share)
    assert reached == pytest.approx(expected, abs=0.01)  # 0.85 is 0.10 and 0.06 off the first two


def test_beta_goes_from_two_fifths_to_one() -> None:
    assert [annealed_beta(step, 4) for step in range(5)] == pytest.approx([0.4, 0.6, 0.8, 1, 1])
    assert annealed_beta(0, 1) == 0.4
    assert annealed_beta(1, 0) == 1


@pytest.mark.parametrize(
    "config",
    [
        {"capacity": 0},
        {"capacity": 1, "alpha": -0.1},
        {"capacity": 1, "alpha": math.nan},
        {"capacity": 1, "epsilon": 0},
        {"capacity": 1, "epsilon": math.nan},
    ],
)
def test_a_configuration_that_makes_no_sense_is_refused(config: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expected"):
        ReplayConfig(**config)  # type: ignore[arg-type]


@pytest.mark.parametrize("error", [math.nan, math.inf, -math.inf, 1e308])
def test_a_refused_error_changes_nothing(error: float) -> None:
    buffer = buffer_of([0.1, 0.2])
    before = saved(buffer)
    with pytest.raises(ValueError, match="errors up to"):
        buffer.add([7, 8], np.array([0.5, error]))
    with pytest.raises(ValueError, match="errors up to"):
        buffer.refresh([0, 1], np.array([0.5, error]))
    with pytest.raises(ValueError, match="expected 2"):
        buffer.refresh([0, 1], np.array([0.5]))
    assert saved(buffer) == before


@pytest.mark.parametrize("beta", [-0.1, 1.1, math.nan])
def test_beta_lies_between_nothing_and_all(beta: float) -> None:
    with pytest.raises(ValueError, match="beta"):
        buffer_of([1.0]).draw(1, beta=beta, rng=np.random.default_rng(0))


def test_a_smaller_buffer_loads_the_newest() -> None:
    state = saved(buffer_of([0.1, 0.2, 0.3]))
    smaller = loaded(state, ReplayConfig(capacity=2), int)
    assert (smaller.keys, smaller.errors.tolist()) == ((1, 2), [0.2, 0.3])


GOOD = b'{"form":1,"largest_error":1.0,"keys":["a","b"],"errors":[0.5,0.25]}'


def test_a_saved_state_has_this_form() -> None:
    buffer = loaded(GOOD, ReplayConfig(capacity=2), str)
    assert saved(buffer) == GOOD
    assert dict(zip(buffer.keys, buffer.errors, strict=True)) == {"a": 0.5, "b": 0.25}


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ((b'"form":1', b'"form":2'), "form 1, found 2"),
        ((b'"b"', b'"a"'), "keys that differ"),
        ((b'"b"', b"2"), "keys of type str"),
        ((b'"b"', b"null"), r"keys\[1\]"),
        ((b"0.25", b"-0.25"), "errors of 0 and more"),
        ((b"0.25", b"1e307"), "at least the others"),
        ((b"0.25", b"1e999"), "out of range"),
        ((b"0.25", b'"x"'), r"errors\[1\]"),
        ((b",0.25", b""), "expected 2 errors"),
        ((b"1.0", b"0.9"), "largest error"),
        ((b"1.0", b"null"), "largest_error"),
        ((b'"keys"', b'"names"'), "names"),
    ],
)
def test_a_damaged_state_is_told_and_not_loaded(damage: tuple[bytes, bytes], told: str) -> None:
    with pytest.raises(SavedStateError, match=told):
        loaded(GOOD.replace(*damage), ReplayConfig(capacity=2), str)


@given(length=st.integers(0, len(GOOD) - 1))
def test_a_state_that_was_cut_is_not_loaded(length: int) -> None:
    with pytest.raises(SavedStateError, match="saved state of the replay buffer"):
        loaded(GOOD[:length], ReplayConfig(capacity=2), str)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20, unique=True))
def test_without_the_least_probable_key_the_next_has_the_weight_one(errors: list[float]) -> None:
    """The largest weight is 1 as long as its key may be drawn, so steps do not shrink."""
    buffer = buffer_of(errors)
    buffer.discard([int(np.argmin(errors))])
    batch = buffer.draw(400, beta=1.0, rng=np.random.default_rng(0))
    assert batch.weights == pytest.approx(buffer.probabilities.min() / batch.probabilities)
