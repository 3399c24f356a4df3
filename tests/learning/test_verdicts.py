"""Which calls count for or against a tool (LE-4)."""

import pytest

from pml.domain.trace import TaskResult
from pml.learning.verdicts import Verdict, verdict_of


def task(*, success: bool, code: str | None = None, mocked: bool = False) -> TaskResult:
    return TaskResult(
        task_id="n1",
        node_id="n1",
        tool="s:a",
        args={},
        success=success,
        error_code=code,
        started_at_ms=0,
        duration_ms=1.0,
        attempts=1,
        delivered=True,
        mocked=mocked,
    )


def test_an_answer_is_a_success() -> None:
    assert verdict_of(task(success=True)) is Verdict.SUCCESS


def test_a_mock_says_nothing() -> None:
    assert verdict_of(task(success=True, mocked=True)) is Verdict.UNINFORMATIVE


@pytest.mark.parametrize(
    "code", ["unavailable", "timeout", "in_doubt", "unanswered", "sandbox", "quarantined"]
)
def test_infrastructure_does_not_count_against_a_tool(code: str) -> None:
    assert verdict_of(task(success=False, code=code)) is Verdict.UNINFORMATIVE


@pytest.mark.parametrize(
    "code", ["tool_error", "bad_result", "invalid_params", "never_heard", None]
)
def test_what_the_server_answered_counts(code: str | None) -> None:
    assert verdict_of(task(success=False, code=code)) is Verdict.FAILURE
