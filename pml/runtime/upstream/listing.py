"""What a server offers: its tools as our records, without those that could mislead."""

from collections import Counter
from dataclasses import dataclass, field

import mcp_types
from mcp import Client

from pml.domain.tools import Tool
from pml.runtime.upstream.names import collisions, name_fault
from pml.store.printable import printable

_PAGES = 200
"""A server whose listing never ends is cut off here; real ones need one page or two."""
_TOOLS = 5_000


@dataclass(frozen=True, slots=True)
class Listing:
    """Tools by name, in the server's order, and why others were refused."""

    tools: tuple[Tool, ...]
    refused: tuple[str, ...]
    _by_name: dict[str, Tool] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {tool.name: tool for tool in self.tools})

    def find(self, name: str) -> Tool | None:
        """The tool of that name, or None."""
        return self._by_name.get(name)


async def list_tools(client: Client, server: str) -> Listing:
    """Ask for all pages.

    Raises:
        MCPError: the server refused, or the connection was lost.
    """
    capabilities = client.server_capabilities
    if capabilities.tools is None:
        return Listing((), ())
    found: list[mcp_types.Tool] = []
    cursor: str | None = None
    for _ in range(_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if not cursor or len(found) > _TOOLS:
            break
    return checked(server, found[:_TOOLS])


def checked(server: str, found: list[mcp_types.Tool]) -> Listing:
    """The tools whose names mislead nobody (HIL-5); of those that look alike none is offered."""
    counts = Counter(tool.name for tool in found)
    alike = collisions(name for name in counts if name_fault(name) is None)
    tools, refused = [], []
    for tool in found:
        fault = name_fault(tool.name)
        if counts[tool.name] > 1:
            fault = f"is listed {counts[tool.name]} times"
        elif others := alike.get(tool.name):
            fault = f"looks like {', '.join(map(ascii, others))}: it could be taken for another"
        if fault:
            refused.append(f"{tool.name!a} {fault}")
        else:
            tools.append(_record(server, tool))
    return Listing(tuple(tools), tuple(dict.fromkeys(refused)))


def _record(server: str, tool: mcp_types.Tool) -> Tool:
    hints = tool.annotations
    return Tool(
        server=server,
        name=tool.name,
        description=printable(tool.description or ""),  # as stored, or its hash would differ
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=(
            {} if hints is None else hints.model_dump(by_alias=True, mode="json", exclude_none=True)
        ),
    )
