"""What is asked of PML and what it answers: `pml_execute` (MCP-2)."""

from typing import Any

import msgspec

from pml.domain.dag import ExplicitDag
from pml.domain.permissions import Permission
from pml.domain.program import Diagnostic
from pml.domain.record import Record

DEFAULT_TIMEOUT_MS = 30_000


class ExecuteRequest(Record, frozen=True, kw_only=True):
    """One request; exactly one of ``code`` and ``dag`` is given."""

    intent: str
    code: str | None = None
    dag: ExplicitDag | None = None
    args: dict[str, Any] = {}  # noqa: RUF012
    timeout_ms: int = DEFAULT_TIMEOUT_MS


class TaskSummary(Record, frozen=True, kw_only=True):
    """One call of the executed path, with the first 240 characters of its result."""

    task_id: str
    tool: str
    success: bool
    duration_ms: float
    result_preview: str = ""
    error: str | None = None


class ToolFailure(Record, frozen=True, kw_only=True):
    """A call that failed, whether or not the code caught it."""

    task_id: str
    tool: str
    code: str
    error: str


class DagMetadata(Record, frozen=True, kw_only=True):
    """What ran and how much of it side by side."""

    mode: str = "sandbox"
    tasks_count: int
    layers_count: int
    speedup: float
    """Sum of the calls' durations over wall time; 1.0 or less when nothing overlapped."""
    tools_discovered: tuple[str, ...] = ()
    executed_path: tuple[str, ...] = ()


class ExecuteError(Record, frozen=True, kw_only=True):
    """Why a run did not succeed: what happened, where, and what to do."""

    code: str
    message: str
    line: int | None = None
    data: Any = None


class ExecuteResponse(Record, frozen=True, kw_only=True):
    """The answer; ``status`` says which of the optional parts are there."""

    status: str
    """A state of the run, or ``suggestions``."""
    workflow_id: str | None = None
    result: Any = None
    capability_id: str | None = None
    trace_id: str | None = None
    mode: str = "direct"
    execution_time_ms: float = 0.0
    tasks: tuple[TaskSummary, ...] = ()
    tool_failures: tuple[ToolFailure, ...] = msgspec.field(name="tool_failures", default=())
    in_doubt: tuple[TaskSummary, ...] = ()
    """Writes whose outcome nobody knows."""
    approvals: tuple[Permission, ...] = ()
    """What a person has to agree to."""
    diagnostics: tuple[Diagnostic, ...] = ()
    warnings: tuple[str, ...] = ()
    error: ExecuteError | None = None
    dag: DagMetadata | None = None
