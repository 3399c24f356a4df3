"""Capabilities that code calls: each call is a run of its own (EX-10; design, section 5, rule 13).

To the broker a capability is a tool of the server ``capabilities``: its calls are logged,
permitted and delivered like any other.  Here that server is answered for.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pml.domain.capability import CAPABILITY_SERVER, Capability
from pml.domain.permissions import ApprovalMode, Effect, Permission, Scope
from pml.domain.structure import ANY_TOOL, StaticStructure
from pml.domain.tools import Catalog, Tool
from pml.loop.library import called_ids
from pml.runtime.plan import JudgesTools

UNKNOWN_TOOL = "the code calls a tool that is known only when it runs"
_EFFECTS = list(Effect)
"""From harmless to not."""
_SCOPES = list(Scope)


def permissions_of(
    structure: StaticStructure,
    callees: Mapping[str, Capability],
    catalog: Catalog,
    judge: JudgesTools,
) -> tuple[Permission, ...]:
    """What holds for every tool that the program may call, through capabilities too.

    Args:
        structure: of the program.
        callees: every capability that it calls, directly or not, by id.
        catalog: with the tools of all of them.
        judge: the permissions in force.
    """
    reached = [structure, *(callees[each].structure for each in _reached(structure, callees))]
    found = {} if all(s.complete for s in reached) else {ANY_TOOL: _unknown(ANY_TOOL, UNKNOWN_TOOL)}
    for tool_id in dict.fromkeys(tool for each in reached for tool in each.tools()):
        if tool_id == ANY_TOOL:
            continue
        tool = catalog.find(tool_id)
        gone = f"{tool_id} is not offered any more"
        found[tool_id] = _unknown(tool_id, gone) if tool is None else judge.of(tool)
    return tuple(found.values())


def _reached(structure: StaticStructure, callees: Mapping[str, Capability]) -> Iterable[str]:
    found: dict[str, None] = {}
    pending = list(called_ids(structure))
    while pending:
        capability_id = pending.pop()
        if capability_id not in found:
            found[capability_id] = None
            pending += called_ids(callees[capability_id].structure)
    return found


def _unknown(tool: str, reason: str) -> Permission:
    return Permission(tool=tool, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgesCapabilities:
    """Permissions in which a capability may do what all of its tools may do together."""

    tools: JudgesTools
    catalog: Catalog
    by_name: Mapping[str, Capability]
    """What the program calls, under the names that it uses."""
    callees: Mapping[str, Capability]
    """Those and what they call, by id."""

    def of(self, tool: Tool) -> Permission:
        """What holds for a tool, or for a capability that stands as one."""
        if tool.server != CAPABILITY_SERVER:
            return self.tools.of(tool)
        structure = self.by_name[tool.name].structure
        parts = permissions_of(structure, self.callees, self.catalog, self.tools)
        asks = [part.tool for part in parts if part.approval_mode is ApprovalMode.HIL]
        return Permission(
            tool=", ".join(asks) or tool.id,
            scope=max((p.scope for p in parts), key=_SCOPES.index, default=Scope.MINIMAL),
            effect=max((p.effect for p in parts), key=_EFFECTS.index, default=Effect.READ),
            approval_mode=ApprovalMode.HIL if asks else ApprovalMode.AUTO,
            reason=f"called by {tool.name}" if asks else "as its tools",
        )
