"""What the task `outcomes` shows of calls and hides, and how chances are judged (LE-8, RW-6)."""

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.evaluation.dataset import Call, Dataset
from pml.evaluation.measured import Mean, Statistic
from pml.evaluation.tasks.outcomes import TASK, OutcomesProblem
from tests.evaluation.sequences import call, tools

OUTCOMES = st.lists(st.lists(st.sampled_from([True, False, None]), max_size=4), max_size=8)


def recorded(outcomes: Sequence[Sequence[bool | None]]) -> Dataset:
    """A call per outcome, an episode per list."""
    calls = [
        call(f"e{episode}", step, "ab"[step % 2], ok)
        for episode, oks in enumerate(outcomes)
        for step, ok in enumerate(oks)
    ]
    return Dataset(name="made", tools=tools(), calls=tuple(calls))


def problem_of(outcomes: Sequence[Sequence[bool | None]]) -> OutcomesProblem:
    (problem,) = TASK.problems(recorded(outcomes))
    return problem


@given(outcomes=OUTCOMES)
def test_known_calls_are_taught_or_asked_about_by_episode(
    outcomes: list[list[bool | None]],
) -> None:
    dataset = recorded(outcomes)
    known = {one.episode_id for one in dataset.calls if one.ok is not None}
    found = TASK.problems(dataset)
    assert bool(found) == (len(known) >= 2)
    for problem in found:
        taught = {one.episode_id for one in problem.question.train}
        asked = {one.episode_id for one in problem.question.calls}
        assert taught | asked == known
        assert not taught & asked
        assert len(taught) == len(known) // 2
        assert list(problem.question.train) == [c for c in dataset.calls if c.episode_id in taught]
        assert len(problem.question.calls) == sum(
            one.ok is not None for one in dataset.calls if one.episode_id in asked
        )


@given(outcomes=OUTCOMES)
def test_a_method_sees_what_came_before_a_call_and_nothing_of_what_came_of_it(
    outcomes: list[list[bool | None]],
) -> None:
    dataset = recorded(outcomes)
    episodes: dict[str, list[Call]] = defaultdict(list)
    for one in dataset.calls:
        episodes[one.episode_id].append(one)
    for problem in TASK.problems(dataset):
        for one, before in zip(problem.question.calls, problem.question.before, strict=True):
            assert one.ok is None
            assert one.result is None
            assert one.arguments == {"x": one.step}
            assert list(before) == episodes[one.episode_id][: one.step]


def test_calls_of_one_episode_are_one_group() -> None:
    problem = problem_of([[True, False]] * 4)
    assert problem.judge(np.zeros(4)).groups.tolist() == [0, 0, 1, 1]


def test_true_chances_are_the_best() -> None:
    problem = problem_of([[True, False, True]] * 4)
    metrics = problem.judge(np.array([0.0, 1, 0] * 2)).metrics
    auc, brier, error = metrics["AUC"], metrics["brier"], metrics["ECE"]
    assert isinstance(auc, Statistic)
    assert isinstance(brier, Mean)
    assert isinstance(error, Statistic)
    assert auc.of(np.arange(6)) == 1
    assert brier.values.tolist() == [0] * 6
    assert error.of(np.arange(6)) == 0


def test_where_all_calls_came_out_the_same_there_is_no_auc() -> None:
    auc = problem_of([[True]] * 4).judge(np.zeros(2)).metrics["AUC"]
    assert isinstance(auc, Statistic)
    assert math.isnan(auc.of(np.arange(2)))


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([0.1], "expected 2 chances, one per call, got shape"),
        ([0.1, 1.1], "chances must be from 0 to 1"),
        ([0.1, math.nan], "chances must be from 0 to 1"),
    ],
)
def test_a_chance_for_each_call_is_needed(answers: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        problem_of([[True]] * 4).judge(np.array(answers))


def test_the_split_is_the_same_each_time() -> None:
    outcomes = [[True]] * 30
    first, second = problem_of(outcomes).question, problem_of(outcomes).question
    assert first.calls == second.calls
    assert first.calls != recorded(outcomes).calls[15:]
