"""What traces teach a ranking model (LE-5, EX-6, XP-4): laws over made-up runs, then the rules."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.trace import ExecutionTrace, TaskResult
from pml.learning.examples import Example, examples_of_trace, examples_of_workflow
from pml.models.inputs import RankingTask
from tests.store.nouns import a_trace

OUTCOMES = {
    "good": {"success": True},
    "bad": {"success": False, "error": "no such file", "error_code": "tool_error"},
    "down": {"success": False, "error": "no server", "error_code": "unavailable"},
    "mock": {"success": True, "mocked": True},
    "mock-bad": {"success": False, "error": "made up", "error_code": "tool_error", "mocked": True},
}
CALLS = st.lists(
    st.tuples(st.sampled_from(["fs:read", "fs:write", "web:get"]), st.sampled_from([*OUTCOMES])),
    max_size=5,
)


def a_result(at: int, tool: str, outcome: str) -> TaskResult:
    return TaskResult(
        task_id=f"n{at}",
        node_id=f"n{at}",
        tool=tool,
        args={},
        started_at_ms=at,
        duration_ms=1.0,
        attempts=1,
        delivered=True,
        **OUTCOMES[outcome],  # type: ignore[arg-type]
    )


def a_run(*calls: tuple[str, str], success: bool = True, **fields: object) -> ExecutionTrace:
    """Calls are (tool, outcome)."""
    results = tuple(a_result(at, tool, outcome) for at, (tool, outcome) in enumerate(calls))
    state = "success" if success else "error"
    return a_trace(**dict[str, Any](task_results=results, success=success, state=state) | fields)


def of_task(trace: ExecutionTrace, task: RankingTask) -> list[Example]:
    return [example for example in examples_of_trace(trace) if example.task is task]


def the_tools(trace: ExecutionTrace) -> Example:
    (example,) = of_task(trace, RankingTask.TOOLS)
    return example


@given(CALLS, st.booleans(), st.booleans())
def test_an_example_says_something_and_nothing_twice(
    calls: list[tuple[str, str]], success: bool, with_capability: bool
) -> None:
    capability = "cap-1" if with_capability else None
    trace = a_run(*calls, success=success, capability_id=capability, priority=0.3)
    for example in examples_of_trace(trace):
        answers = [*example.positives, *example.failed]
        assert answers
        assert len(set(answers)) == len(answers)
        assert 0 < example.weight <= 1
        assert success or not example.positives
        assert bool(example.prefix) == (example.task is RankingTask.NEXT_TOOL)
        assert (example.source, example.intent) == (trace.id, trace.intent_text)
        assert example.priority == 0.3


@given(CALLS)
def test_a_dry_run_and_a_run_without_an_intent_teach_nothing(calls: list[tuple[str, str]]) -> None:
    assert examples_of_trace(a_run(*calls, dry_run=True)) == ()
    assert examples_of_trace(a_run(*calls, intent_text=" ")) == ()


def test_what_was_called_with_success_served_and_what_failed_is_kept() -> None:
    example = the_tools(a_run(("a:x", "good"), ("a:y", "bad"), ("a:z", "good"), ("a:x", "good")))
    assert example.positives == ("a:x", "a:z")
    assert example.failed == ("a:y",)
    assert example.weight == 1


def test_a_tool_that_worked_when_it_was_called_again_served() -> None:
    example = the_tools(a_run(("a:x", "bad"), ("a:x", "good")))
    assert (example.positives, example.failed) == (("a:x",), ())


def test_of_a_failed_run_only_the_failure_is_learned() -> None:
    example = the_tools(a_run(("a:x", "good"), ("a:y", "bad"), success=False))
    assert (example.positives, example.failed) == ((), ("a:y",))


@pytest.mark.parametrize("outcome", ["down", "mock-bad"])
def test_infrastructure_and_mocks_are_no_failures(outcome: str) -> None:
    assert examples_of_trace(a_run(("a:x", outcome), success=False)) == ()


def test_an_example_counts_as_much_as_its_calls_were_real() -> None:
    trace = a_run(
        ("a:x", "good"),
        ("a:y", "mock"),
        ("a:z", "mock"),
        ("a:w", "good"),
        exploratory=True,
        capability_id="c",
    )
    assert the_tools(trace).weight == 0.5
    assert the_tools(trace).positives == ("a:x", "a:y", "a:z", "a:w")
    assert [one.weight for one in of_task(trace, RankingTask.CAPABILITIES)] == [0.5]
    weights = [one.weight for one in of_task(trace, RankingTask.NEXT_TOOL)]
    assert weights == pytest.approx([1 / 2, 1 / 3, 1 / 2])


def test_a_run_that_was_all_mocks_teaches_nothing() -> None:
    assert examples_of_trace(a_run(("a:x", "mock"), ("a:y", "mock"), capability_id="c")) == ()


def test_each_call_but_the_first_is_a_next_tool_after_those_before() -> None:
    trace = a_run(("a:x", "good"), ("a:y", "bad"), ("a:z", "good"))
    found = of_task(trace, RankingTask.NEXT_TOOL)
    assert [(one.prefix, one.positives, one.failed) for one in found] == [
        (("a:x",), (), ("a:y",)),
        (("a:x", "a:y"), ("a:z",), ()),
    ]


def test_calls_are_in_the_order_in_which_they_began() -> None:
    trace = a_run(("a:x", "good"), ("a:y", "good"))
    turned = a_trace(task_results=trace.task_results[::-1])
    assert examples_of_trace(turned) == examples_of_trace(trace)


@pytest.mark.parametrize(
    ("calls", "success", "positives", "failed"),
    [
        ([("a:x", "good")], True, ("c",), ()),
        ([("a:x", "bad")], True, ("c",), ()),
        ([("a:x", "bad")], False, (), ("c",)),
        ([], False, (), ("c",)),  # its own code threw
    ],
)
def test_a_capability_served_if_its_run_succeeded(
    calls: list[tuple[str, str]], success: bool, positives: tuple[str, ...], failed: tuple[str, ...]
) -> None:
    trace = a_run(*calls, success=success, capability_id="c")
    (example,) = of_task(trace, RankingTask.CAPABILITIES)
    assert (example.positives, example.failed) == (positives, failed)


def test_a_capability_did_not_fail_when_infrastructure_did_or_the_run_was_stopped() -> None:
    down = a_run(("a:x", "good"), ("a:y", "down"), success=False, capability_id="c")
    stopped = a_run(("a:x", "good"), success=False, capability_id="c")
    stopped = a_trace(task_results=stopped.task_results, success=False, state="aborted")
    assert of_task(down, RankingTask.CAPABILITIES) == []
    assert of_task(stopped, RankingTask.CAPABILITIES) == []


def test_a_workflow_teaches_what_a_run_of_it_that_succeeded_would() -> None:
    trace = a_run(("a:x", "good"), ("a:y", "good"), capability_id="c")
    assert examples_of_trace(trace) == examples_of_workflow(
        source=trace.id, intent=trace.intent_text, tools=["a:x", "a:y"], capability="c"
    )
