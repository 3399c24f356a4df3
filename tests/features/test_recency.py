"""Recency (LE-5): decayed sums kept at one moment equal the sums over all uses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.features.recency import HALF_LIFE_MS, Uses, decayed

MOMENTS = st.lists(st.integers(0, 10 * HALF_LIFE_MS), max_size=10)


def uses_at(moments: list[int]) -> Uses:
    uses = Uses()
    for moment in moments:
        uses = uses.used(moment)
    return uses


@given(moments=MOMENTS, later=st.integers(0, 5 * HALF_LIFE_MS))
def test_activity_is_the_sum_over_all_uses(moments: list[int], later: int) -> None:
    now = max(moments, default=0) + later
    expected = sum(0.5 ** ((now - moment) / HALF_LIFE_MS) for moment in moments)
    assert uses_at(moments).activity(now) == pytest.approx(expected)


@given(moments=MOMENTS)
def test_the_order_in_which_uses_are_told_does_not_count(moments: list[int]) -> None:
    one, other = uses_at(moments), uses_at(moments[::-1])
    assert one.last_ms == other.last_ms
    assert one.sum == pytest.approx(other.sum)


@given(moments=MOMENTS.filter(bool), later=st.integers(0, 5 * HALF_LIFE_MS))
def test_recency_is_that_of_the_latest_use(moments: list[int], later: int) -> None:
    now = max(moments) + later
    assert uses_at(moments).recency(now) == pytest.approx(0.5 ** (later / HALF_LIFE_MS))


def test_what_was_never_used_has_no_recency() -> None:
    assert (Uses().recency(10**13), Uses().activity(10**13)) == (0, 0)


def test_a_use_in_the_future_counts_as_now() -> None:
    assert Uses().used(1_000).recency(0) == 1
    assert decayed(-5.0) == 1


def test_a_use_of_the_age_of_the_world_is_no_error() -> None:
    assert Uses().used(0).recency(2**62) == 0


@pytest.mark.parametrize("half_life", [0.0, -1.0, float("nan")])
def test_a_half_life_that_is_none_is_refused(half_life: float) -> None:
    with pytest.raises(ValueError, match="half-life"):
        decayed(1.0, half_life)
