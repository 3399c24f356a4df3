"""Answers that are none are refused by what was expected, before a judge sees them (RW-6)."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pml.cli.render_evaluation import render_evaluation
from pml.domain.evaluation import Evaluation
from pml.evaluation.answers import cases, check
from pml.evaluation.page import page
from pml.evaluation.questions import Closure, Plan
from pml.evaluation.registry import find
from pml.evaluation.run import evaluate
from pml.evaluation.sample.errands import errands
from pml.evaluation.task import Problem
from pml.evaluation.work import Order
from tests.evaluation.folders import write
from tests.evaluation.guessing import written

SAMPLE = errands()
PROBLEMS: dict[str, Problem[Any, Any]] = {
    task.name: task.problems(SAMPLE)[0] for task in find().tasks
}
NUMBERS = ("tools", "capabilities", "provides", "outcomes", "runs")
LISTS = ("next", "plans", "links", "closure")


def shape(task: str) -> tuple[int, ...]:
    """Of right answers."""
    question = PROBLEMS[task].question
    n = cases(question)
    assert n is not None
    columns = {"tools": "tools", "capabilities": "candidates"}
    return (n, len(getattr(question, columns[task]))) if task in columns else (n,)


def test_every_question_of_ours_is_checked() -> None:
    assert {*NUMBERS, *LISTS} == set(PROBLEMS)
    for task, problem in PROBLEMS.items():
        with pytest.raises(ValueError, match="expected"):
            check(problem.question, object())
        assert cases(problem.question) == shape(task)[0]


def _put(value: float) -> Callable[[np.ndarray], Any]:
    def put(answers: np.ndarray) -> np.ndarray:
        answers[(2,) + (0,) * (answers.ndim - 1)] = value
        return answers

    return put


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda answers: answers.tolist(), "got list ["),
        (lambda answers: {0: answers[0]}, "got dict {"),
        (lambda answers: answers[:-1], "got shape "),
        (lambda answers: answers[..., None], "got shape ("),
        (lambda answers: answers.astype(str), "got an array of <U"),
        (_put(np.nan), "got nan at [2"),
        (_put(np.inf), "got inf at [2"),
        (_put(-np.inf), "got -inf at [2"),
    ],
)
@pytest.mark.parametrize("task", NUMBERS)
def test_numbers_are_arrays_of_the_right_shape_and_finite(
    task: str, spoil: Callable[[np.ndarray], Any], said: str
) -> None:
    right = np.full(shape(task), 0.5)
    check(PROBLEMS[task].question, right.copy())

    with pytest.raises(ValueError, match="expected a numpy array of finite numbers") as caught:
        check(PROBLEMS[task].question, spoil(right.copy()))

    assert f"of shape {shape(task)}, got" in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize("chance", [-0.1, 1.1])
def test_chances_are_from_0_to_1(chance: float) -> None:
    answers = np.full(shape("outcomes"), 0.5)
    answers[3] = chance

    with pytest.raises(ValueError, match=rf"from 0 to 1, got {chance} at \[3\]"):
        check(PROBLEMS["outcomes"].question, answers)


@dataclass(frozen=True)
class Of:
    """What fits one case of a task, and what does not."""

    right: Sequence[Any]
    wrong: Sequence[Any]


A_PLAN = Plan(nodes=("a", "b"), links=(("a", "b"),))
A_CLOSURE = Closure(ranking=("a",), chosen=None)


def _spoiled(record: Plan | Closure, **parts: object) -> Plan | Closure:
    """As nobody checks types in use, while beartype does here."""
    spoiled = copy(record)
    for name, value in parts.items():
        object.__setattr__(spoiled, name, value)
    return spoiled


OF = {
    "next": Of([["a", "b"], (), ("a",)], [None, "a", {"a"}, [1], 3]),
    "plans": Of(
        [A_PLAN],
        [("a",), None, "a", _spoiled(A_PLAN, nodes=(1,)), _spoiled(A_PLAN, links=(("a",),))],
    ),
    "links": Of([{("a", "b")}, frozenset()], [[("a", "b")], {"ab"}, {("a", "b", "c")}, None]),
    "closure": Of(
        [A_CLOSURE, Closure(ranking=(), chosen=frozenset("a"))],
        [("a",), None, _spoiled(A_CLOSURE, ranking="ab"), _spoiled(A_CLOSURE, chosen=("a",))],
    ),
}


@pytest.mark.parametrize("task", LISTS)
def test_lists_hold_an_answer_of_the_right_kind_per_case(task: str) -> None:
    question, (n,) = PROBLEMS[task].question, shape(task)
    for right in OF[task].right:
        check(question, [right] * n)
        with pytest.raises(ValueError, match=f"for each of {n} .*, got {n - 1} answers"):
            check(question, [right] * (n - 1))
    for wrong in OF[task].wrong:
        answers = [*[OF[task].right[0]] * (n - 1), wrong]
        with pytest.raises(ValueError, match=rf"got {type(wrong).__name__} .* at \[{n - 1}\]"):
            check(question, answers)


def test_a_question_of_ones_own_is_left_to_its_judge() -> None:
    check([1, 2], "anything")
    assert cases([1, 2]) is None


LISTING = """
class Lists:
    name = "lists"
    task = "tools"

    def answers(self, question):
        return [[0.0] * len(question.tools)] * len(question.intents)
"""


def _asked(tmp_path: Path, method: str) -> Evaluation:
    order = Order(
        folders=(write(tmp_path / "set"),),
        tasks=("tools",),
        methods=("lists",),
        method_files=written(tmp_path, lists=method),
    )
    return evaluate(order, processes=1, on_progress=lambda _: None)


def test_a_method_that_answers_lists_has_a_row_that_says_what_was_expected(tmp_path: Path) -> None:
    (problem,) = _asked(tmp_path, LISTING).problems

    assert str(problem.methods[0].error).startswith(
        "ValueError: expected a numpy array of finite numbers, a row per intent, of shape (1, 3), "
        "got list [[0.0, 0.0, 0.0]] (answers.py:"
    )


def test_a_problem_whose_methods_all_failed_has_its_cases(tmp_path: Path) -> None:
    found = _asked(tmp_path, LISTING)

    shown = render_evaluation(found, width=100)
    assert "set: Intent to tools, 1 case\n  lists failed: " in shown
    assert '<div class="small">1 case</div>' in page(found)
