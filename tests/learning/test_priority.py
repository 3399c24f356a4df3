"""How much a trace surprises (LE-1)."""

import pytest
from hypothesis import given

from pml.domain.capability import Learning, PathStatistics
from pml.domain.trace import ExecutionTrace
from pml.learning.priority import priority
from tests.learning.histories import HISTORIES, learning_of
from tests.store.nouns import a_trace


def knowing(rate: float, duration_ms: float = 100.0) -> Learning:
    """One path, that of `a_trace`."""
    known = PathStatistics(
        path=a_trace().executed_path, count=9, success_rate=rate, avg_duration_ms=duration_ms
    )
    return Learning(paths=(known,))


@pytest.mark.parametrize(
    ("success", "duration_ms", "expected"),
    [
        (True, 100.0, 0.05),
        (False, 100.0, 0.95),
        (True, 150.0, 0.05),  # off by just half the mean
        (True, 150.1, 0.25),
        (True, 49.9, 0.25),
        (False, 1e6, 1.0),  # at most
    ],
)
def test_a_trace_surprises_by_its_outcome_and_its_duration(
    success: bool, duration_ms: float, expected: float
) -> None:
    trace = a_trace(success=success, duration_ms=duration_ms)
    assert priority(knowing(0.95), trace) == pytest.approx(expected)


def test_a_new_path_surprises_most() -> None:
    assert priority(Learning(), a_trace()) == 1.0
    assert priority(knowing(0.95), a_trace(executed_path=("n1", "n2"))) == 1.0


def test_any_duration_is_unusual_where_there_never_was_one() -> None:
    assert priority(knowing(1.0, 0.0), a_trace(duration_ms=0.1)) == 0.2
    assert priority(knowing(1.0, 0.0), a_trace(duration_ms=0.0)) == 0.0


@given(history=HISTORIES)
def test_a_priority_is_between_none_and_all(history: list[ExecutionTrace]) -> None:
    *before, last = history
    assert 0 <= priority(learning_of(before), last) <= 1


@given(history=HISTORIES)
def test_what_happens_again_and_again_surprises_less_each_time(
    history: list[ExecutionTrace],
) -> None:
    again = history[0]
    first = priority(learning_of([*history, again]), again)
    assert priority(learning_of([*history, *[again] * 40]), again) <= max(first, 0.02)
