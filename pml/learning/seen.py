"""What of a trace goes into features (LE-5, SP-7)."""

from pml.domain.trace import ExecutionTrace
from pml.features.activity import CallSeen, RunSeen
from pml.learning.verdicts import Verdict, verdict_of

_SUCCESS = {Verdict.SUCCESS: True, Verdict.FAILURE: False, Verdict.UNINFORMATIVE: None}


def run_seen(trace: ExecutionTrace) -> RunSeen | None:
    """The run as features see it; None of a dry run, which teaches nothing.

    Mocked calls are left out: no server was asked.
    """
    if trace.dry_run:
        return None
    calls = (task for task in trace.task_results if not task.mocked)
    return RunSeen(
        at_ms=trace.executed_at_ms,
        calls=tuple(
            CallSeen(tool=task.tool, arguments=task.args, success=_SUCCESS[verdict_of(task)])
            for task in calls
        ),
        capability=trace.capability_id,
        arguments=trace.initial_context,
        success=trace.success,
    )
