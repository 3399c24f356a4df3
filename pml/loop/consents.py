"""What was agreed to for one run, as its broker and the loop ask for it (HIL-2, HIL-3).

Approvals of a run do not change once they are granted, so they are read when it goes on.
Grants can be revoked and expire, so they are read again for each call that goes by one; and
every call that goes because somebody agreed is in the audit log before it is sent.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from pml.domain.approval import AuditEntry, AuditEvent, Grant
from pml.domain.capability import Capability
from pml.domain.permissions import ApprovalMode, Permission
from pml.domain.plan import Plan, PlannedCall
from pml.domain.quarantine import quarantine_of
from pml.domain.run import Issued, Run
from pml.domain.structure import StaticStructure
from pml.domain.tools import Catalog, Tool
from pml.runtime.consent import (
    Consent,
    Consents,
    GrantConsent,
    PlanConsent,
    reaches_planned,
    version_of,
)
from pml.store.ports import Store


@dataclass(slots=True, kw_only=True)
class RunConsents:
    """What was agreed to for one run, as its broker asks for it."""

    run: Run
    store: Store
    now_ms: Callable[[], int]
    agreed: Consents
    """Approvals of the run, and of its caller's plan."""
    grants: tuple[Grant, ...]
    """Those that held when they were read last."""
    _together: Consents = field(init=False)

    def __post_init__(self) -> None:
        self._together = self._with_grants()

    def covers(self, issued: Issued, tool: Tool) -> bool:
        """Whether the call may go, as far as it is known here."""
        now_ms = self.now_ms()
        if any(g.expires_at_ms is not None and g.expires_at_ms <= now_ms for g in self.grants):
            self.grants = tuple(
                g for g in self.grants if g.expires_at_ms is None or g.expires_at_ms > now_ms
            )
            self._together = self._with_grants()
        return self._together.covers(issued, tool)

    async def use(self, issued: Issued, tool: Tool) -> bool:
        """Judge the call once more, right before it is sent, and write down what it goes by.

        Raises:
            StoreError: the database is lost; the call must not be sent.
        """
        by = self.agreed.covering(issued, tool)
        if by is None:
            self.grants = await self.store.grants.active(self.now_ms())
            self._together = self._with_grants()
            by = self._together.covering(issued, tool)
        if by is None:
            return False
        used = AuditEntry(
            at_ms=self.now_ms(),
            event=AuditEvent.USED,
            actor=by,
            run_id=self.run.id,
            capability_id=self.run.capability_id,
            tool=issued.tool,
            arguments_hmac=self.store.hmac(issued.arguments),
            detail={"taskId": issued.task_id},
        )
        await self.store.audit.write((used,))
        return True

    def within(self, issued: Issued, source_hash: str) -> Consents:
        """What holds in the run that a capability call starts, before anybody is asked for it."""
        return self.agreed.within(issued, source_hash)

    def needed(
        self, plan: Plan, catalog: Catalog, callees: Iterable[Capability] = ()
    ) -> tuple[Permission, ...]:
        """Which tools of the plan somebody must be asked for; none: the run may begin.

        Args:
            plan: of the run.
            catalog: with its tools.
            callees: the capabilities that it calls, directly or not.
        """
        version = {hashlib.sha256(each.code.encode()).hexdigest(): each.id for each in callees}
        calls = [(call, self.run.capability_id) for call in plan.program.calls]
        for program in plan.capabilities.values():
            calls += [(call, version.get(program.source_hash)) for call in program.calls]
        return tuple(
            permission
            for permission in plan.tools
            if permission.approval_mode is ApprovalMode.HIL
            and not self._is_settled(permission.tool, calls, catalog)
        )

    def _is_settled(
        self, tool_id: str, calls: Iterable[tuple[PlannedCall, str | None]], catalog: Catalog
    ) -> bool:
        """Whether it was asked for already, or grants cover every call of it that is planned."""
        now = version_of(tool_id, catalog.find(tool_id)).schema_hash
        plans = (each for each in self.agreed.consents if isinstance(each, PlanConsent))
        if any(plan.asked_for(tool_id, now) for plan in plans):
            return True
        planned = [(call, version) for call, version in calls if call.tool == tool_id]
        return bool(planned) and all(
            any(reaches_planned(grant.scope, call, version) for grant in self.grants)
            for call, version in planned
        )

    def _with_grants(self) -> Consents:
        capability_id = self.run.capability_id
        remembered: list[Consent] = [
            GrantConsent(grant=grant, capability_id=capability_id) for grant in self.grants
        ]
        return self.agreed.and_also(remembered)


def quarantined(structures: Iterable[StaticStructure], catalog: Catalog) -> str | None:
    """Why a program may not run whose tools changed since they were accepted (HIL-5)."""
    named = dict.fromkeys(tool for each in structures for tool in each.tools())
    found = (catalog.find(tool_id) for tool_id in named)
    reasons = (quarantine_of(tool) for tool in found if tool is not None)
    return "; ".join(reason for reason in reasons if reason is not None) or None
