"""What the broker is handed of a run, and what it asks of sandbox and permissions."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from pml.domain.permissions import Permission
from pml.domain.tools import Catalog, Tool
from pml.runtime.sandbox import protocol


class Sandbox(Protocol):
    """The part of a sandbox that the broker needs."""

    def start(self, program: protocol.StartInput) -> None: ...  # noqa: D102
    async def turn(self) -> protocol.Turn: ...  # noqa: D102
    def deliver(self, outcome: protocol.DeliverInput) -> None: ...  # noqa: D102
    def fire(self, timer: protocol.FireInput) -> None: ...  # noqa: D102
    def stop(self) -> None: ...  # noqa: D102


class JudgesTools(Protocol):
    """The part of the permissions that the broker needs."""

    def of(self, tool: Tool) -> Permission: ...  # noqa: D102


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """What the broker is handed of a run."""

    run_id: str
    start: protocol.StartInput
    sites: Collection[str]
    """Call sites of the program; a label that is none of them says nothing."""
    catalog: Catalog
    permissions: JudgesTools
    approved: Collection[str] = ()
    """Tools that a person has agreed to for this run."""
    timeout_ms: int
