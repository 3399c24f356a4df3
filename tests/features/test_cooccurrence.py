"""Co-occurrence of tools in runs (LE-5): counts kept up equal counts made anew."""

import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.features.cooccurrence import MOST_TOGETHER, Cooccurrence

IDS = "abcde"
RUNS = st.lists(st.lists(st.sampled_from(IDS), max_size=4), max_size=12)


def counted(runs: list[list[str]]) -> Cooccurrence:
    counts = Cooccurrence()
    for run in runs:
        counts.add(run)
    return counts


def everything(counts: Cooccurrence) -> object:
    partners = {one: counts.partners(one) for one in IDS}
    return counts.runs, {one: counts.count(one) for one in IDS}, partners


@given(runs=RUNS)
def test_counts_are_those_of_the_runs(runs: list[list[str]]) -> None:
    counts = counted(runs)
    for one in IDS:
        assert counts.count(one) == sum(one in run for run in runs)
    for one, other in combinations(IDS, 2):
        both = sum(one in run and other in run for run in runs)
        assert counts.together(one, other) == counts.together(other, one) == both


@given(runs=RUNS, gone=RUNS)
def test_what_is_taken_out_leaves_no_trace(runs: list[list[str]], gone: list[list[str]]) -> None:
    counts = counted([*gone, *runs])
    for run in reversed(gone):
        counts.remove(run)
    assert everything(counts) == everything(counted(runs))


@given(runs=RUNS)
def test_npmi_is_symmetric_bounded_and_as_defined(runs: list[list[str]]) -> None:
    counts = counted(runs)
    for one, other in combinations(IDS, 2):
        value = counts.npmi(one, other)
        assert value == counts.npmi(other, one)
        assert -1 <= value <= 1
        both = counts.together(one, other)
        if 0 < both < len(runs):
            p, q, r = (n / len(runs) for n in (counts.count(one), counts.count(other), both))
            assert value == pytest.approx(math.log(r / (p * q)) / -math.log(r))


@pytest.mark.parametrize(
    ("runs", "value"),
    [
        ([["a", "b"], ["c"]], 1.0),
        ([["a", "b"]], 1.0),
        ([["a"], ["b"]], -1.0),
        ([["a", "b"], ["a"], ["b"], []], 0.0),
        ([["a"]], 0.0),
        ([], 0.0),
    ],
)
def test_npmi_tells_company_from_chance(runs: list[list[str]], value: float) -> None:
    assert counted(runs).npmi("a", "b") == pytest.approx(value)


def test_agreement_is_the_mean_over_the_context() -> None:
    counts = counted([["a", "b"], ["c"]])
    assert counts.agreement("a", ["b", "c", "a"]) == pytest.approx(0.0)
    assert counts.agreement("a", []) == 0


def test_frequency_grows_with_the_runs_that_used_it() -> None:
    counts = counted([["a", "b"], ["a"]])
    assert counts.frequency("a") == 1
    assert 0 < counts.frequency("b") < 1
    assert counts.frequency("c") == Cooccurrence().frequency("a") == 0


@pytest.mark.parametrize("run", [["c"], ["a", "c"], ["a", "e"]])
def test_a_run_that_was_not_added_cannot_be_taken_out(run: list[str]) -> None:
    counts = counted([["a", "b"], ["e"]])
    before = everything(counts)
    with pytest.raises(ValueError, match="no run with these was added"):
        counts.remove(run)
    assert everything(counts) == before


def test_pairs_of_a_huge_run_are_bounded() -> None:
    ids = [f"t{number:04}" for number in range(MOST_TOGETHER + 5)]
    counts = counted([ids])
    assert counts.count(ids[-1]) == 1
    assert counts.partners(ids[-1]) == {}
    assert len(counts.partners(ids[0])) == MOST_TOGETHER - 1
    counts.remove(ids)
    assert everything(counts) == everything(Cooccurrence())
