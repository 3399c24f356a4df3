"""The world outside PML, answered for by the test; counts what reaches it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from pml.domain.permissions import ApprovalMode, Effect, Permission
from pml.domain.record import JsonText
from pml.domain.run import Outcome, Returned
from pml.domain.tools import Tool
from pml.errors import OutcomeUnknownError, UpstreamUnavailableError

Answer = Callable[[str, JsonText], Awaitable[Outcome]]


async def echo(_tool: str, arguments: JsonText) -> Outcome:
    """A tool that returns its arguments."""
    return Returned(value=arguments)


async def lose(_tool: str, _arguments: JsonText) -> Outcome:
    """A tool whose answer never arrives."""
    server, message = "fs", "the connection was lost"
    raise OutcomeUnknownError(server, message, timed_out=False)


class Outside:
    """The world outside PML: servers whose tools answer as the test says; counts requests."""

    def __init__(self) -> None:
        self.tools_by_server: dict[str, tuple[Tool, ...]] = {}
        self.answers: dict[str, Answer] = {}
        self.requests: list[tuple[str, JsonText]] = []
        self.effects: dict[str, Effect] = {}
        self.needs_approval: set[str] = set()
        self.down: set[str] = set()
        self.called = asyncio.Event()

    def offer(self, tool_id: str, answer: Answer, effect: Effect = Effect.WRITE) -> None:
        server, _, name = tool_id.partition(":")
        listed = self.tools_by_server.get(server, ())
        self.tools_by_server[server] = (*listed, Tool(server=server, name=name))
        self.answers[tool_id] = answer
        self.effects[tool_id] = effect

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.tools_by_server)

    def connect_soon(self, servers: Iterable[str]) -> None:
        """Connected already."""

    def described(self, tool_id: str) -> Tool | None:
        server, _, name = tool_id.partition(":")
        listed = self.tools_by_server.get(server, ())
        return next((tool for tool in listed if tool.name == name), None)

    async def ready(self, server: str) -> None:
        if server in self.down:
            raise UpstreamUnavailableError(server, "it is down")

    async def tools(self, server: str) -> tuple[Tool, ...]:
        await self.ready(server)
        return self.tools_by_server[server]

    async def call(self, server: str, tool: str, arguments: JsonText) -> Outcome:
        tool_id = f"{server}:{tool}"
        self.requests.append((tool_id, arguments))
        self.called.set()
        return await self.answers[tool_id](tool_id, arguments)

    def of(self, tool: Tool) -> Permission:
        mode = ApprovalMode.HIL if tool.id in self.needs_approval else ApprovalMode.AUTO
        effect = self.effects.get(tool.id, Effect.WRITE)
        return Permission(tool=tool.id, effect=effect, approval_mode=mode, reason="the test")
