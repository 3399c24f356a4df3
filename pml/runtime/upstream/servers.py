"""All upstream servers: connected when first needed, in parallel, and again when lost (EX-11).

Nothing here imports the MCP library until a server is needed: it takes more than a second.
"""

import asyncio
import json
import os
import random
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self

from pml.domain.limits import Limits
from pml.domain.record import JsonText
from pml.domain.run import Failed, Outcome
from pml.domain.tools import Tool
from pml.errors import UpstreamUnavailableError
from pml.runtime.outlast import outlast
from pml.runtime.upstream.config import ServerConfig
from pml.runtime.upstream.process import ReapsGroups
from pml.runtime.upstream.server import Server, ToolSink
from pml.runtime.upstream.status import ServerStatus

_PARALLEL_CONNECTS = 8
"""Starting many interpreters at once makes all of them late."""


class Upstreams:
    """The servers of one configuration, by name; an async context manager.

    Invariant: after leaving the context no process and no task of any server is left.
    """

    def __init__(
        self,
        configs: Sequence[ServerConfig],
        *,
        limits: Limits,
        reaper: ReapsGroups,
        sink: ToolSink,
        rng: random.Random | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Connect to nothing yet.

        Args:
            configs: the servers; names are unique.
            limits: what one call may take.
            reaper: told of each server's process group.
            sink: told of each fresh listing.
            rng: spreads the waits between attempts; unseeded by default.
            environment: where servers' basic variables come from; by default our own.
        """
        places = asyncio.Semaphore(_PARALLEL_CONNECTS)
        self._servers = {
            config.name: Server(
                config,
                limits=limits,
                reaper=reaper,
                sink=sink,
                rng=rng or random.Random(),  # noqa: S311  # spreads load, hides nothing
                environment=os.environ if environment is None else environment,
                places=places,
            )
            for config in configs
        }
        self._connecting: set[asyncio.Task[None]] = set()

    @property
    def names(self) -> tuple[str, ...]:
        """All configured servers, in file order."""
        return tuple(self._servers)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for task in self._connecting:
            task.cancel()
        closing = [asyncio.create_task(server.close()) for server in self._servers.values()]
        await outlast([*self._connecting, *closing])
        for task in closing:
            task.result()

    async def connect(self, servers: Iterable[str]) -> None:
        """Connect those that are not connected, in parallel; failures go to `status`."""
        known = [self._servers[name] for name in dict.fromkeys(servers) if name in self._servers]
        results = await asyncio.gather(
            *(server.connection() for server in known), return_exceptions=True
        )
        for result in results:
            if isinstance(result, BaseException) and not isinstance(
                result, UpstreamUnavailableError
            ):
                raise result

    def connect_soon(self, servers: Iterable[str]) -> None:
        """Begin to connect, so that the first call of each waits less; returns at once."""
        task = asyncio.create_task(self.connect(tuple(servers)))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    async def ready(self, server: str) -> None:
        """Connect to ``server`` if need be.

        Raises:
            UpstreamUnavailableError: it cannot be connected; says why.
        """
        await self._find(server).connection()

    async def tools(self, server: str) -> tuple[Tool, ...]:
        """What ``server`` offers now; connects if need be.

        Raises:
            UpstreamUnavailableError: it cannot be connected; says why.
        """
        return (await self._find(server).connection()).listing.tools

    def described(self, tool_id: str) -> Tool | None:
        """The tool as its server describes it on the present connection.

        None where there is no connection at the moment, and for a tool that is not listed.
        """
        server, _, tool = tool_id.partition(":")
        return self._servers[server].described(tool) if server in self._servers else None

    def status(self) -> tuple[ServerStatus, ...]:
        """How all servers stand, in file order."""
        return tuple(server.status() for server in self._servers.values())

    async def call(self, server: str, tool: str, arguments: JsonText) -> Outcome:
        """Make one attempt; at most one request reaches the tool.

        Args:
            server: a configured server; connected if need be.
            tool: the tool's name there.
            arguments: a JSON object.

        Raises:
            UpstreamUnavailableError: nothing was sent, or the server did not act on it.
            OutcomeUnknownError: sent, and no answer came (in time).
        """
        fields = json.loads(arguments)
        if not isinstance(fields, dict):
            message = "a tool takes one object with named arguments"
            return Failed(code="invalid_params", message=message)
        return await self._find(server).call(tool, fields)

    def _find(self, name: str) -> Server:
        server = self._servers.get(name)
        if server is None:
            known = ", ".join(self._servers) or "none"
            raise UpstreamUnavailableError(name, f"is not configured (configured: {known})")
        return server
