"""What a tool may do, and whether a person is asked first (HIL-1; design, section 5, rule 5)."""

from enum import StrEnum
from typing import Annotated, Literal

import msgspec

from pml.domain.record import Record


class Effect(StrEnum):
    """What a call does to the world; decides retries and what an unknown outcome means."""

    READ = "read"
    IDEMPOTENT = "idempotent"
    WRITE = "write"


class Scope(StrEnum):
    """How far a tool reaches."""

    MINIMAL = "minimal"
    READONLY = "readonly"
    FILESYSTEM = "filesystem"
    NETWORK = "network"
    FULL = "full"


class ApprovalMode(StrEnum):
    """``auto`` runs at once; ``hil`` asks a human in the loop before anything runs."""

    AUTO = "auto"
    HIL = "hil"


class PermissionRule(Record, frozen=True, kw_only=True, rename=None):
    """What ``permissions.yaml`` says of the tools that match a pattern; keys as spelled there."""

    scope: Scope = Scope.FULL
    effect: Effect = Effect.WRITE
    approval_mode: ApprovalMode = ApprovalMode.HIL


class ServerPermissions(Record, frozen=True, kw_only=True, rename=None):
    """The section of one server: a rule per tool pattern (``*``, ``?``; the first match holds)."""

    trusted: bool = False
    """Whether the server's own annotations (``readOnlyHint``...) may set the effect."""
    tools: dict[str, PermissionRule] = {}  # noqa: RUF012


class ApprovalRules(Record, frozen=True, kw_only=True, rename=None):
    """Who may answer requests for approval, and until when (HIL-4)."""

    agents: bool = False
    """Whether an agent may answer for a person; to remember an answer it never may."""
    ttl_s: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """How long an answer is waited for; None: ``waiting_ttl_s`` of the limits."""


class PermissionsFile(Record, frozen=True, kw_only=True, rename=None):
    """The whole of ``permissions.yaml``; without an entry a tool needs approval."""

    version: Literal[1]
    servers: dict[str, ServerPermissions] = {}  # noqa: RUF012
    approvals: ApprovalRules = ApprovalRules()


class Permission(Record, frozen=True, kw_only=True):
    """What holds for one tool, after patterns and annotations."""

    tool: str
    scope: Scope = Scope.FULL
    effect: Effect = Effect.WRITE
    approval_mode: ApprovalMode = ApprovalMode.HIL
    reason: str = ""
    """Which rule decided, in words."""
