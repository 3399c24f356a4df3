"""Methods of `next` and `plans` against brute force, and with little or odd training (LE-8)."""

import math
from collections import Counter
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pml.evaluation.methods import next_counts, next_intent, plan_ordered, plan_paths
from pml.evaluation.methods.plan_copy import PlanCopy
from pml.evaluation.plan_parts import Size, Transitions, best, chain, likeliest, plan_parts
from pml.evaluation.ppm import Ppm
from pml.evaluation.questions import NextQuestion, Plan, PlansQuestion, Point
from tests.evaluation.sequences import NAMES, SEQUENCES, flow, tools

PREFIXES = st.lists(st.text("abcx", min_size=1, max_size=4), min_size=1, max_size=3)
NEXT: tuple[Any, ...] = (
    *next_counts.METHODS,
    next_intent.MarkovTimesIntent(),
    next_intent.UnusedByIntent(),
)
PLANS: tuple[Any, ...] = (PlanCopy(), *plan_ordered.METHODS, *plan_paths.METHODS)


def next_question(sequences: list[str], prefixes: list[str], names: str = NAMES) -> NextQuestion:
    return NextQuestion(
        tools=tools(names),
        train=tuple(map(tuple, sequences)),
        points=tuple(Point(prefix=tuple(prefix), intent="the tool b") for prefix in prefixes),
    )


@given(sequences=SEQUENCES, prefixes=PREFIXES)
def test_rankings_name_nothing_twice_and_come_for_each_point(
    sequences: list[str], prefixes: list[str]
) -> None:
    question = next_question(sequences, prefixes)
    for method in NEXT:
        rankings = method.answers(question)
        assert rankings is not None
        assert len(rankings) == len(prefixes)
        assert all(len(set(ranking)) == len(ranking) for ranking in rankings)


@given(sequences=SEQUENCES)
def test_popularity_ranks_by_count_then_by_who_came_first(sequences: list[str]) -> None:
    text = "".join(sequences)
    counts = Counter(text)
    (ranking,) = next_counts.Popularity().answers(next_question(sequences, ["a"]))
    assert list(ranking) == sorted(counts, key=lambda tool: (-counts[tool], text.index(tool)))


@given(sequences=SEQUENCES, prefixes=PREFIXES)
def test_contexts_rank_by_chance_then_by_count_then_by_id(
    sequences: list[str], prefixes: list[str]
) -> None:
    question = next_question(sequences, prefixes)
    for order in (0, 1, 3):
        method = next_counts.AfterContext(name="any", order=order)
        ppm = Ppm(sequences, order=order)
        for prefix, ranking in zip(prefixes, method.answers(question), strict=True):
            chances = dict(zip(ppm.symbols, ppm.chances(prefix).tolist(), strict=True))
            place = {symbol: at for at, symbol in enumerate(ppm.symbols)}
            assert list(ranking) == sorted(chances, key=lambda s: (-chances[s], place[s]))


def test_the_intent_decides_between_tools_that_came_equally_often() -> None:
    question = next_question(["ab", "ac"], ["a"])
    (ranking,) = next_intent.MarkovTimesIntent().answers(question)
    assert ranking[0] == "b"
    assert set(ranking) == set(NAMES)


def test_tools_that_were_called_already_do_not_serve_the_intent_again() -> None:
    first, again = next_intent.UnusedByIntent().answers(next_question(["ab"], ["a", "ab"]))
    assert first[0] == "b"
    assert again[0] != "b"


def test_tools_that_the_catalogue_lacks_are_ranked_by_counts_alone() -> None:
    question = next_question(["xa", "xb"], ["x"], names="ab")
    (ranking,) = next_counts.AfterContext(name="markov1", order=1).answers(question)
    assert set(ranking) == set("abx")
    (ranking,) = next_intent.MarkovTimesIntent().answers(question)
    assert set(ranking) == set("ab")


def plans_question(train: list[str], intents: list[str], size: int = 2) -> PlansQuestion:
    return PlansQuestion(
        tools=tools(),
        train=tuple(
            flow(nodes, None, intent=f"tool {' '.join(nodes)}", key=str(at))
            for at, nodes in enumerate(train)
        ),
        intents=tuple(intents),
        sizes=(size,) * len(intents),
    )


def test_the_plan_of_the_nearest_intent_is_copied_whole() -> None:
    question = plans_question(["bcb", "de"], ["tool e please", "tool c"])
    assert PlanCopy().answers(question) == [
        Plan(nodes=("d", "e"), links=(("d", "e"),)),
        Plan(nodes=("b", "c", "b"), links=(("b", "c"), ("c", "b"))),
    ]


def test_plans_need_training() -> None:
    assert all(method.answers(plans_question([], ["x"])) is None for method in PLANS)


