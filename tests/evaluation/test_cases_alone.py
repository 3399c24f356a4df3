"""Methods answer each case as if it were alone (LE-8).

All cases of a problem come in one question, and some tell what is right in others: a call's
history tells how earlier calls ended, a longer prefix which tool came next.  Nothing but this
test keeps a method from looking.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pytest

from pml.evaluation.dataset import Dataset
from pml.evaluation.registry import AnyMethod, find
from pml.evaluation.sample.errands import errands
from pml.evaluation.task import Problem

TOGETHER = 8
"""Cases of each problem that are asked about together: neighbours, which tell of each other."""
ALONE = (0, 5)
"""Those that are asked about alone, too."""
BY_CASE = ("intents", "sizes", "known", "points", "nodes", "pairs", "calls", "before", "runs")
"""What a question holds by case, if it has it."""
TAUGHT = 12
"""Learning more takes time, and is not what is asked here."""
PAST = 2
"""Past intents by candidate, for the same reason; still enough for SHGAT to be trained."""
ELSEWHERE = {"random"}
"""Draws scores for all cases from one generator; knows nothing, so that it can tell nothing."""
METHODS = [one for one in find().methods if one.name not in ELSEWHERE]

AnyProblem = Problem[Any, Any]
AnyQuestion: TypeAlias = Any
"""Each task has a type of its own."""


@pytest.fixture(scope="module")
def problems() -> dict[str, Sequence[AnyProblem]]:
    """Of the sample set, by task."""
    dataset: Dataset = errands()
    return {task.name: task.problems(dataset) for task in find().tasks}


def only(question: AnyQuestion, cases: Sequence[int]) -> AnyQuestion:
    """The question with these cases."""
    parts = {name: getattr(question, name) for name in BY_CASE if hasattr(question, name)}
    return replace(
        question, **{name: tuple(part[at] for at in cases) for name, part in parts.items()}
    )


def count(question: AnyQuestion) -> int:
    return len(next(getattr(question, name) for name in BY_CASE if hasattr(question, name)))


def taught(question: AnyQuestion) -> AnyQuestion:
    """The question with less to learn from."""
    parts: dict[str, Any] = {}
    if hasattr(question, "train"):
        parts["train"] = question.train[:TAUGHT]
        if hasattr(question, "points"):  # what goes with the training part one by one
            parts["past_intents"] = question.past_intents[:TAUGHT]
    if hasattr(question, "candidates"):
        parts["candidates"] = tuple(
            replace(one, past_intents=one.past_intents[:PAST]) for one in question.candidates
        )
    return replace(question, **parts)


def same(one: object, other: object) -> bool:
    """Whether two answers to a case agree, numbers up to rounding."""
    if isinstance(one, np.ndarray | np.floating | float):
        return bool(np.allclose(one, np.asarray(other), rtol=1e-4, atol=1e-5))
    return bool(one == other)


def told_apart(method: AnyMethod, problem: AnyProblem) -> Iterable[int]:
    """Cases that the method answers otherwise if it sees them alone."""
    question = taught(problem.question)
    first = int(np.random.default_rng(0).integers(count(question) - TOGETHER))
    together = only(question, range(first, first + TOGETHER))
    among = method.answers(together)
    if among is None:
        return
    for case in ALONE:
        alone = method.answers(only(together, [case]))
        if alone is None or not same(among[case], alone[0]):
            yield case


@pytest.mark.parametrize("method", METHODS, ids=lambda one: f"{one.task}: {one.name}")
def test_a_case_is_answered_alone_as_among_all(
    method: AnyMethod, problems: dict[str, Sequence[AnyProblem]]
) -> None:
    for problem in problems[method.task]:
        assert list(told_apart(method, problem)) == [], problem.label


class Peeks:
    """Reads in the histories of later calls how the calls that are asked about ended."""

    name = "peeks"
    task = "outcomes"

    def answers(self, question: AnyQuestion) -> np.ndarray:
        told = {(c.episode_id, c.step): c.ok for before in question.before for c in before}
        known = [told.get((call.episode_id, call.step)) for call in question.calls]
        return np.array([0.5 if ok is None else float(not ok) for ok in known])


def test_a_method_that_looks_at_other_cases_is_caught(
    problems: dict[str, Sequence[AnyProblem]],
) -> None:
    (problem,) = problems["outcomes"]

    assert list(told_apart(Peeks(), problem))
