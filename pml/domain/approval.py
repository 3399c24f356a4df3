"""A person's consent: asked for, given, remembered, written down (HIL-2 to HIL-5).

An approval belongs to one run.  What it covers is bound by hashes, never by copies: the plan
that the person saw is computed again from the run's encrypted program, and arguments of calls
that were asked for one by one lie in its log.  A grant outlives runs and speaks of tools.
"""

from enum import StrEnum
from typing import Annotated, Any

import msgspec

from pml.domain.record import Count, Record
from pml.domain.tools import Tool


class Role(StrEnum):
    """What the holder of an API key may do; each may do what those before it may."""

    VIEWER = "viewer"
    """Read runs, traces, tools, results."""
    AGENT = "agent"
    """Run programs; continue, abort and replan them."""
    APPROVER = "approver"
    """Answer approvals and writes in doubt; revoke grants."""
    ADMIN = "admin"
    """Accept tools, make keys, clean up."""

    def may(self, needed: "Role") -> bool:
        """Whether this role includes ``needed``."""
        order = list(Role)
        return order.index(self) >= order.index(needed)


class Principal(Record, frozen=True, kw_only=True):
    """Who asks."""

    name: str
    """Of the API key, or ``local`` for the owner of the machine."""
    role: Role


class ApprovalState(StrEnum):
    """Where a request for approval stands; all but the first are final."""

    PENDING = "pending"
    GRANTED = "granted"
    REFUSED = "refused"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    """The run ended otherwise: aborted, replanned, cancelled."""


class ToolVersion(Record, frozen=True, kw_only=True):
    """A tool as it was described when it was asked for."""

    tool: str
    """``server:tool``; ``*`` where the plan cannot name it, which covers nothing."""
    schema_hash: str


class Approval(Record, frozen=True, kw_only=True):
    """One request for approval of one run.

    Without ``calls`` it covers the plan: calls of ``tools`` whose arguments are what the plan
    says as far as it says them.  With ``calls`` it covers exactly those calls of the run.
    """

    id: str
    run_id: str
    source_hash: str
    """SHA-256 of the source as sent (rule 12)."""
    arguments_hmac: str
    """HMAC of the bound arguments."""
    tools: tuple[ToolVersion, ...]
    """Those that need consent."""
    calls: tuple[Count, ...] = ()
    """Numbers of the calls in the run's log that were not in the plan."""
    state: ApprovalState = ApprovalState.PENDING
    asked_at_ms: Count
    expires_at_ms: Count
    decided_at_ms: Count | None = None
    decided_by: str = ""
    note: str = ""


class GrantScope(Record, frozen=True, kw_only=True):
    """How far a remembered approval reaches; every part that is given must fit."""

    tool: str
    """``server:tool`` or a pattern of it (``*``, ``?``)."""
    arguments: dict[str, Any] = {}  # noqa: RUF012
    """By top-level name: a JSON value that must be equal, or text with ``*`` and ``?``; others
    are free."""
    capability_id: str | None = None
    """Only in runs of this version of a capability."""
    ttl_s: Annotated[int, msgspec.Meta(gt=0)] | None = None
    """None: until it is revoked."""


class Grant(Record, frozen=True, kw_only=True):
    """A remembered approval."""

    id: str
    scope: GrantScope
    granted_at_ms: Count
    granted_by: str
    expires_at_ms: Count | None = None
    revoked_at_ms: Count | None = None
    note: str = ""


class AuditEvent(StrEnum):
    """What the audit log tells of."""

    ASKED = "asked"
    GRANTED = "granted"
    USED = "used"
    REFUSED = "refused"
    REVOKED = "revoked"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    """A request whose run ended otherwise."""
    ACCEPTED = "accepted"
    """A changed tool."""
    KEY_CREATED = "key_created"
    KEY_REVOKED = "key_revoked"


class AuditEntry(Record, frozen=True, kw_only=True):
    """One line of the audit log."""

    at_ms: Count
    event: AuditEvent
    actor: str
    """Who: a principal, ``permissions.yaml``, ``grant ID``, ``approval ID``."""
    run_id: str | None = None
    capability_id: str | None = None
    tool: str | None = None
    arguments_hmac: str | None = None
    detail: dict[str, Any] = {}  # noqa: RUF012
    """Sanitised."""


class Quarantined(Record, frozen=True, kw_only=True):
    """A tool that is described otherwise than when it was accepted (HIL-5)."""

    accepted: Tool
    now: Tool


class ApiKey(Record, frozen=True, kw_only=True):
    """An API key, without the key: that is shown once, and only its hash is kept."""

    id: str
    name: str
    role: Role
    created_at_ms: Count
    revoked_at_ms: Count | None = None
    used_at_ms: Count | None = None
