"""What the broker is handed of a run, and what it asks of sandbox, permissions and consents."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

from pml.domain.permissions import Permission
from pml.domain.run import Issued
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


class Consents(Protocol):
    """What people have agreed to, as far as this run goes (HIL-2)."""

    def covers(self, issued: Issued, tool: Tool) -> bool:
        """Whether this call of a tool that needs consent may be made."""

    async def use(self, issued: Issued, tool: Tool) -> bool:
        """The call is about to be made; writes that down.

        Whether the consent still holds: it may have been withdrawn since.

        Raises:
            StoreError: nobody knows whether it was written down.
        """


class NoConsent:
    """Nobody has agreed to anything."""

    def covers(self, issued: Issued, tool: Tool) -> bool:  # noqa: ARG002
        """Not."""
        return False

    async def use(self, issued: Issued, tool: Tool) -> bool:  # noqa: ARG002
        """Not."""
        return False


NO_CONSENT = NoConsent()


def _nobody_says(tool_id: str) -> Tool | None:  # noqa: ARG001
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """What the broker is handed of a run; the same each time it is resumed."""

    run_id: str
    start: protocol.StartInput
    """``now_ms`` is `Run.started_at_ms`."""
    sites: Collection[str]
    """Call sites of the program; a label that is none of them says nothing."""
    catalog: Catalog
    permissions: JudgesTools
    described: Callable[[str], Tool | None] = _nobody_says
    """How its server describes a tool at the moment; None: it does not say.  A tool that is
    not what ``catalog`` has changed under the run, and is not called (HIL-5)."""
    consents: Consents = NO_CONSENT
    per_layer: bool = False
    """Whether calls wait before each frontier but the first until somebody lets them go."""
    timeout_ms: int
    """Of the whole run; what earlier processes ran counts."""
