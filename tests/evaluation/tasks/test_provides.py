"""Which pairs the task `provides` asks about, and how answers are judged (SA-10, RW-6)."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.evaluation.dataset import Dataset, Dependency, Workflow
from pml.evaluation.measured import Statistic
from pml.evaluation.tasks.provides import TASK, ProvidesProblem
from tests.evaluation.sequences import NAMES, dataset, flow, graphs

Pair = tuple[str, str]


def schemed(*workflows: Workflow) -> Dataset:
    """With an input schema, so that there is something to ask."""
    found = dataset(*workflows)
    first = replace(found.tools[0], input_schema={"properties": {"x": {}}})
    return replace(found, tools=(first, *found.tools[1:]))


def asked(problem: ProvidesProblem) -> list[Pair]:
    return [(a.id, b.id) for a, b in problem.question.pairs]


def gold(problem: ProvidesProblem) -> set[Pair]:
    """The pairs that the judge takes for right, found one by one."""
    precision = problem.judge(np.ones(len(problem.question.pairs))).metrics["precision"]
    assert isinstance(precision, Statistic)
    return {pair for at, pair in enumerate(asked(problem)) if precision.of(np.array([at])) == 1}


@given(drawn=st.lists(graphs(), max_size=4))
def test_pairs_are_those_of_the_definition(drawn: list[tuple[str, list[tuple[int, int]]]]) -> None:
    flows = [flow(*graph, key=str(at)) for at, graph in enumerate(drawn)]
    together = {(a, b) for one in flows for a in one.nodes for b in one.nodes if a != b}
    linked = {link for one in flows for link in one.links if link[0] != link[1]}
    found = {problem.label: problem for problem in TASK.problems(schemed(*flows))}
    if linked:
        assert sorted(asked(found["all"])) == sorted(together)
        assert gold(found["all"]) == linked
    else:
        assert not found


def test_pairs_of_training_are_not_unseen() -> None:
    every, unseen = TASK.problems(
        schemed(flow("ab", None), flow("abc", None, split="test"), flow("cd", None, split="dev"))
    )
    assert (every.label, unseen.label) == ("all", "unseen")
    assert asked(unseen) == sorted(set(asked(every)) - {("a", "b"), ("b", "a")})
    assert gold(unseen) == {("b", "c"), ("c", "d")}


def test_of_dependencies_only_those_of_parameters_are_gold() -> None:
    def needs(provider: str, consumer: str, kind: str) -> Dependency:
        return Dependency(provider=provider, consumer=consumer, type=kind)

    found = replace(
        schemed(flow("abc", None)),
        dependencies=(
            needs("a", "b", "PARAMETER_DIRECTLY_DEPENDS_ON"),
            needs("b", "c", "TOOL_DIRECTLY_DEPENDS_ON"),
            needs("a", "f", "PARAMETER_DIRECTLY_DEPENDS_ON"),
        ),
    )
    (problem,) = TASK.problems(found)
    assert gold(problem) == {("a", "b")}
    assert asked(problem) == [("a", "b"), ("a", "c"), ("b", "a"), ("c", "a"), ("c", "b")]


def test_dependencies_of_tools_alone_leave_edges_to_say_it() -> None:
    found = replace(
        schemed(flow("ab", None)),
        dependencies=(Dependency(provider="b", consumer="a", type="TOOL_DEPENDS_ON"),),
    )
    (problem,) = TASK.problems(found)
    assert gold(problem) == {("a", "b")}
    assert asked(problem) == [("a", "b"), ("b", "a")]


def test_pairs_with_one_consumer_are_one_group() -> None:
    (problem,) = TASK.problems(schemed(flow("abc", None)))
    groups = problem.judge(np.ones(6)).groups.tolist()
    assert groups == [NAMES.index(b) for _, b in asked(problem)]


def test_half_is_yes() -> None:
    (problem,) = TASK.problems(schemed(flow("ab", None)))  # a to b is right, b to a is not
    metrics = problem.judge(np.array([0.5, 0.49])).metrics
    values = {
        name: one.of(np.arange(2)) for name, one in metrics.items() if isinstance(one, Statistic)
    }
    assert values == {"F1": 1, "precision": 1, "recall": 1}


@pytest.mark.parametrize("answers", [np.ones(1), np.array([1.0, np.nan])])
def test_a_number_for_each_pair_is_needed(answers: np.ndarray) -> None:
    (problem,) = TASK.problems(schemed(flow("ab", None)))
    with pytest.raises(ValueError, match=r"expected .* number"):
        problem.judge(answers)


def test_unknown_tools_are_in_no_pair() -> None:
    (problem,) = TASK.problems(schemed(flow("abz", None)))
    assert asked(problem) == [("a", "b"), ("b", "a")]


def test_without_schemas_or_links_there_is_no_problem() -> None:
    assert TASK.problems(dataset(flow("ab", None))) == ()
    assert list(TASK.problems(schemed(flow("ab")))) == []
