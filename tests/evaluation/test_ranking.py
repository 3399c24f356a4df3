"""Metrics of rankings: equal to scikit-learn and to brute force, and what they must not depend on.

LE-8, RW-6: the figures that methods are compared by.
"""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import label_ranking_average_precision_score, ndcg_score

from pml.evaluation.measured import Mean, Measured
from pml.evaluation.questions import Closure
from pml.evaluation.ranking import (
    METRICS,
    average_precision,
    best_first,
    gold_ranks,
    measured,
    measured_closures,
)

Case = tuple[list[float], set[int]]


def cases(*, distinct: bool = False, most: int = 9) -> st.SearchStrategy[Case]:
    """Scores of a few candidates, many of them equal unless distinct, and gold among them."""

    def of(size: int) -> st.SearchStrategy[Case]:
        scores = (
            st.permutations([float(score) for score in range(size)])
            if distinct
            else st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=size, max_size=size)
        )
        gold = st.sets(st.integers(0, size - 1), min_size=1)
        return st.tuples(scores.map(list), gold)

    return st.integers(1, most).flatmap(of)


def one(scores: Sequence[float], gold: set[int]) -> dict[str, float]:
    """All metrics of one case."""
    matrix = np.array([scores], np.float32)
    found = measured(matrix, [gold], np.zeros(1, np.int64), candidates=len(scores))
    return {name: value(found, name) for name in METRICS}


def value(found: Measured, name: str) -> float:
    metric = found.metrics[name]
    assert isinstance(metric, Mean)
    return float(metric.values[0])


def by_hand(scores: Sequence[float], gold: set[int]) -> dict[str, float]:
    """As floors.py computes them, from a sorted list."""
    shuffle = np.random.default_rng(0).permutation(len(scores))
    order = [int(i) for i in sorted(shuffle, key=lambda i: -scores[i])]
    hits = [place for place, candidate in enumerate(order) if candidate in gold]

    def gain(places: Sequence[int], depth: int) -> float:
        return sum(1 / math.log2(place + 2) for place in places if place < depth)

    return {
        "hit1": float(hits[0] == 0),
        **{f"R{k}": sum(hit < k for hit in hits) / len(gold) for k in (1, 3, 5, 10)},
        **{f"nDCG{k}": gain(hits, k) / gain(range(len(gold)), k) for k in (5, 10)},
        "MRR": 1 / (hits[0] + 1),
        "COMP5": float(hits[-1] < 5),
    }


@given(cases())
def test_every_metric_equals_its_definition_on_a_sorted_list(case: Case) -> None:
    assert one(*case) == pytest.approx(by_hand(*case))


@given(cases(distinct=True, most=12))
def test_ndcg_equals_scikit_learns(case: Case) -> None:
    scores, gold = case
    assume(len(scores) > 1)
    truth = np.array([[float(i in gold) for i in range(len(scores))]])
    found = one(scores, gold)
    assert found["nDCG5"] == pytest.approx(ndcg_score(truth, [scores], k=5))
    assert found["nDCG10"] == pytest.approx(ndcg_score(truth, [scores], k=10))


@given(cases(distinct=True))
def test_the_reciprocal_rank_of_a_single_gold_equals_scikit_learns_average_precision(
    case: Case,
) -> None:
    scores, gold = case
    wanted = min(gold)
    truth = np.array([[float(i == wanted) for i in range(len(scores))]])
    expected = label_ranking_average_precision_score(truth, [scores])
    assert one(scores, {wanted})["MRR"] == pytest.approx(expected)


@given(cases(distinct=True), st.randoms(use_true_random=False))
def test_the_order_in_which_a_file_lists_the_candidates_changes_nothing(
    case: Case, random: np.random.Generator
) -> None:
    scores, gold = case
    moved = list(range(len(scores)))
    random.shuffle(moved)
    renamed = [0.0] * len(scores)
    for old, new in enumerate(moved):
        renamed[new] = scores[old]
    assert one(renamed, {moved[i] for i in gold}) == one(scores, gold)


@given(cases(), st.integers(0, 8))
def test_a_higher_score_of_a_gold_candidate_lowers_no_metric(case: Case, which: int) -> None:
    scores, gold = case
    raised = list(scores)
    raised[sorted(gold)[which % len(gold)]] += 0.75
    before, after = one(scores, gold), one(raised, gold)
    assert all(after[name] >= before[name] - 1e-12 for name in METRICS)


