"""What is asked about is the same each time (RW-6)."""

from hypothesis import given
from hypothesis import strategies as st

from pml.evaluation.splits import held_out, sampled, shuffled
from tests.evaluation.sequences import dataset, flow


@given(count=st.integers(0, 60), most=st.integers(1, 40))
def test_a_sample_has_what_is_asked_for_and_nothing_twice(count: int, most: int) -> None:
    items = list(range(count))
    found = sampled(items, most=most)
    assert len(found) == min(count, most)
    assert len(set(found)) == len(found)
    assert set(found) <= set(items)
    assert found == sampled(items, most=most)


def test_a_set_that_is_small_enough_stays_as_it_is() -> None:
    assert sampled("abc", most=3) == ("a", "b", "c")


@given(count=st.integers(0, 60))
def test_shuffling_loses_nothing_and_is_the_same_each_time(count: int) -> None:
    items = list(range(count))
    assert sorted(shuffled(items)) == items
    assert shuffled(items) == shuffled(items)


def test_shuffling_mixes() -> None:
    assert shuffled(range(100)) != tuple(range(100))


def test_dev_and_the_tests_are_held_out_in_the_order_of_the_file() -> None:
    splits = ["train", "test_b", "dev", "test_b", "other", "test_a", "devices"]
    flows = [flow("ab", split=split, key=str(at)) for at, split in enumerate(splits)]
    assert held_out(dataset(*flows)) == ("test_b", "dev", "test_a")
