"""What methods share is computed once for a question and goes with it (RW-6: 15 minutes)."""

import gc
import weakref

from pml.evaluation.dataset import Tool
from pml.evaluation.once import once, once_for
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


def tools_of(of: ToolsQuestion) -> tuple[object, ...]:
    return (of.tools,)


def of_tools(tools: tuple[Tool, ...], intent: str) -> ToolsQuestion:
    return ToolsQuestion(tools=tools, train=(), intents=(intent,))


def some_tools() -> tuple[Tool, ...]:
    """Equal each time, and never the same object."""
    return (Tool(id="a", server="s", name="a"),)


def test_questions_with_the_same_parts_are_computed_once_and_equal_parts_on_their_own() -> None:
    @once_for(tools_of)
    def compute(_: ToolsQuestion) -> Result:
        return Result()

    tools, equal = some_tools(), some_tools()
    one, other, third = of_tools(tools, "x"), of_tools(tools, "y"), of_tools(equal, "x")
    assert compute(one) is compute(other)
    assert compute(third) is not compute(one)


def test_what_questions_share_goes_with_the_last_of_them() -> None:
    @once_for(tools_of)
    def compute(_: ToolsQuestion) -> Result:
        return Result()

    tools = some_tools()
    one, other = of_tools(tools, "x"), of_tools(tools, "y")
    kept = weakref.ref(compute(one))
    assert compute(other) is kept()
    assert compute(other) is kept()  # asked twice, it holds once
    del one
    gc.collect()
    assert kept() is not None
    del other
    gc.collect()
    assert kept() is None
