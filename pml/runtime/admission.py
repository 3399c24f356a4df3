"""Which calls of a run may go out, and which wait: limits, consent, frontiers (rules 9 and 12).

Judged each time that a call is about to go out, resumed ones too: what was allowed before a
pause may not be allowed after it.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.log_rules import CallState
from pml.domain.nearest import did_you_mean
from pml.domain.permissions import ApprovalMode, Effect, Permission
from pml.domain.quarantine import changed_meanwhile, quarantine_of
from pml.domain.run import Failed, Issued
from pml.domain.tools import Tool
from pml.runtime.plan import RunPlan

_REFUSALS = frozenset({"unknown_tool", "too_large", "quarantined"})
"""Codes of calls that went to no server."""


@dataclass(slots=True)
class Admission:
    """Judges the calls of one run.

    Invariant: a call is in ``held`` exactly while it waits for its frontier to be let go.
    """

    plan: RunPlan
    ledger: Ledger
    limits: Limits
    held: list[Issued] = field(default_factory=list)
    _unchanged: dict[str, Tool] = field(default_factory=dict)
    """What servers last said of tools that are as the run knows them."""

    def effect(self, tool_id: str) -> Effect:
        """What a call of the tool does to the world."""
        return self._permission(self._tool(tool_id)).effect

    def refusal(self, issued: Issued) -> Failed | None:
        """The answer to a call that goes to no server, whatever the permissions say."""
        if (tool := self.plan.catalog.find(issued.tool)) is None:
            server, _, name = issued.tool.partition(":")
            hint = did_you_mean(name, self.plan.catalog.tools_of(server))
            return Failed(code="unknown_tool", message=f"no tool {issued.tool}{hint}")
        if reason := quarantine_of(tool):
            return Failed(code="quarantined", message=reason)
        size = len(issued.arguments.encode())
        if size > self.limits.arguments_bytes:
            return Failed(
                code="too_large",
                message=f"the arguments are {size} bytes, the limit is "
                f"{self.limits.arguments_bytes} (arguments_bytes): pass less, or in several calls",
            )
        return None

    def holds(self, issued: Issued) -> bool:
        """Whether the call has to wait for its frontier; then it does."""
        waits = self.plan.per_layer and not (
            self.ledger.calls[issued.call].attempts or self.ledger.released(issued.call)
        )
        if waits:
            self.held.append(issued)
        return waits

    def frontier(self) -> list[Issued]:
        """The calls that waited, now on their way out."""
        frontier, self.held = self.held, []
        return frontier

    @property
    def at_first_frontier(self) -> bool:
        """Whether no frontier was let go yet: the first one is never held (EX-5)."""
        return self.ledger.layer == 0 and not any(map(_went_out, self.ledger.calls))

    def uncovered(self, calls: Iterable[Issued]) -> dict[Issued, Permission]:
        """Those that need a consent which nobody gave."""
        found: dict[Issued, Permission] = {}
        for issued in calls:
            tool = self._tool(issued.tool)
            permission = self._permission(tool)
            asks = permission.approval_mode is ApprovalMode.HIL
            if asks and not self.plan.consents.covers(issued, tool):
                found[issued] = permission
        return found

    def permission(self, issued: Issued) -> Permission:
        """What holds for the tool of a call."""
        return self._permission(self._tool(issued.tool))

    def consent(self, issued: Issued) -> Callable[[], Awaitable[bool]] | None:
        """What is to be asked right before the call is made; None: it needs no consent."""
        tool = self._tool(issued.tool)
        if issued.of_capability or self._permission(tool).approval_mode is ApprovalMode.AUTO:
            return None
        return partial(self.plan.consents.use, issued, tool)

    def changed(self, issued: Issued) -> Failed | None:
        """The answer to a call whose tool is no more what the run was prepared with (HIL-5)."""
        now = None if issued.of_capability else self.plan.described(issued.tool)
        if now is None or now is self._unchanged.get(issued.tool):
            return None
        known = self._tool(issued.tool)
        if now.schema_hash() != known.schema_hash():
            return Failed(code="quarantined", message=changed_meanwhile(known, now))
        self._unchanged[issued.tool] = now  # a listing is compared once, not at every call
        return None

    def _tool(self, tool_id: str) -> Tool:
        server, _, name = tool_id.partition(":")
        return self.plan.catalog.find(tool_id) or Tool(server=server, name=name)

    def _permission(self, tool: Tool) -> Permission:
        if self.plan.catalog.find(tool.id) is None:
            return Permission(tool=tool.id, reason="nobody offers it")
        return self.plan.permissions.of(tool)


def _went_out(call: CallState) -> bool:
    """Whether a call was let go: it was attempted, or its server could not be reached."""
    refused = isinstance(call.outcome, Failed) and call.outcome.code in _REFUSALS
    return call.attempts > 0 or (not call.open and not refused)
