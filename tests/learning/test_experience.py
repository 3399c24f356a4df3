"""What one more run makes of a capability (LE-2, ST-4, ST-8)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.capability import Lifecycle
from pml.domain.run import RunState
from pml.domain.trace import ExecutionTrace, TaskResult
from pml.learning.experience import Experience, canonical_arguments, teaches
from pml.learning.lifecycle import CANONICAL_ARGUMENTS
from tests.learning.histories import STRUCTURE, learning_of, traces
from tests.store.nouns import a_trace

FAILED = a_trace(success=False, state="error")


def after(known: Experience, trace: ExecutionTrace, arguments: str = "a") -> Experience:
    return known.after(trace, STRUCTURE, argument_hash=arguments, has_parameters=True)


@given(runs=st.lists(st.tuples(traces(), st.sampled_from("abcde")), min_size=1))
def test_experience_is_the_sum_of_the_runs(runs: list[tuple[ExecutionTrace, str]]) -> None:
    known = Experience()
    for trace, arguments in runs:
        known = after(known, trace, arguments)
    succeeded = [arguments for trace, arguments in runs if trace.success]
    assert (known.usage_count, known.success_count) == (len(runs), len(succeeded))
    assert list(known.argument_hashes) == list(dict.fromkeys(succeeded))[:CANONICAL_ARGUMENTS]
    assert known.learning == learning_of([trace for trace, _ in runs])
    assert known.hidden is (not succeeded)


def test_the_first_success_brings_it_to_light() -> None:
    failed = after(Experience(), FAILED)
    assert failed.hidden
    found = after(failed, a_trace())
    assert not found.hidden
    assert not after(found, FAILED).hidden


def test_a_success_shows_that_it_works_with_what_changed() -> None:
    stale = Experience(stale=True)
    assert after(stale, FAILED).stale
    assert not after(stale, a_trace()).stale


def test_runs_with_one_input_prove_little() -> None:
    same, other = Experience(), Experience()
    for number in range(4):
        same, other = after(same, a_trace()), after(other, a_trace(), str(number))
    assert (same.lifecycle, other.lifecycle) == (Lifecycle.CANDIDATE, Lifecycle.VERIFIED)


@pytest.mark.parametrize("state", list(RunState))
def test_only_success_and_error_teach(state: RunState) -> None:
    assert teaches(a_trace(state=state)) is (state in (RunState.SUCCESS, RunState.ERROR))
    assert not teaches(a_trace(state=state, dry_run=True))


def test_arguments_are_equal_whatever_their_layout() -> None:
    assert canonical_arguments('{"b": [1, {"y":2,"x":"é"}], "a":null}') == canonical_arguments(
        '{"a":null,"b":[1,{"x":"\\u00e9","y":2}]}'
    )
    assert canonical_arguments('{"a":[1,2]}') != canonical_arguments('{"a":[2,1]}')


@pytest.mark.parametrize(
    ("code", "path", "counts"),
    [
        ("invalid_params", "chosen", False),
        ("invalid_params", "written in the code", True),
        ("tool_error", "chosen", True),
    ],
)
def test_what_a_server_refuses_of_the_callers_own_arguments_says_nothing_of_the_capability(
    code: str, path: str, counts: bool
) -> None:
    task = TaskResult(
        task_id="n1",
        node_id="n1",
        tool="fs:read",
        args={"path": path},
        success=False,
        error="path: expected a file",
        error_code=code,
        started_at_ms=1,
        duration_ms=1.0,
        attempts=1,
        delivered=True,
    )
    trace = a_trace(
        success=False,
        state="error",
        error_message="ToolError: path: expected a file",
        initial_context={"path": "chosen"},
        task_results=(task,),
    )
    assert teaches(trace) is counts
