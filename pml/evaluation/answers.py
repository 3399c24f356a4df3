"""Are answers what the question asks for?  Checked in one place, before any judge sees them.

A judge may rely on type, shape and finite numbers; a method that answers something else has
a row that says what was expected and what came.  Questions of a user's own type are their
judge's to check.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from pml.evaluation.questions import (
    CapabilitiesQuestion,
    Closure,
    ClosureQuestion,
    LinksQuestion,
    NextQuestion,
    OutcomesQuestion,
    Plan,
    PlansQuestion,
    ProvidesQuestion,
    RunsQuestion,
    ToolsQuestion,
)

_SHOWN_CHARS = 40
_NUMBERS = "biuf"
"""Kinds of numpy types: truth values, whole numbers, fractions."""
_PAIR = 2

Question = Any
Answers = Any
"""What comes from a method may be anything: that is what is checked."""


def cases(question: Question) -> int | None:
    """How many cases a question has; None for a question of a user's own type."""
    count = _CASES.get(type(question))
    return None if count is None else count(question)


def check(question: Question, answers: Answers) -> None:
    """Look at all answers.

    Raises:
        ValueError: they are of another type, number or shape, or a number is not finite.
    """
    kind = type(question)
    if kind in _CHECKS:
        _CHECKS[kind](question, answers)


def _scores(candidates: str) -> Callable[[Question, Answers], None]:
    def checked(question: Question, answers: Answers) -> None:
        shape = (len(question.intents), len(getattr(question, candidates)))
        _check_numbers(answers, shape, "a row per intent")

    return checked


def _per_case(case: str) -> Callable[[Question, Answers], None]:
    def checked(question: Question, answers: Answers) -> None:
        _check_numbers(answers, (cases(question) or 0,), f"one per {case}")

    return checked


def _check_numbers(answers: Answers, shape: tuple[int, ...], which: str) -> None:
    expected = f"expected a numpy array of finite numbers, {which}, of shape {shape}"
    if not isinstance(answers, np.ndarray):
        raise _wrong(expected, _told(answers))
    if answers.shape != shape:
        raise _wrong(expected, f"shape {answers.shape}")
    if answers.dtype.kind not in _NUMBERS:
        raise _wrong(expected, f"an array of {answers.dtype}")
    odd = np.argwhere(~np.isfinite(answers))
    if len(odd):
        place = tuple(odd[0].tolist())
        raise _wrong(expected, f"{answers[place]} at {list(place)}")


def _chances(question: OutcomesQuestion, answers: Answers) -> None:
    _per_case("call")(question, answers)
    odd = np.flatnonzero((answers < 0) | (answers > 1))
    if len(odd):
        expected = "expected chances from 0 to 1"
        raise _wrong(expected, f"{answers[odd[0]]} at [{odd[0]}]")


def _each(
    what: str, case: str, fits: Callable[[Answers], bool]
) -> Callable[[Question, Answers], None]:
    """A sequence with an answer per case, each of which is ``what``."""

    def checked(question: Question, answers: Answers) -> None:
        expected = f"expected a list with {what} for each of {cases(question)} {case}"
        if not isinstance(answers, Sequence) or isinstance(answers, str):
            raise _wrong(expected, _told(answers))
        if len(answers) != cases(question):
            raise _wrong(expected, f"{len(answers)} answers")
        for at, answer in enumerate(answers):
            if not fits(answer):
                raise _wrong(expected, f"{_told(answer)} at [{at}]")

    return checked


def _is_texts(value: Answers) -> bool:
    sequence = isinstance(value, Sequence) and not isinstance(value, str)
    return sequence and all(isinstance(one, str) for one in value)


def _is_pairs(value: Answers) -> bool:
    return all(isinstance(one, tuple) and len(one) == _PAIR and _is_texts(one) for one in value)


def _is_links(value: Answers) -> bool:
    return isinstance(value, AbstractSet) and _is_pairs(value)


def _is_plan(value: Answers) -> bool:
    return isinstance(value, Plan) and _is_texts(value.nodes) and _is_pairs(value.links)


def _is_closure(value: Answers) -> bool:
    if not isinstance(value, Closure) or not _is_texts(value.ranking):
        return False
    chosen = value.chosen
    return chosen is None or (
        isinstance(chosen, AbstractSet) and all(isinstance(one, str) for one in chosen)
    )


def _wrong(expected: str, found: str) -> ValueError:
    return ValueError(f"{expected}, got {found}")


def _told(value: Answers) -> str:
    shown = repr(value)
    cut = shown if len(shown) <= _SHOWN_CHARS else shown[:_SHOWN_CHARS] + "..."
    return f"{type(value).__name__} {cut}"


_CASES: Mapping[type, Callable[[Question], int]] = {
    ToolsQuestion: lambda question: len(question.intents),
    CapabilitiesQuestion: lambda question: len(question.intents),
    NextQuestion: lambda question: len(question.points),
    PlansQuestion: lambda question: len(question.intents),
    LinksQuestion: lambda question: len(question.nodes),
    ClosureQuestion: lambda question: len(question.intents),
    ProvidesQuestion: lambda question: len(question.pairs),
    OutcomesQuestion: lambda question: len(question.calls),
    RunsQuestion: lambda question: len(question.runs),
}
_CHECKS: Mapping[type, Callable[[Question, Answers], None]] = {
    ToolsQuestion: _scores("tools"),
    CapabilitiesQuestion: _scores("candidates"),
    NextQuestion: _each("a list of tool ids", "points", _is_texts),
    PlansQuestion: _each("a Plan of texts", "intents", _is_plan),
    LinksQuestion: _each("a set of pairs of tool ids", "cases", _is_links),
    ClosureQuestion: _each("a Closure of tool ids", "intents", _is_closure),
    ProvidesQuestion: _per_case("pair"),
    OutcomesQuestion: _chances,
    RunsQuestion: _per_case("run"),
}
