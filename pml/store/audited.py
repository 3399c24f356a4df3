"""Which entries of the audit log go with which change (HIL-3): the same in both stores.  Pure.

What is asked, answered and remembered is written down in the transaction that does it; who
uses a consent writes that entry itself.
"""

import msgspec

from pml.domain.approval import (
    ApiKey,
    Approval,
    ApprovalState,
    AuditEntry,
    AuditEvent,
    Grant,
    Quarantined,
)
from pml.domain.record import to_builtins
from pml.domain.sanitising import redact
from pml.domain.secret_rules import redact_text
from pml.domain.tools import changes_of
from pml.store.printable import printable

PML = "pml"
"""Who did what no person did."""

_EVENTS = {
    ApprovalState.PENDING: AuditEvent.ASKED,
    ApprovalState.GRANTED: AuditEvent.GRANTED,
    ApprovalState.REFUSED: AuditEvent.REFUSED,
    ApprovalState.EXPIRED: AuditEvent.EXPIRED,
    ApprovalState.WITHDRAWN: AuditEvent.WITHDRAWN,
}


def of_approval(approval: Approval) -> AuditEntry:
    """How a request came to where it stands."""
    detail = {
        "approvalId": approval.id,
        "tools": [version.tool for version in approval.tools],
        "calls": list(approval.calls),
    }
    if approval.note:
        detail["note"] = approval.note
    decided_at_ms = approval.decided_at_ms
    return AuditEntry(
        at_ms=approval.asked_at_ms if decided_at_ms is None else decided_at_ms,
        event=_EVENTS[approval.state],
        actor=approval.decided_by or PML,
        run_id=approval.run_id,
        arguments_hmac=approval.arguments_hmac,
        detail=detail,
    )


def of_grant(grant: Grant) -> AuditEntry:
    """A grant was given."""
    return AuditEntry(
        at_ms=grant.granted_at_ms,
        event=AuditEvent.GRANTED,
        actor=grant.granted_by,
        capability_id=grant.scope.capability_id,
        tool=grant.scope.tool,
        detail={"grantId": grant.id, "scope": to_builtins(grant.scope)},
    )


def of_revocation(grant: Grant, *, by: str, now_ms: int) -> AuditEntry:
    """A grant was taken back."""
    return msgspec.structs.replace(
        of_grant(grant), at_ms=now_ms, event=AuditEvent.REVOKED, actor=by
    )


def of_acceptance(tool: Quarantined, *, by: str, now_ms: int) -> AuditEntry:
    """Somebody accepted a tool as it is described now."""
    return AuditEntry(
        at_ms=now_ms,
        event=AuditEvent.ACCEPTED,
        actor=by,
        tool=tool.now.id,
        detail={
            "changed": list(changes_of(tool.accepted, tool.now)),
            "schemaHash": tool.now.schema_hash(),
        },
    )


def of_key(key: ApiKey, *, by: str) -> AuditEntry:
    """An API key was made, or opens nothing any more."""
    revoked = key.revoked_at_ms is not None
    return AuditEntry(
        at_ms=key.created_at_ms if key.revoked_at_ms is None else key.revoked_at_ms,
        event=AuditEvent.KEY_REVOKED if revoked else AuditEvent.KEY_CREATED,
        actor=by,
        detail={"keyId": printable(key.id), "name": printable(key.name), "role": key.role.value},
    )


def sanitised(entry: AuditEntry) -> AuditEntry:
    """The entry as it may be kept for ever: without secrets, and text that a database holds."""
    return msgspec.structs.replace(
        entry,
        actor=printable(entry.actor),
        run_id=_printable(entry.run_id),
        capability_id=_printable(entry.capability_id),
        tool=_printable(entry.tool),
        arguments_hmac=_printable(entry.arguments_hmac),
        detail=redact(entry.detail),
    )


def noted(text: str) -> str:
    """What a person wrote, as it is kept."""
    return redact_text(printable(text))


def _printable(text: str | None) -> str | None:
    return None if text is None else printable(text)
