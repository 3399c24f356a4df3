"""Which intents the task `plans` asks about, and how plans are judged (LE-8, RW-6)."""

from collections.abc import Sequence

import numpy as np
import pytest

from pml.evaluation.measured import Mean
from pml.evaluation.questions import Plan
from pml.evaluation.splits import MOST_ASKED
from pml.evaluation.tasks.plans import PlansOfIntents, PlansProblem
from tests.evaluation.sequences import dataset, flow

TASK = PlansOfIntents()
TWO = dataset(
    flow("ab", None),
    flow("abc", None, split="test_x", intent="one"),
    flow("ca", split="test_y", intent="two"),
    flow("cd", split="dev", intent="three"),
)


def only(found: Sequence[PlansProblem]) -> PlansProblem:
    (problem,) = found
    return problem


def plan(nodes: str, *links: str) -> Plan:
    return Plan(nodes=tuple(nodes), links=tuple((link[0], link[1]) for link in links))


def values(plans: Sequence[Plan], metric: str) -> list[float]:
    found = only(TASK.problems(TWO)).judge(plans).metrics[metric]
    assert isinstance(found, Mean)
    return list(map(float, found.values))


def test_the_intents_of_all_test_splits_are_asked_about() -> None:
    problem = only(TASK.problems(TWO))
    assert problem.question.intents == ("one", "two")
    assert problem.question.sizes == (3, 2)
    assert [workflow.split for workflow in problem.question.train] == ["train"]


def test_the_right_plan_is_right_in_everything() -> None:
    plans = [plan("abc", "ab", "bc"), plan("ac")]
    assert values(plans, "nodeF1") == [1, 1]
    assert values(plans, "linkF1") == pytest.approx([1, np.nan], nan_ok=True)
    assert values(plans, "acc") == [1, 1]


def test_plans_are_judged_by_tools_and_by_links_apart() -> None:
    plans = [plan("abd", "ab", "bd"), plan("aaac", "ca")]
    assert values(plans, "nodeF1") == pytest.approx([2 / 3, 1])
    assert values(plans, "linkF1") == pytest.approx([1 / 2, np.nan], nan_ok=True)
    assert values(plans, "acc") == [0, 1]


def test_a_link_the_other_way_is_another() -> None:
    assert values([plan("abc", "ba", "cb"), plan("ca")], "linkF1")[0] == 0


def test_no_plan_is_wrong() -> None:
    assert values([plan(""), plan("")], "nodeF1") == [0, 0]
    assert values([plan(""), plan("")], "acc") == [0, 0]


def test_a_plan_for_each_intent_is_needed() -> None:
    with pytest.raises(ValueError, match="expected 2 plans, one per intent, got 1"):
        only(TASK.problems(TWO)).judge([plan("a")])


def test_cases_of_one_main_tool_are_one_group() -> None:
    flows = [
        flow("ab", None, split="test", main_tool=tool, key=key)
        for key, tool in (("1", "a"), ("2", "b"), ("3", "a"), ("4", None))
    ]
    problem = only(TASK.problems(dataset(flow("ab", None), *flows)))
    assert problem.judge([plan("")] * 4).groups.tolist() == [0, 1, 0, 2]


def test_a_sample_of_many_intents_is_asked_about() -> None:
    flows = [flow("ab", None, split="test", key=str(at)) for at in range(MOST_ASKED + 5)]
    problem = only(TASK.problems(dataset(flow("ab", None), *flows)))
    assert len(problem.question.intents) == MOST_ASKED


def test_sets_without_training_or_links_are_no_problem() -> None:
    assert TASK.problems(dataset(flow("ab", None, split="test"))) == ()
    assert TASK.problems(dataset(flow("ab", None), flow("ab", split="test"))) == ()
    assert TASK.problems(dataset(flow("ab", None))) == ()
