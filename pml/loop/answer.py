"""From how a run stands to what the agent is told.  Pure."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.log_rules import CallState
from pml.domain.permissions import Permission
from pml.domain.plan import Plan
from pml.domain.program import Diagnostic
from pml.domain.response import (
    DagMetadata,
    ExecuteError,
    ExecuteResponse,
    HeldCall,
    TaskSummary,
    ToolFailure,
)
from pml.domain.run import RunState
from pml.domain.sanitising import preview
from pml.domain.structure import ANY_TOOL, StaticStructure
from pml.domain.trace import ExecutionTrace, TaskResult
from pml.runtime.ending import Ending
from pml.runtime.recorder import UNANSWERED

_STATUS = {
    RunState.PAUSED: "layer_complete",
    RunState.RUNNING: "error",
    RunState.INTERRUPTED: "error",
    RunState.EXPIRED: "error",
}
"""Of the states that are no status themselves; an error says which of these it is."""
HELD = "held: it waits until the run goes on"
_OPTIONS = {
    RunState.PAUSED: ("continue", "abort", "replan"),
    RunState.INTERRUPTED: ("continue", "abort", "replan"),
    RunState.IN_DOUBT: ("retry", "result", "skip", "abort", "replan"),
    RunState.APPROVAL_REQUIRED: ("approve", "refuse", "abort", "replan"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What a run that waits waits for."""

    expires_at_ms: int
    approval_id: str | None = None
    plan: Plan | None = None
    held: tuple[HeldCall, ...] = ()
    """What an approval is about that is not about the plan."""
    checkpoint_id: str | None = None
    doubts: tuple[TaskSummary, ...] = ()
    """Of nested runs, by path."""


def held_calls(ledger: Ledger, numbers: Iterable[int]) -> tuple[HeldCall, ...]:
    """Calls of a run as a person has to see them who decides about them."""
    issued = (ledger.calls[number].issued for number in numbers)
    return tuple(
        HeldCall(task_id=call.task_id, tool=call.tool, arguments=json.loads(call.arguments))
        for call in issued
    )


def options(state: RunState) -> tuple[str, ...]:
    """What can be answered to a run that waits."""
    return _OPTIONS.get(state, ())


def answer(
    ending: Ending,
    trace: ExecutionTrace,
    structure: StaticStructure,
    *,
    wall_ms: float,
    limits: Limits,
    diagnostics: tuple[Diagnostic, ...] = (),
    warnings: tuple[str, ...] = (),
    waiting: Waiting | None = None,
) -> ExecuteResponse:
    """The response for a run that was started: the executed path only (EX-7)."""
    waits = ending.state.waits
    tasks = tuple(_summary(task, limits, waits=waits) for task in trace.task_results)
    response = ExecuteResponse(
        status=_STATUS.get(ending.state, ending.state),
        workflow_id=trace.run_id,
        capability_id=trace.capability_id if ending.state is RunState.SUCCESS else None,
        trace_id=trace.id if ending.state.final else None,
        result=msgspec.UNSET if ending.result is None else json.loads(ending.result),
        execution_time_ms=round(wall_ms, 3),
        tasks=tasks,
        tool_failures=tuple(
            ToolFailure(
                task_id=task.task_id, tool=task.tool, code=task.error_code, error=task.error or ""
            )
            for task in trace.task_results
            if task.error_code and not _not_yet(task, waits=waits)
        ),
        in_doubt=tuple(
            summary
            for summary, task in zip(tasks, trace.task_results, strict=True)
            if task.error_code == "in_doubt"
        ),
        approvals=ending.approvals,
        diagnostics=diagnostics,
        warnings=warnings,
        error=ending.error or _stopped(ending.approvals),
        dag=DagMetadata(
            tasks_count=len(tasks),
            layers_count=len(structure.layers),
            speedup=speedup(trace, wall_ms),
            tools_discovered=structure.tools(),
            executed_path=trace.executed_path,
        ),
    )
    if waiting is None:
        return response
    return _with(msgspec.structs.replace(response, intent=trace.intent_text), ending, waiting)


def _with(response: ExecuteResponse, ending: Ending, waiting: Waiting) -> ExecuteResponse:
    """The response of a run that waits."""
    checkpoint = ending.checkpoint
    return msgspec.structs.replace(
        response,
        expires_at_ms=waiting.expires_at_ms,
        approval_id=waiting.approval_id,
        plan=waiting.plan,
        held=waiting.held,
        checkpoint_id=waiting.checkpoint_id if checkpoint is None else checkpoint.checkpoint_id,
        pending_layer=None if checkpoint is None else checkpoint.layer,
        layer_results=_of_calls(response.tasks, ending.layer_calls),
        in_doubt=(*response.in_doubt, *waiting.doubts),
    )


def _of_calls(tasks: Iterable[TaskSummary], calls: Iterable[CallState]) -> tuple[TaskSummary, ...]:
    wanted = {call.issued.task_id for call in calls}
    return tuple(task for task in tasks if task.task_id in wanted)


def speedup(trace: ExecutionTrace, wall_ms: float) -> float:
    """Sum of the calls' durations over wall time (EX-4)."""
    total = sum(task.duration_ms for task in trace.task_results)
    return round(total / wall_ms, 2) if wall_ms > 0 else 0.0


def _not_yet(task: TaskResult, *, waits: bool) -> bool:
    """Whether a call has not failed: it waits, or was never sent."""
    return task.error_code == UNANSWERED and (waits or not task.attempts)


def _summary(task: TaskResult, limits: Limits, *, waits: bool) -> TaskSummary:
    held = waits and task.error_code == UNANSWERED
    return TaskSummary(
        task_id=task.task_id,
        tool=task.tool,
        success=task.success,
        duration_ms=task.duration_ms,
        result_preview=preview(task.result, limits.preview_chars) if task.success else "",
        error=HELD if held else task.error,
        mocked=task.mocked,
    )


def _stopped(approvals: tuple[Permission, ...]) -> ExecuteError | None:
    """What stopped a run under way: calls that its plan did not show, or stricter permissions."""
    if not approvals:
        return None
    message = (
        f"the run stopped before it called {', '.join(p.tool for p in approvals)}, which may not "
        "be called without approval: answer the request approvalId (pml_approval_response, `pml "
        "approve`), then it goes on; tasks says what has run"
    )
    return ExecuteError(code="approval_required", message=message)


def approval_error(approvals: tuple[Permission, ...]) -> ExecuteError:
    """Nothing ran, because a person has to agree first; says to what, and what to do."""
    named = ", ".join(p.tool for p in approvals if p.tool != ANY_TOOL)
    parts = []
    if any(p.tool == ANY_TOOL for p in approvals):
        parts.append(
            "the code calls a tool that is known only when it runs: "
            "write server and tool as names or constants"
        )
    if named:
        parts.append(
            f"{named} may not be called without approval: answer the request approvalId "
            "(pml_approval_response, `pml approve`), or allow it in permissions.yaml "
            "(approval_mode: auto) and send the request again"
        )
    return ExecuteError(code="approval_required", message=f"nothing has run: {'; '.join(parts)}")
