"""What methods share is computed once for a question and goes with it (RW-6: 15 minutes)."""

import gc
import weakref

from pml.evaluation.once import once
from pml.evaluation.questions import ToolsQuestion


class Result:
    """Something that a weak reference can watch."""


def question() -> ToolsQuestion:
    return ToolsQuestion(tools=(), train=(), intents=())


def test_a_question_is_computed_once_and_an_equal_one_on_its_own() -> None:
    asked = []

    @once
    def compute(of: ToolsQuestion) -> Result:
        asked.append(id(of))
        return Result()

    one, other = question(), question()
    assert compute(one) is compute(one)
    assert compute(other) is not compute(one)
    assert asked == [id(one), id(other)]


def test_the_result_goes_with_its_question() -> None:
    @once
    def compute(_: ToolsQuestion) -> Result:
        return Result()

    one = question()
    kept = weakref.ref(compute(one))
    assert kept() is not None
    del one
    gc.collect()
    assert kept() is None
