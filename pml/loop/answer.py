"""From how a run ended to what the agent is told.  Pure."""

import json

import msgspec

from pml.domain.limits import Limits
from pml.domain.permissions import Permission
from pml.domain.program import Diagnostic
from pml.domain.response import (
    DagMetadata,
    ExecuteError,
    ExecuteResponse,
    TaskSummary,
    ToolFailure,
)
from pml.domain.run import RunState
from pml.domain.sanitising import preview
from pml.domain.structure import ANY_TOOL, StaticStructure
from pml.domain.trace import ExecutionTrace, TaskResult
from pml.runtime.ending import Ending


def answer(
    ending: Ending,
    trace: ExecutionTrace,
    structure: StaticStructure,
    *,
    wall_ms: float,
    diagnostics: tuple[Diagnostic, ...],
    warnings: tuple[str, ...],
    limits: Limits,
    capability_id: str | None,
) -> ExecuteResponse:
    """The response for a run that was started: the executed path only (EX-7)."""
    tasks = tuple(_summary(task, limits) for task in trace.task_results)
    return ExecuteResponse(
        status=RunState.ERROR if ending.state is RunState.INTERRUPTED else ending.state,
        workflow_id=trace.run_id,
        capability_id=capability_id,
        trace_id=trace.id if ending.state.final else None,
        result=msgspec.UNSET if ending.result is None else json.loads(ending.result),
        execution_time_ms=round(wall_ms, 3),
        tasks=tasks,
        tool_failures=tuple(
            ToolFailure(
                task_id=task.task_id, tool=task.tool, code=task.error_code, error=task.error or ""
            )
            for task in trace.task_results
            if task.error_code
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


def speedup(trace: ExecutionTrace, wall_ms: float) -> float:
    """Sum of the calls' durations over wall time (EX-4)."""
    total = sum(task.duration_ms for task in trace.task_results)
    return round(total / wall_ms, 2) if wall_ms > 0 else 0.0


def _summary(task: TaskResult, limits: Limits) -> TaskSummary:
    return TaskSummary(
        task_id=task.task_id,
        tool=task.tool,
        success=task.success,
        duration_ms=task.duration_ms,
        result_preview=preview(task.result, limits.preview_chars) if task.success else "",
        error=task.error,
        mocked=task.mocked,
    )


def _stopped(approvals: tuple[Permission, ...]) -> ExecuteError | None:
    """What stopped a run under way: permissions that became stricter since it was analysed."""
    if not approvals:
        return None
    message = (
        f"the run stopped before it called {', '.join(p.tool for p in approvals)}, which may not "
        "be called without approval: allow it in permissions.yaml (approval_mode: auto), then "
        "send the request again; tasks says what has run"
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
            f"{named} may not be called without approval: allow it in permissions.yaml "
            "(approval_mode: auto), then send the request again"
        )
    return ExecuteError(code="approval_required", message=f"nothing has run: {'; '.join(parts)}")