@pytest.mark.parametrize("method", PLANS, ids=lambda method: method.name)
def test_every_method_plans_for_intents_that_nothing_fits(method: PlanCopy) -> None:
    plans = method.answers(plans_question(["abc", "bd"], ["zzz", "", "tool b d"], size=5))
    assert plans is not None
    assert len(plans) == 3
    assert all(set(plan.nodes) <= set(NAMES) for plan in plans)


@pytest.mark.parametrize("method", plan_paths.METHODS + plan_ordered.METHODS)
def test_only_a_method_named_after_it_reads_the_size(
    method: plan_paths.ShortestPath | plan_ordered.OrderedTools,
) -> None:
    small, large = (plans_question(["abc", "bd"], ["tool b"], size=size) for size in (1, 4))
    differ = method.answers(small) != method.answers(large)
    assert differ == method.name.endswith("oracle k")


@given(counts=st.lists(st.text("abc", min_size=2, max_size=2), max_size=8))
def test_transitions_are_counted_and_smoothed(counts: list[str]) -> None:
    transitions = Transitions([flow(pair, None, key=str(at)) for at, pair in enumerate(counts)])
    for a, b in permutations("abc", 2):
        seen, total = counts.count(a + b), sum(pair[0] == a for pair in counts)
        assert transitions.count(a, b) == seen
        assert transitions.log_chance(a, b) == pytest.approx(math.log((seen + 0.01) / (total + 1)))


@given(size=st.integers(1, 5), chains=st.lists(st.text("abcde", min_size=2), max_size=5))
def test_no_order_is_likelier_than_the_likeliest(size: int, chains: list[str]) -> None:
    transitions = Transitions([flow(nodes, None, key=str(at)) for at, nodes in enumerate(chains)])

    def chance(order: tuple[str, ...]) -> float:
        return sum(transitions.log_chance(a, b) for a, b in pairwise(order))

    found = tuple(likeliest("abcde"[:size], transitions))
    assert sorted(found) == list("abcde"[:size])
    assert chance(found) == pytest.approx(max(map(chance, permutations("abcde"[:size]))))


def test_more_than_five_tools_stay_as_they_were_retrieved() -> None:
    transitions = Transitions([flow("fedcba", None)])
    assert tuple(likeliest("abcdef", transitions)) == tuple("abcdef")


GAINS = arrays(np.float64, 5, elements=st.floats(-5, 0)).map(lambda row: -np.sort(-row))
STEPS = arrays(np.float64, (5, 5), elements=st.floats(-5, 0))


@given(gains=GAINS, steps=STEPS, size=st.integers(1, 3))
def test_a_beam_wider_than_all_paths_finds_the_best(
    gains: np.ndarray, steps: np.ndarray, size: int
) -> None:
    """Of 5 tools there are 20 paths of two: all stay in the beam, so that of three none is lost."""

    def worth(path: tuple[int, ...]) -> float:
        return float(gains[list(path)].sum() + sum(steps[a, b] for a, b in pairwise(path)))

    found = tuple(plan_paths.beam(gains, steps, size))
    assert len(set(found)) == size
    assert worth(found) == pytest.approx(max(map(worth, permutations(range(5), size))))


@given(gains=GAINS, steps=STEPS, size=st.integers(1, 9))
def test_a_path_visits_nothing_twice_and_ends_when_all_is_visited(
    gains: np.ndarray, steps: np.ndarray, size: int
) -> None:
    found = plan_paths.beam(gains, steps, size)
    assert len(found) == len(set(found)) == min(size, 5)


def test_a_path_through_nothing_is_empty() -> None:
    assert plan_paths.beam(np.zeros(0), np.zeros((0, 0)), 3) == []


def test_the_voted_size_is_that_of_most_similar_plans() -> None:
    question = plans_question(["abc", "abd", "ef"], ["tool a b", "tool e"])
    parts = plan_parts(question)
    assert parts.sizes(Size.VOTED, question) == (3, 2)
    assert parts.sizes(Size.TWO, question) == (2, 2)
    assert parts.sizes(Size.ORACLE, question) == question.sizes


@given(
    scores=arrays(np.float32, 6, elements=st.sampled_from([0.0, 0.5, 1.0])), most=st.integers(0, 8)
)
def test_the_best_are_none_worse_than_the_rest(scores: np.ndarray, most: int) -> None:
    chosen = best(scores, most)
    rest = np.delete(scores, chosen)
    assert len(chosen) == min(most, 6)
    assert np.all(np.diff(scores[chosen]) <= 0)
    assert not len(chosen) or np.all(rest <= scores[chosen].min())


def test_a_chain_links_each_tool_to_the_next() -> None:
    assert chain("abc") == Plan(nodes=("a", "b", "c"), links=(("a", "b"), ("b", "c")))
    assert chain("") == Plan(nodes=(), links=())
