"""Which workflows the task `links` asks about, and how links are judged (LE-8, RW-6)."""

import pytest

from pml.evaluation.measured import Mean
from pml.evaluation.tasks.links import LinksGivenNodes
from tests.evaluation.sequences import dataset, flow

TASK = LinksGivenNodes()


def test_workflows_of_the_test_splits_with_edges_are_asked_about() -> None:
    (problem,) = TASK.problems(
        dataset(
            flow("ab", None),
            flow("abc", [(0, 2)], split="test_x"),
            flow("ab", split="test_x"),
            flow("ba", None, split="test_y"),
            flow("bd", None, split="dev"),
        )
    )
    assert problem.question.nodes == (("a", "b", "c"), ("b", "a"))
    assert len(problem.question.train) == 1


def test_links_are_judged_case_by_case() -> None:
    (problem,) = TASK.problems(
        dataset(flow("abc", None, split="test"), flow("abd", [(0, 2)], split="test"))
    )
    found = problem.judge([frozenset({("a", "b")}), frozenset()]).metrics["F1"]
    assert isinstance(found, Mean)
    assert found.values == pytest.approx([2 / 3, 0])
    right = problem.judge([frozenset({("a", "b"), ("b", "c")}), frozenset({("a", "d")})])
    assert isinstance(right.metrics["F1"], Mean)
    assert right.metrics["F1"].values.tolist() == [1, 1]
    assert right.groups.tolist() == [0, 1]


def test_an_answer_for_each_case_is_needed() -> None:
    (problem,) = TASK.problems(dataset(flow("ab", None, split="test")))
    with pytest.raises(ValueError, match="expected 1 sets of links, one per case, got 0"):
        problem.judge([])


def test_without_links_there_is_no_problem() -> None:
    assert TASK.problems(dataset(flow("ab", None), flow("ab", split="test"))) == ()
    assert TASK.problems(dataset()) == ()
