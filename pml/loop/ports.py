"""What the loop needs of servers and sandboxes; of the store it needs `pml.store.ports`."""

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from pml.domain.tools import Tool
from pml.runtime.calls import MakesRequests
from pml.runtime.plan import Sandbox


class Servers(MakesRequests, Protocol):
    """The upstream servers."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every configured server."""

    def connect_soon(self, servers: Iterable[str]) -> None:
        """Begin to connect in the background."""

    def described(self, tool_id: str) -> Tool | None:
        """The tool as its server describes it on the present connection; None: it does not."""

    async def tools(self, server: str) -> tuple[Tool, ...]:
        """What the server offers now.

        Raises:
            UpstreamUnavailableError: it cannot be asked.
        """


class Sandboxes(Protocol):
    """The pool of warm sandboxes."""

    def checkout(self) -> AbstractAsyncContextManager[Sandbox]:
        """One sandbox for one run; dead when the block ends."""
