"""What is asked of PML and what it answers: `pml_execute` (MCP-2)."""

from typing import Annotated, Any, Literal

import msgspec

from pml.domain.dag import ExplicitDag
from pml.domain.discovery import Discovered
from pml.domain.permissions import Permission
from pml.domain.plan import Plan
from pml.domain.program import Diagnostic
from pml.domain.record import Count, Duration, Ordinal, Record

DEFAULT_TIMEOUT_MS = 30_000
STATUS = (
    "^(success|approval_required|layer_complete|suggestions|in_doubt|diverged|cancelled|aborted"
    "|error)$"
)


class ExecuteRequest(Record, frozen=True, kw_only=True):
    """One request; at most one of ``code`` and ``dag``.

    With neither, a known capability answers the intent, or suggestions do (MCP-2).
    """

    intent: str
    code: str | None = None
    dag: ExplicitDag | None = None
    args: dict[str, Any] = {}  # noqa: RUF012
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    per_layer_validation: bool = False
    """Pause before each frontier but the first (EX-5)."""
    dry_run: bool = False
    """Let mocks answer for side-effecting tools (EX-6)."""
    dry_run_mocks: dict[str, Any] = {}  # noqa: RUF012
    """What they answer, by ``server:tool`` or a pattern of it."""


class TaskSummary(Record, frozen=True, kw_only=True):
    """One call of the executed path, with the first 240 characters of its result."""

    task_id: str
    tool: str
    success: bool
    duration_ms: Duration
    result_preview: str = ""
    error: str | None = None
    mocked: bool = False
    """The result is a mock: no server was asked (EX-6)."""


class ToolFailure(Record, frozen=True, kw_only=True):
    """A call that failed, whether or not the code caught it."""

    task_id: str
    tool: str
    code: str
    error: str


class DagMetadata(Record, frozen=True, kw_only=True):
    """What ran and how much of it side by side."""

    mode: str = "sandbox"
    tasks_count: Count
    layers_count: Count
    speedup: Annotated[float, msgspec.Meta(ge=0)]
    """Sum of the calls' durations over wall time; 1.0 or less when nothing overlapped."""
    tools_discovered: tuple[str, ...] = ()
    executed_path: tuple[str, ...] = ()


class ExecuteError(Record, frozen=True, kw_only=True):
    """Why a run did not succeed: what happened, where, and what to do."""

    code: str
    message: str
    line: Ordinal | None = None
    data: Any = None


class Suggestions(Record, frozen=True, kw_only=True):
    """What PML would do for the intent; nothing ran."""

    suggested_dag: ExplicitDag | None = None
    """None where no hyperpath leads to what was asked (SP-1)."""
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)]
    """How well the best candidate's past intents fit; 0 without candidates."""
    candidates: tuple[Discovered, ...] = ()
    """Best first, with what is missing to run them and why they stand here."""
    why: str = ""
    """Why nothing was run, and what to do."""


class HeldCall(Record, frozen=True, kw_only=True):
    """A call that waits for a person, with all that it would send."""

    task_id: str
    tool: str
    arguments: Any


class ExecuteResponse(Record, frozen=True, kw_only=True):
    """The answer; ``status`` says which of the optional parts are there."""

    status: Annotated[str, msgspec.Meta(pattern=STATUS)]
    """How the request ended, or what it waits for."""
    workflow_id: str | None = None
    intent: str | None = None
    """Of a run that waits: what it is for, so that nobody decides without having read it."""
    result: Any | msgspec.UnsetType = msgspec.UNSET
    """What the program returned; there exactly when it succeeded, null included, unless it is
    too large for an MCP answer."""
    result_preview: str | None = None
    """The first characters of the JSON of a result that is too large for an MCP answer."""
    result_chars: Count | None = None
    """How many characters of JSON that result has."""
    capability_id: str | None = None
    trace_id: str | None = None
    mode: Literal["direct", "speculation"] = "direct"
    execution_time_ms: Duration = 0.0
    tasks: tuple[TaskSummary, ...] = ()
    tool_failures: tuple[ToolFailure, ...] = msgspec.field(name="tool_failures", default=())
    in_doubt: tuple[TaskSummary, ...] = ()
    """Writes whose outcome nobody knows."""
    approvals: tuple[Permission, ...] = ()
    """What a person has to agree to."""
    approval_id: str | None = None
    """Of that request; what `pml_approval_response` names."""
    held: tuple[HeldCall, ...] = ()
    """The calls that it is about; none where it is about the whole plan."""
    expires_at_ms: Count | None = None
    """Of a run that waits: until when it can be answered."""
    plan: Plan | None = None
    """All that would happen, of a run that waits for that person (HIL-2)."""
    checkpoint_id: str | None = None
    """Of a run that waits after a layer (EX-5); what `pml_continue` names."""
    pending_layer: Count | None = None
    """Number of the frontier that is held."""
    layer_results: tuple[TaskSummary, ...] = ()
    """The calls since the last pause."""
    suggestions: Suggestions | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    warnings: tuple[str, ...] = ()
    error: ExecuteError | None = None
    dag: DagMetadata | None = None
