"""Which points the task `next` asks about, and how rankings are judged (LE-8, RW-6)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.evaluation.dataset import Dataset, Episode
from pml.evaluation.measured import Mean
from pml.evaluation.questions import Point
from pml.evaluation.tasks.next import SEEN_SHARE, TASK, NextProblem
from tests.evaluation.sequences import SEQUENCES, call, dataset, flow, tools


def only(found: Sequence[NextProblem]) -> NextProblem:
    (problem,) = found
    return problem


def values(problem: NextProblem, rankings: Sequence[str], metric: str) -> list[float]:
    found = problem.judge(rankings).metrics[metric]
    assert isinstance(found, Mean)
    return list(map(float, found.values))


TWO = dataset(
    flow("abc", None), flow("acb", None), flow("abd", split="test"), flow("ca", split="test")
)


def test_every_proper_prefix_of_a_held_out_workflow_is_a_point() -> None:
    problem = only(TASK.problems(TWO))
    assert problem.label == "test"
    assert [point.prefix for point in problem.question.points] == [("a",), ("a", "b"), ("c",)]
    assert problem.question.train == (("a", "b", "c"), ("a", "c", "b"))
    assert values(problem, ["b", "d", "a"], "acc1") == [1, 1, 1]


def test_splits_share_what_teaches_so_that_it_is_learned_once() -> None:
    flows = [flow("abc", None), flow("ab", split="dev"), flow("ac", split="test")]
    dev, test = TASK.problems(dataset(*flows))
    assert dev.question.train is test.question.train
    assert dev.question.past_intents is test.question.past_intents
    assert dev.question.tools is test.question.tools


def test_points_of_one_workflow_are_one_group() -> None:
    problem = only(TASK.problems(TWO))
    assert problem.judge(["", "", ""]).groups.tolist() == [0, 0, 1]


def test_points_of_one_main_tool_are_one_group() -> None:
    flows = [flow(nodes, split="test", main_tool="a", key=nodes) for nodes in ("ba", "ca", "da")]
    problem = only(TASK.problems(dataset(flow("abc", None), *flows)))
    assert problem.judge(["", "", ""]).groups.tolist() == [0, 0, 0]


def test_a_ranking_is_judged_by_where_the_first_right_tool_stands() -> None:
    problem = only(TASK.problems(TWO))
    rankings = ["acdeb", "d", "bc"]  # right are b, d, a
    assert values(problem, rankings, "acc1") == [0, 1, 0]
    assert values(problem, rankings, "hit3") == [0, 1, 0]
    assert values(problem, rankings, "hit5") == [1, 1, 0]
    assert values(problem, rankings, "MRR") == pytest.approx([1 / 5, 1, 0])


def test_an_answer_for_each_point_is_needed() -> None:
    with pytest.raises(ValueError, match="expected 3 rankings, one per point, got 2"):
        only(TASK.problems(TWO)).judge(["a", "b"])


@given(sequences=SEQUENCES)
def test_points_are_as_many_as_calls_after_the_first(sequences: list[str]) -> None:
    flows = [flow(nodes, split="test", key=str(at)) for at, nodes in enumerate(sequences)]
    problems = TASK.problems(dataset(flow("ab", None), flow("abc"), *flows))
    asked = sum(len(p.question.points) for p in problems if p.label == "test")
    assert asked == sum(max(len(nodes) - 1, 0) for nodes in sequences)


def test_each_split_that_is_held_out_is_a_problem() -> None:
    flows = [flow("ab", None, split=split) for split in ("train", "test_b", "dev", "test_a")]
    assert [problem.label for problem in TASK.problems(dataset(*flows))] == [
        "test_b",
        "dev",
        "test_a",
    ]


def test_graphs_are_asked_about_by_their_nodes_and_taught_by_their_paths() -> None:
    graph = [(0, 1), (0, 2), (1, 3), (2, 3)]
    problem = only(TASK.problems(dataset(flow("abcd", graph), flow("abcd", graph, split="test"))))
    assert problem.question.train == (("a", "b", "d"), ("a", "c", "d"))
    assert [point.prefix for point in problem.question.points] == [("a",), ("a", "b"), ("a", "c")]
    assert values(problem, ["c", "d", "d"], "acc1") == [1, 1, 1]
    assert values(problem, ["b", "b", "b"], "acc1") == [1, 0, 0]


def test_sets_of_tools_have_no_next_one() -> None:
    assert TASK.problems(dataset(flow("ab"), flow("abc"), flow("ab", split="test"))) == ()


def test_nothing_held_out_is_no_problem() -> None:
    assert TASK.problems(dataset(flow("ab", None))) == ()
    assert TASK.problems(dataset()) == ()
    assert TASK.problems(dataset(flow("ab", None), flow("a", split="test"))) == ()


def seen_problem(test: str, train: str = "ab") -> list[NextProblem]:
    flows = [flow(train, None, key=f"t{at}") for at in range(40)]
    held = flow(test, None, split="test")
    return [p for p in TASK.problems(dataset(*flows, held)) if p.label == "seen"]


def test_where_tests_are_of_new_tools_a_tenth_of_training_is_asked_about_too() -> None:
    problem = only(seen_problem("cd"))
    assert len(problem.question.points) == 40 // SEEN_SHARE
    assert len(problem.question.train) == 40 - 40 // SEEN_SHARE


def test_where_tests_are_of_known_tools_training_is_not_asked_about() -> None:
    assert seen_problem("abc") == []
    assert seen_problem("ac") == []  # one of two is not most


def test_a_training_split_whose_parts_share_no_tools_is_not_asked_about() -> None:
    flows = [replace(flow("ab", None, key=str(at)), nodes=(f"a{at}", f"b{at}")) for at in range(40)]
    found = TASK.problems(dataset(*flows, flow("cd", None, split="test")))
    assert [problem.label for problem in found] == ["test"]


def episodes(sequences: dict[str, str], *, task: str = "task {}") -> Dataset:
    """Episodes by id, each of a task of its own number."""
    return Dataset(
        name="made",
        tools=(*tools("abc", server="s"), *tools("xyz", server="t")),
        calls=tuple(
            call(key, step, tool)
            for key in sorted(sequences)
            for step, tool in enumerate(sequences[key])
        ),
        episodes=tuple(
            Episode(id=key, workflow_id=task.format(key), intent=f"do {key}") for key in sequences
        ),
    )


def test_without_training_the_last_three_tasks_of_each_ten_are_asked_about() -> None:
    problem = only(TASK.problems(episodes({str(at): "ab" for at in range(12)})))
    assert problem.label == "episodes"
    # In natural order task 9 comes before task 10.
    assert [point.intent for point in problem.question.points] == ["do 7", "do 8", "do 9"]
    assert len(problem.question.train) == 9


def test_episodes_of_one_task_are_on_one_side_and_one_group() -> None:
    found = episodes({f"{task}.{trial}": "ab" for task in range(10) for trial in "xyz"})
    merged = tuple(
        replace(each, workflow_id=f"task {each.id.split('.')[0]}") for each in found.episodes
    )
    problem = only(TASK.problems(replace(found, episodes=merged)))
    groups = problem.judge(["b"] * 9).groups
    assert np.unique(groups, return_counts=True)[1].tolist() == [3, 3, 3]
    asked = {point.intent.split(".")[0] for point in problem.question.points}
    assert asked == {"do 7", "do 8", "do 9"}


def test_tools_of_servers_that_no_episode_called_are_left_out() -> None:
    problem = only(TASK.problems(episodes({str(at): "ab" for at in range(10)})))
    assert [tool.id for tool in problem.question.tools] == ["a", "b", "c"]


def test_a_point_is_what_was_called_so_far_and_for_what() -> None:
    problem = only(TASK.problems(episodes({str(at): "abc" for at in range(8)})))
    assert problem.question.points == (
        Point(prefix=("a",), intent="do 7"),
        Point(prefix=("a", "b"), intent="do 7"),
    )


@given(count=st.integers(0, 7))
def test_too_few_tasks_are_no_problem(count: int) -> None:
    assert TASK.problems(episodes({str(at): "ab" for at in range(count)})) == ()
