"""What is asked of a run that waits: continue, abort, replan, answer (EX-5, HIL-4).

Every request is idempotent: sent twice it has the effect of once, and the second answer says
how the run stands now.  All of them are answered with an `ExecuteResponse`.
"""

from enum import StrEnum
from typing import Any

import msgspec

from pml.domain.approval import GrantScope
from pml.domain.dag import ExplicitDag
from pml.domain.record import Record
from pml.domain.response import DEFAULT_TIMEOUT_MS


class DoubtAction(StrEnum):
    """What becomes of a write whose outcome nobody knows (EX-3)."""

    RETRY = "retry"
    """It is sent once more."""
    RESULT = "result"
    """It took effect; the code is given this result."""
    SKIP = "skip"
    """The code gets a `ToolError` with code ``skipped``."""


class Resolution(Record, frozen=True, kw_only=True):
    """The answer for one write in doubt."""

    task_id: str = msgspec.field(name="task_id")
    action: DoubtAction
    result: Any | msgspec.UnsetType = msgspec.UNSET
    """Of ``result`` only."""
    message: str = ""
    """Of ``skip``: what the error says."""


class ContinueRequest(Record, frozen=True, kw_only=True):
    """Let a run go on that is paused, interrupted or in doubt."""

    workflow_id: str = msgspec.field(name="workflow_id")
    checkpoint_id: str | None = msgspec.field(name="checkpoint_id", default=None)
    """Which pause is meant; one that was continued before is not continued again.  None: the
    present one."""
    resolutions: tuple[Resolution, ...] = ()
    """One for every write in doubt, else the run stays in doubt."""


class AbortRequest(Record, frozen=True, kw_only=True):
    """End a run that waits, or cancel one that runs."""

    workflow_id: str = msgspec.field(name="workflow_id")
    reason: str = ""


class ReplanRequest(Record, frozen=True, kw_only=True):
    """End a run that waits and go on with other code, which sees its results as ``context``."""

    workflow_id: str = msgspec.field(name="workflow_id")
    checkpoint_id: str | None = msgspec.field(name="checkpoint_id", default=None)
    intent: str | None = None
    """None: that of the run."""
    code: str | None = None
    dag: ExplicitDag | None = None
    args: dict[str, Any] = {}  # noqa: RUF012
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    per_layer_validation: bool | None = None
    """None: as the run."""


class ApprovalAnswer(Record, frozen=True, kw_only=True):
    """A person's yes or no."""

    workflow_id: str = msgspec.field(name="workflow_id")
    approval_id: str | None = msgspec.field(name="approval_id", default=None)
    """Which request is answered; None: the pending one of the run."""
    approved: bool
    note: str = ""
    """For the audit log and, of a refusal, for the agent."""
    remember: GrantScope | None = None
    """Grant the same from now on, as far as this scope goes (HIL-3)."""
