"""F1, precision and recall equal scikit-learn's, of any resample (RW-6)."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_score, recall_score

from pml.evaluation.overlap import f1, pooled_f1, precision, recall

SETS = st.frozensets(st.integers(0, 7))


@st.composite
def resamples(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What was said, what is gold, and which cases are drawn."""
    size = draw(st.integers(1, 12))
    said, gold = (
        np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)), dtype=np.float64)
        for _ in range(2)
    )
    drawn = draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=20))
    return said, gold, np.array(drawn, dtype=np.int64)


@given(found=SETS, gold=SETS)
def test_f1_of_sets_equals_that_of_their_members(
    found: frozenset[int], gold: frozenset[int]
) -> None:
    universe = range(8)
    expected = f1_score(
        [one in gold for one in universe], [one in found for one in universe], zero_division=0
    )
    assert f1(found, gold) == pytest.approx(expected)


@given(found=SETS, gold=SETS)
def test_f1_does_not_ask_which_set_is_which(found: frozenset[int], gold: frozenset[int]) -> None:
    assert f1(found, gold) == f1(gold, found)
    assert (f1(found, gold) == 1) == (found == gold != frozenset())


@settings(max_examples=40)  # scikit-learn takes 10 ms for its figures
@given(cases=resamples())
def test_pooled_figures_equal_those_of_the_oracle(
    cases: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    said, gold, drawn = cases
    of = gold[drawn], said[drawn]
    found = [metric(said, gold).of(drawn) for metric in (precision, recall, pooled_f1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it tells when there is nothing to divide by
        expected = [
            precision_score(*of, zero_division=np.nan),
            recall_score(*of, zero_division=np.nan),
            f1_score(*of, zero_division=0) if of[0].any() else np.nan,
        ]
    assert found == pytest.approx(expected, nan_ok=True)


def test_figures_without_anything_to_divide_by_are_not_numbers() -> None:
    none, some, drawn = np.zeros(2), np.array([1.0, 0.0]), np.arange(2)
    assert math.isnan(precision(none, some).of(drawn))
    assert math.isnan(recall(some, none).of(drawn))
    assert math.isnan(pooled_f1(some, none).of(drawn))
    assert pooled_f1(none, some).of(drawn) == 0
