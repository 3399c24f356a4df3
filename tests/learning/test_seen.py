"""What of a trace goes into features (LE-5, SP-7, EX-6)."""

import msgspec

from pml.learning.seen import run_seen
from tests.store.nouns import a_trace

TASK = a_trace().task_results[0]


def test_calls_and_outcomes_are_seen() -> None:
    failed = msgspec.structs.replace(TASK, tool="fs:stat", success=False, error_code="tool_error")
    lost = msgspec.structs.replace(TASK, success=False, error_code="unavailable")
    run = run_seen(a_trace(task_results=(TASK, failed, lost), capability_id="cap_x"))
    assert run is not None
    assert [(call.tool, call.success) for call in run.calls] == [
        ("fs:read", True),
        ("fs:stat", False),
        ("fs:read", None),
    ]
    assert (run.capability, run.success, run.arguments) == ("cap_x", True, {"path": "a"})
    assert run.calls[0].arguments == TASK.args


def test_mocks_are_left_out_and_a_dry_run_teaches_nothing() -> None:
    mocked = msgspec.structs.replace(TASK, mocked=True)
    run = run_seen(a_trace(task_results=(mocked, TASK), exploratory=True))
    assert run is not None
    assert len(run.calls) == 1
    assert run_seen(a_trace(dry_run=True)) is None