@given(cases())
def test_scores_grown_by_the_same_monotone_function_measure_the_same(case: Case) -> None:
    scores, gold = case
    assert one([math.exp(score) for score in scores], gold) == one(scores, gold)


@given(cases())
def test_the_whole_order_agrees_with_the_places_of_the_gold(case: Case) -> None:
    scores, gold = case
    matrix = np.array([scores], np.float32)
    order = best_first(matrix)[0].tolist()
    assert sorted(order) == list(range(len(scores)))
    assert gold_ranks(matrix, [gold])[0].tolist() == sorted(order.index(i) for i in gold)


def test_scoring_everything_zero_is_no_better_than_chance_wherever_the_gold_stands() -> None:
    # 400 gold candidates, one per case: the mean reciprocal rank of chance is H(400) / 400.
    matrix = np.zeros((400, 400), np.float32)
    found = measured(matrix, [{i} for i in range(400)], np.arange(400), candidates=400)
    metric = found.metrics["MRR"]
    assert isinstance(metric, Mean)
    assert metric.values.mean() == pytest.approx(sum(1 / k for k in range(1, 401)) / 400)
    first_in_file = metric.values[:5]
    assert sorted(first_in_file, reverse=True) != first_in_file.tolist()


def test_gold_that_is_no_candidate_does_not_count_and_a_case_without_gold_has_no_value() -> None:
    found = measured(np.ones((2, 1), np.float32), [set(), {0}], np.arange(2), candidates=1)
    for name in METRICS:
        metric = found.metrics[name]
        assert isinstance(metric, Mean)
        assert np.isnan(metric.values[0])
        assert metric.values[1] == 1.0


def test_a_first_hit_after_the_thousandth_place_counts_as_none() -> None:
    scores = [float(-i) for i in range(1002)]
    assert one(scores, {999})["MRR"] == pytest.approx(1 / 1000)
    assert one(scores, {1000})["MRR"] == 0.0


@pytest.mark.parametrize("shape", [(1, 3), (2, 2), (0, 3)])
def test_scores_of_another_shape_are_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="expected"):
        measured(np.zeros(shape, np.float32), [{0}, {1}], np.arange(2), candidates=3)


def test_a_score_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        measured(np.full((1, 2), np.nan, np.float32), [{0}], np.zeros(1, np.int64), candidates=2)


@given(cases(distinct=True, most=14))
def test_average_precision_equals_its_sum_over_the_first_ten(case: Case) -> None:
    scores, gold = case
    ranking = [str(i) for i in np.argsort(scores)]
    wanted = {str(i) for i in gold}
    precisions = [
        sum(tool in wanted for tool in ranking[: place + 1]) / (place + 1)
        for place, tool in enumerate(ranking[:10])
        if tool in wanted
    ]
    found = average_precision(ranking, wanted)
    assert found == pytest.approx(sum(precisions) / min(10, len(wanted)))
    assert 0 <= found <= 1 + 1e-12


@given(st.sets(st.integers(0, 30), min_size=1, max_size=15))
def test_average_precision_is_one_where_gold_fills_the_first_places(gold: set[int]) -> None:
    ranking = [*map(str, sorted(gold)), "other", "another"]
    assert average_precision(ranking, set(map(str, gold))) == pytest.approx(1.0)


def test_a_short_ranking_is_measured_as_one_that_goes_on_with_wrong_tools() -> None:
    gold = {"a", "b", "c"}
    expected = average_precision(["a", "x", "b", "y"], gold)
    assert average_precision(["a", "x", "b"], gold) == expected
    assert average_precision([], gold) == 0.0


def test_a_tool_that_is_ranked_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        average_precision(["a", "a"], {"a"})


def test_a_closure_is_exact_only_with_all_of_the_gold_and_nothing_else() -> None:
    gold = frozenset({"a", "b"})
    chosen = [frozenset({"a", "b"}), frozenset({"a"}), frozenset({"a", "b", "c"}), None]
    answers = [Closure(ranking=("a",), chosen=one) for one in chosen]
    found = measured_closures(answers, [gold] * 4, np.arange(4))
    metric = found.metrics["exact_set"]
    assert isinstance(metric, Mean)
    np.testing.assert_array_equal(metric.values, [1, 0, 0, np.nan])


def test_closures_for_another_number_of_cases_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        measured_closures([], [frozenset({"a"})], np.zeros(1, np.int64))
