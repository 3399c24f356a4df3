"""A matrix that grows and shrinks holds what a list would (LE-5)."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pml.models.growing import GrowingRows


@given(st.integers(0, 5), st.lists(st.integers(-1, 400), max_size=300))
def test_it_is_a_list_whose_last_takes_the_place_of_one_that_leaves(
    rows: int, steps: list[int]
) -> None:
    first = np.arange(rows * 2, dtype=np.float32).reshape(rows, 2)
    grown, expected = GrowingRows(first), [row.tolist() for row in first]
    for number, step in enumerate(steps):
        if step % 3 and expected:
            place = step % len(expected)
            grown.drop(place)
            last = expected.pop()
            if place < len(expected):
                expected[place] = last
        else:
            grown.append(np.array([number, -number], np.float32))
            expected.append([number, -number])
    assert grown.values.tolist() == expected


def test_rows_are_copied_to_a_larger_buffer_only_now_and_then() -> None:
    grown = GrowingRows(np.zeros((100, 3), np.float32))
    buffers = set()
    for _ in range(1000):
        grown.append(np.zeros(3, np.float32))
        buffers.add(grown.values.__array_interface__["data"][0])
    assert len(buffers) <= 4
