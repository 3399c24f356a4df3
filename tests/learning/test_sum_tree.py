"""The sum tree against the obvious O(n) model: an array and its running sum."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.errors import EmptyReplayError
from pml.learning.sum_tree import Pyramid, SumTree

# From denormal to huge, and often exactly zero: the cases where rounding bites.
weights = st.one_of(st.just(0.0), st.floats(0, 1e12), st.floats(0, 1e-300))
weight_lists = st.lists(weights, min_size=1, max_size=40)


@st.composite
def update_batches(draw: st.DrawFn) -> tuple[int, list[list[tuple[int, float]]]]:
    """A capacity, and batches of (index, weight) that may repeat an index."""
    capacity = draw(st.integers(1, 40))
    pair = st.tuples(st.integers(0, capacity - 1), weights)
    return capacity, draw(st.lists(st.lists(pair, max_size=8), max_size=8))


def tree_of(values: list[float]) -> SumTree:
    tree = SumTree(len(values))
    tree.update(np.arange(len(values)), np.array(values))
    return tree


@given(update_batches())
def test_weights_are_the_last_ones_written(case: tuple[int, list[list[tuple[int, float]]]]) -> None:
    capacity, batches = case
    tree, model = SumTree(capacity), np.zeros(capacity)
    for batch in batches:
        for i, w in batch:
            model[i] = w
        tree.update(
            np.array([i for i, _ in batch], dtype=np.int64),
            np.array([w for _, w in batch], dtype=np.float64),
        )
    np.testing.assert_array_equal(tree.weights, model)
    assert tree.total == pytest.approx(model.sum(), rel=1e-12)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=40).filter(any))
def test_find_inverts_the_running_sum(values: list[int]) -> None:
    tree = tree_of([float(v) for v in values])  # small integers: sums are exact
    mass = np.arange(sum(values), dtype=np.float64)
    expected = np.searchsorted(np.cumsum(values), mass, side="right")
    np.testing.assert_array_equal(tree.find(mass), expected)


@given(weight_lists.filter(any), st.integers(0, 2**32 - 1))
def test_a_zero_weight_is_never_drawn(values: list[float], seed: int) -> None:
    tree = tree_of(values)
    drawn = tree.draw(64, np.random.default_rng(seed))
    top = tree.find(np.array([tree.total, np.nextafter(tree.total, 0)]))
    assert np.all(tree.weights[drawn] > 0)
    assert np.all(tree.weights[top] > 0)


def test_draw_follows_the_weights() -> None:
    tree = tree_of([1.0, 0.0, 3.0])
    counts = np.bincount(tree.draw(4000, np.random.default_rng(0)), minlength=3)
    np.testing.assert_array_equal(counts, [1000, 0, 3000])  # exact: draws are stratified


def test_drawing_from_nothing_is_an_error() -> None:
    with pytest.raises(EmptyReplayError):
        SumTree(3).draw(1, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("index", "weight"), [(-1, 1.0), (3, 1.0), (0, -1.0), (0, np.inf), (0, np.nan)]
)
def test_a_rejected_update_changes_nothing(index: int, weight: float) -> None:
    tree = tree_of([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="must"):
        tree.update(np.array([1, index]), np.array([9.0, weight]))
    assert tree.weights.tolist() == [1.0, 2.0, 3.0]


def test_a_sum_that_would_be_infinite_is_rejected() -> None:
    tree = tree_of([1.0, 2.0])
    tree.update(np.array([0, 1]), np.full(2, tree.largest))
    assert np.isfinite(tree.total)
    with pytest.raises(ValueError, match="must"):
        tree.update(np.array([0]), np.array([np.nextafter(tree.largest, np.inf)]))


@pytest.mark.parametrize("capacity", [0, -1])
def test_a_tree_has_room_for_something(capacity: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        SumTree(capacity)


@given(update_batches(), st.sampled_from([(np.add, 0.0, sum), (np.minimum, np.inf, min)]))
def test_each_parent_is_what_its_children_come_to(
    case: tuple[int, list[list[tuple[int, float]]]],
    operation: tuple[np.ufunc, float, Callable[[list[float]], float]],
) -> None:
    combine, neutral, fold = operation
    capacity, batches = case
    pyramid = Pyramid(capacity, combine, neutral)
    for batch in batches:
        index = np.array([i for i, _ in batch], dtype=np.int64)
        pyramid.set(index, np.array([w for _, w in batch], dtype=np.float64))
    for children, parents in pairwise(pyramid.levels):
        np.testing.assert_array_equal(parents, combine(children[::2], children[1::2]))
    assert pyramid.root == pytest.approx(fold(pyramid.values.tolist()), rel=1e-12)
