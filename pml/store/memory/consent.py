"""Requests for approval, remembered ones, and the audit log in memory."""

from collections.abc import Callable, Sequence

import msgspec

from pml.domain.approval import Approval, ApprovalState, AuditEntry, Grant
from pml.errors import FencedError
from pml.store.audited import noted, of_approval, of_grant, of_revocation
from pml.store.memory.data import Data, stored
from pml.store.messages import (
    answered,
    approval_exists,
    check_pending,
    grant_exists,
    no_approval,
    no_grant,
    no_run_to_approve,
)
from pml.store.printable import printable


class MemoryApprovals:
    """By id."""

    def __init__(self, data: Data) -> None:
        self._data = data

    async def ask(self, approval: Approval, *, epoch: int) -> None:
        """See `Approvals.ask`."""
        check_pending(approval)
        if approval.run_id not in self._data.runs:
            raise no_run_to_approve(approval.run_id)
        if self._data.runs[approval.run_id].epoch != epoch:
            raise FencedError(approval.run_id)
        if approval.id in self._data.approvals:
            raise approval_exists(approval.id)
        await self.withdraw(approval.run_id, now_ms=approval.asked_at_ms)
        kept = msgspec.structs.replace(approval, note=noted(approval.note))
        self._data.approvals[approval.id] = stored(kept)
        self._data.note(of_approval(kept))

    async def get(self, approval_id: str) -> Approval:
        """See `Approvals.get`."""
        if approval_id not in self._data.approvals:
            raise no_approval(approval_id)
        return self._data.approvals[approval_id]

    async def of_run(self, run_id: str) -> tuple[Approval, ...]:
        """See `Approvals.of_run`."""
        return self._oldest(lambda one: one.run_id == run_id)

    async def pending(self, limit: int) -> tuple[Approval, ...]:
        """See `Approvals.pending`."""
        return self._oldest(lambda one: one.state is ApprovalState.PENDING)[:limit]

    async def decide(
        self, approval_id: str, *, granted: bool, by: str, note: str = "", now_ms: int
    ) -> Approval:
        """See `Approvals.decide`."""
        found = await self.get(approval_id)
        state = ApprovalState.GRANTED if granted else ApprovalState.REFUSED
        if found.state is not ApprovalState.PENDING or found.expires_at_ms <= now_ms:
            return answered(found, state)
        return self._end(found, state, now_ms, decided_by=printable(by), note=noted(note))

    async def withdraw(self, run_id: str, *, now_ms: int) -> None:
        """See `Approvals.withdraw`."""
        for one in await self.of_run(run_id):
            if one.state is ApprovalState.PENDING:
                self._end(one, ApprovalState.WITHDRAWN, now_ms)

    async def expire(self, now_ms: int) -> tuple[Approval, ...]:
        """See `Approvals.expire`."""
        over = self._oldest(
            lambda one: one.state is ApprovalState.PENDING and one.expires_at_ms <= now_ms
        )
        over = tuple(sorted(over, key=lambda one: (one.expires_at_ms, one.id)))
        return tuple(self._end(one, ApprovalState.EXPIRED, now_ms) for one in over)

    def _end(self, approval: Approval, state: ApprovalState, now_ms: int, **said: str) -> Approval:
        ended = msgspec.structs.replace(approval, state=state, decided_at_ms=now_ms, **said)
        self._data.approvals[approval.id] = ended
        self._data.note(of_approval(ended))
        return ended

    def _oldest(self, wanted: Callable[[Approval], bool]) -> tuple[Approval, ...]:
        found = filter(wanted, self._data.approvals.values())
        return tuple(sorted(found, key=lambda one: (one.asked_at_ms, one.id)))


class MemoryGrants:
    """By id."""

    def __init__(self, data: Data) -> None:
        self._data = data

    async def remember(self, grant: Grant) -> None:
        """See `Grants.remember`."""
        if grant.id in self._data.grants:
            raise grant_exists(grant.id)
        self._data.grants[grant.id] = stored(
            msgspec.structs.replace(
                grant, granted_by=printable(grant.granted_by), note=noted(grant.note)
            )
        )
        self._data.note(of_grant(grant))

    async def all(self) -> tuple[Grant, ...]:
        """See `Grants.all`."""
        grants = self._data.grants.values()
        return tuple(sorted(grants, key=lambda one: (-one.granted_at_ms, one.id)))

    async def active(self, now_ms: int) -> tuple[Grant, ...]:
        """See `Grants.active`."""
        found = [
            one
            for one in self._data.grants.values()
            if one.revoked_at_ms is None
            and (one.expires_at_ms is None or one.expires_at_ms > now_ms)
        ]
        return tuple(sorted(found, key=lambda one: (one.granted_at_ms, one.id)))

    async def revoke(self, grant_id: str, *, by: str, now_ms: int) -> Grant:
        """See `Grants.revoke`."""
        if grant_id not in self._data.grants:
            raise no_grant(grant_id)
        grant = self._data.grants[grant_id]
        if grant.revoked_at_ms is None:
            grant = msgspec.structs.replace(grant, revoked_at_ms=now_ms)
            self._data.grants[grant_id] = grant
            self._data.note(of_revocation(grant, by=by, now_ms=now_ms))
        return grant


class MemoryAudit:
    """In the order of writing."""

    def __init__(self, data: Data) -> None:
        self._data = data

    async def write(self, entries: Sequence[AuditEntry]) -> None:
        """See `Audit.write`."""
        self._data.note(*entries)

    async def recent(self, limit: int, *, run_id: str | None = None) -> tuple[AuditEntry, ...]:
        """See `Audit.recent`."""
        found = [one for one in self._data.audit if run_id is None or one.run_id == run_id]
        found.reverse()
        return tuple(sorted(found, key=lambda one: -one.at_ms)[:limit])
