"""What the tasks tools, capabilities and closure ask, by rules on the data set (RW-6)."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from pml.evaluation.dataset import Dataset, Tool, Workflow
from pml.evaluation.measured import Mean, Measured
from pml.evaluation.questions import Closure
from pml.evaluation.tasks import capabilities, closure, tools
from tests.evaluation.made import chain, made


def mean(found: Measured, name: str) -> float:
    metric = found.metrics[name]
    assert isinstance(metric, Mean)
    return float(np.nanmean(metric.values))


def workflow(number: int, split: str, *nodes: str, description: str | None = None) -> Workflow:
    return Workflow(
        id=f"w{number}",
        intent=f"intent {number}",
        nodes=nodes,
        split=split,
        description=description,
    )


def dataset(*workflows: Workflow, names: str = "abc") -> Dataset:
    return Dataset(
        name="x",
        tools=tuple(Tool(id=name, server="s", name=name) for name in names),
        workflows=workflows,
    )


def test_every_split_that_begins_with_test_is_asked_and_the_training_split_is_known() -> None:
    found = dataset(
        workflow(0, "train", "a"),
        workflow(1, "test_seen", "b"),
        workflow(2, "dev", "c"),
        workflow(3, "test", "c"),
    )
    (problem,) = tools.TASK.problems(found)
    assert problem.question.intents == ("intent 1", "intent 3")
    assert [one.id for one in problem.question.train] == ["w0"]


def test_a_set_without_a_split_for_training_is_asked_as_a_whole() -> None:
    found = dataset(workflow(0, "G1", "a"), workflow(1, "G2", "b"))
    (problem,) = tools.TASK.problems(found)
    assert problem.question.intents == ("intent 0", "intent 1")
    assert problem.question.train == ()


@pytest.mark.parametrize("task", [tools.TASK, capabilities.TASK, closure.TASK])
def test_a_set_that_lacks_what_a_task_needs_has_no_problem(
    task: tools.Tools | capabilities.Capabilities | closure.DependencyClosure,
) -> None:
    assert task.problems(dataset(names="")) == ()
    assert task.problems(dataset()) == ()
    assert task.problems(dataset(workflow(0, "train", "a"))) == ()


def test_a_perfect_answer_to_tools_reaches_one_and_tools_twice_in_a_workflow_count_once() -> None:
    found = dataset(workflow(0, "test", "a", "b", "a"), workflow(1, "test", "c"))
    (problem,) = tools.TASK.problems(found)
    answer = np.array([[1, 1, 0], [0, 0, 1]], np.float32)
    assert mean(problem.judge(answer), "nDCG10") == 1.0
    assert mean(problem.judge(1 - answer), "hit1") == 0.0


def test_gold_outside_the_catalogue_does_not_count() -> None:
    found = replace(
        dataset(workflow(0, "test", "a", "gone"), workflow(1, "test", "gone")),
        unknown_tools=frozenset({"gone"}),
    )
    (problem,) = tools.TASK.problems(found)
    metric = problem.judge(np.array([[1, 0, 0], [0, 0, 0]], np.float32)).metrics["R1"]
    assert isinstance(metric, Mean)
    np.testing.assert_array_equal(metric.values, [1.0, np.nan])


def test_a_capability_is_a_set_of_tools_of_training_whatever_their_order() -> None:
    asked = [workflow(100 + i, "test", "b", "a") for i in range(capabilities.LEAST_CASES)]
    found = dataset(
        workflow(0, "train", "a", "b"),
        workflow(1, "train", "c"),
        workflow(2, "train", "b", "a", "b"),
        workflow(3, "test", "a", "c"),
        *asked,
    )
    (problem,) = capabilities.TASK.problems(found)
    assert problem.label == "30 of 31 with a known set of tools"
    first, second = problem.question.candidates
    assert [tool.id for tool in first.tools] == ["a", "b"]
    assert first.past_intents == ("intent 0", "intent 2")
    assert second.past_intents == ("intent 1",)
    answer = np.tile(np.array([1, 0], np.float32), (30, 1))
    assert mean(problem.judge(answer), "hit1") == 1.0


def test_fewer_than_thirty_intents_with_a_known_set_are_no_problem() -> None:
    asked = [workflow(100 + i, "test", "a") for i in range(capabilities.LEAST_CASES - 1)]
    assert capabilities.TASK.problems(dataset(workflow(0, "train", "a"), *asked)) == ()


def test_descriptions_ask_for_their_workflow_among_all() -> None:
    described = [workflow(i, "dev", "a", "a", description=f"about {i}") for i in range(30)]
    found = dataset(workflow(99, "train", "gone"), *described)
    (problem,) = capabilities.TASK.problems(replace(found, unknown_tools=frozenset({"gone"})))
    assert problem.question.intents[0] == "about 0"
    assert [one.title for one in problem.question.candidates[:2]] == ["intent 99", "intent 0"]
    assert [len(one.tools) for one in problem.question.candidates[:2]] == [1, 2]
    answer = np.eye(31, dtype=np.float32)[1:]
    assert mean(problem.judge(answer), "hit1") == 1.0


@pytest.mark.parametrize("described", [False, True])
def test_capabilities_asked_for_by_workflows_of_one_main_tool_are_drawn_together(
    described: bool,
) -> None:
    mains = [f"m{i % 7}" if i % 2 else None for i in range(42)]
    asked = [
        replace(
            workflow(100 + i, "test", "a", description=f"about {i}" if described else None),
            main_tool=main,
        )
        for i, main in enumerate(mains)
    ]
    train = () if described else (workflow(0, "train", "a"),)
    (problem,) = capabilities.TASK.problems(dataset(*train, *asked))
    count = len(problem.question.candidates)
    groups = problem.judge(np.zeros((42, count), np.float32)).groups
    for (i, one), (j, other) in combinations(enumerate(mains), 2):
        assert (groups[i] == groups[j]) == (one is not None and one == other)


def test_a_closure_knows_no_workflow_for_the_tool_that_is_asked_for() -> None:
    every, test = closure.TASK.problems(chain(12))
    assert (every.label, test.label) == ("all", "test")
    workflows = chain(12).workflows
    for asked, known in zip(workflows, every.question.known, strict=True):
        assert asked.main_tool not in {one.main_tool for one in known}
        assert len(known) > len(workflows) / 2
    assert {one.split for known in test.question.known for one in known} == {"train"}
    assert len(set(map(id, every.question.known))) == closure.FOLDS


def test_the_right_closure_reaches_one_and_cases_of_one_main_tool_are_drawn_together() -> None:
    found = chain()
    twice = replace(found.workflows[0], id="again")
    found = replace(found, workflows=(*found.workflows, twice))
    every, _ = closure.TASK.problems(found)
    answers = [Closure(ranking=one.nodes, chosen=frozenset(one.nodes)) for one in found.workflows]
    measured = every.judge(answers)
    assert mean(measured, "mAP10") == mean(measured, "exact_set") == 1.0
    assert measured.groups[0] == measured.groups[-1]
    assert len(set(measured.groups.tolist())) == len(found.workflows) - 1


def test_made_data_gives_each_problem() -> None:
    (tool_problem,) = tools.TASK.problems(made())
    (capability_problem,) = capabilities.TASK.problems(made())
    assert len(tool_problem.question.intents) == 80
    assert len(capability_problem.question.candidates) == 12
