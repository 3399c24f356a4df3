"""Numbers of groups: by size, and the same as before where the group is the same."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pml.features.labels import aligned, compact

LABELS = st.lists(st.integers(-1, 6), min_size=10, max_size=10).map(np.array)


def partition(labels: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == one).tolist()) for one in set(labels.tolist())}


@given(labels=LABELS)
def test_compact_numbers_change_no_group(labels: np.ndarray) -> None:
    numbered = compact(labels)
    assert partition(numbered) == partition(labels)
    assert ((numbered < 0) == (labels < 0)).all()
    sizes = np.bincount(numbered[numbered >= 0])
    assert (sizes > 0).all()
    assert (np.diff(sizes) <= 0).all()


@given(labels=LABELS, previous=LABELS)
def test_aligned_numbers_change_no_group(labels: np.ndarray, previous: np.ndarray) -> None:
    assert partition(aligned(labels, previous)) == partition(labels)


@given(previous=LABELS, turn=st.permutations(range(7)))
def test_groups_that_stayed_keep_their_numbers(previous: np.ndarray, turn: list[int]) -> None:
    renamed = np.array([turn[one] if one >= 0 else -1 for one in previous.tolist()])
    assert (aligned(renamed, previous) == previous).all()


def test_the_larger_part_of_a_split_group_keeps_its_number() -> None:
    previous = np.array([4, 4, 4, 4, 4, 1])
    assert aligned(np.array([0, 0, 7, 7, 7, 9]), previous).tolist() == [0, 0, 4, 4, 4, 1]


def test_groups_of_new_nodes_get_numbers_that_were_not_used() -> None:
    assert aligned(np.array([0, 1, 2]), np.array([0, 2, -1])).tolist() == [0, 2, 1]


def test_nothing_has_no_numbers() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    assert compact(nothing).tolist() == aligned(nothing, nothing).tolist() == []
