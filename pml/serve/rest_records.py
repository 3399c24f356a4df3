"""What REST takes and answers, besides the records of `pml.domain` (OP-3)."""

from typing import Annotated, Any, TypeAlias

import msgspec

from pml.domain.approval import Approval, AuditEntry, Grant, GrantScope
from pml.domain.dag import ExplicitDag
from pml.domain.record import Record
from pml.domain.response import DEFAULT_TIMEOUT_MS, ExecuteResponse
from pml.domain.run import Run, RunState
from pml.domain.steering import Resolution
from pml.domain.tools import Tool

_Limit: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=1_000)]


class Recent(Record, frozen=True, kw_only=True):
    """How many, the latest first."""

    limit: _Limit = 50


class RecentRuns(Record, frozen=True, kw_only=True):
    """Which runs, the latest first."""

    limit: _Limit = 50
    state: RunState | None = None


class RecentAudit(Record, frozen=True, kw_only=True):
    """Which lines of the audit log, the latest first."""

    limit: _Limit = 50
    run_id: str | None = None


class RunList(Record, frozen=True, kw_only=True):
    """Runs."""

    runs: tuple[Run, ...]


class RunView(Record, frozen=True, kw_only=True):
    """One run, and how it stands: what it waits for, or how it ended."""

    run: Run
    standing: ExecuteResponse


class ApprovalList(Record, frozen=True, kw_only=True):
    """Requests that wait for an answer, the oldest first; the run's view shows the plan."""

    approvals: tuple[Approval, ...]


class GrantList(Record, frozen=True, kw_only=True):
    """Remembered approvals, revoked and expired ones too."""

    grants: tuple[Grant, ...]


class AuditList(Record, frozen=True, kw_only=True):
    """Lines of the audit log."""

    entries: tuple[AuditEntry, ...]


class ChangedTool(Record, frozen=True, kw_only=True):
    """See `Quarantined`."""

    accepted: Tool
    now: Tool
    schema_hash: str
    """Of ``now``: accepting takes it."""


class QuarantineList(Record, frozen=True, kw_only=True):
    """Tools that changed since they were accepted."""

    tools: tuple[ChangedTool, ...]


class Continue(Record, frozen=True, kw_only=True):
    """See `ContinueRequest`."""

    checkpoint_id: str | None = None
    resolutions: tuple[Resolution, ...] = ()


class Abort(Record, frozen=True, kw_only=True):
    """See `AbortRequest`."""

    reason: str = ""


class NewPlan(Record, frozen=True, kw_only=True):
    """See `ReplanRequest`."""

    checkpoint_id: str | None = None
    intent: str | None = None
    code: str | None = None
    dag: ExplicitDag | None = None
    args: dict[str, Any] = {}  # noqa: RUF012
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    per_layer_validation: bool | None = None


class Answer(Record, frozen=True, kw_only=True):
    """See `ApprovalAnswer`."""

    approved: bool
    note: str = ""
    remember: GrantScope | None = None


class Acceptance(Record, frozen=True, kw_only=True):
    """A tool, as it was looked at."""

    tool: str
    schema_hash: str
    """As the list said it: what has changed since is not accepted."""
