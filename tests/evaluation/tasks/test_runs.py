"""Which runs the task `runs` asks about, and how numbers are judged (LE-8, RW-6)."""

import math

import numpy as np
import pytest

from pml.evaluation.dataset import Dataset, Episode
from pml.evaluation.measured import Statistic
from pml.evaluation.methods.run_errors import FailedCalls
from pml.evaluation.tasks.runs import RunOutcomes
from tests.evaluation.sequences import call, tools

TASK = RunOutcomes()


def recorded(*rewards: float | None) -> Dataset:
    """An episode per reward; the one at place ``n`` has ``n`` failed calls and one that worked."""
    return Dataset(
        name="made",
        tools=tools(),
        calls=tuple(
            call(f"e{at}", step, "a", ok=step == at) for at in range(4) for step in range(at + 1)
        ),
        episodes=tuple(
            Episode(id=f"e{at}", workflow_id=f"w{at // 2}", intent="do it", reward=reward)
            for at, reward in enumerate(rewards)
        ),
    )


def test_all_runs_with_a_reward_are_asked_about_calls_and_all() -> None:
    (problem,) = TASK.problems(recorded(0.0, None, 1.0, 0.5, 1.0))
    assert [len(run) for run in problem.question.runs] == [1, 3, 4, 0]
    assert problem.question.runs[0][0].ok is True
    assert problem.judge(np.zeros(4)).groups.tolist() == [0, 1, 1, 2]


def test_less_than_the_full_reward_is_a_failure() -> None:
    (problem,) = TASK.problems(recorded(0.0, 1.0, 0.9))
    auc = problem.judge(np.array([0.7, 0.1, 0.2])).metrics["AUC"]
    assert isinstance(auc, Statistic)
    assert auc.of(np.arange(3)) == 1
    assert math.isnan(auc.of(np.array([0, 2])))


def test_failed_calls_are_counted() -> None:
    (problem,) = TASK.problems(recorded(0.0, 1.0, 1.0, 0.0, 1.0))
    assert FailedCalls().answers(problem.question).tolist() == [0, 1, 2, 3, 0]


@pytest.mark.parametrize("answers", [np.zeros(2), np.array([0.0, 0.0, math.nan])])
def test_a_number_for_each_run_is_needed(answers: np.ndarray) -> None:
    (problem,) = TASK.problems(recorded(0.0, 1.0, 0.9))
    with pytest.raises(ValueError, match=r"expected .* number"):
        problem.judge(answers)


def test_without_rewards_or_calls_there_is_no_problem() -> None:
    assert TASK.problems(recorded(None, None)) == ()
    assert TASK.problems(recorded()) == ()
