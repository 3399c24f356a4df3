"""What is said of a call of no known tool or capability: what may have been meant (SA-7)."""

from pml.analysis.handle import Handle, Kind
from pml.analysis.meant import Meant
from pml.analysis.typescript import access
from pml.domain.capability import CAPABILITY_SERVER
from pml.domain.nearest import did_you_mean, nearest
from pml.domain.program import Severity
from pml.domain.structure import ANY_TOOL, SITE_MARK
from pml.domain.tools import Catalog

_HINTS = 50
"""Names of one program that are compared with all others: each costs time with every tool."""
_ELSEWHERE = 3
_SERVERS = 12
_NO_TOOL_NAMES = frozenset({"then", "toJSON"})
Said = tuple[Severity, str, str]


class Unknown:
    """Finds words for calls of what a catalog does not have."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._said: dict[Handle, Said] = {}

    def of(self, handle: Handle) -> Said:
        """Severity, code and message."""
        if handle not in self._said:
            self._said[handle] = self._say(handle)
        return self._said[handle]

    def _say(self, handle: Handle) -> Said:
        server, name = handle.server or "", handle.name or ""
        if handle.kind is Kind.CAPABILITY:
            return Severity.ERROR, "unknown-capability", self._no_capability(handle, name)
        if handle.tool == ANY_TOOL:
            message = "which tool this calls is not known before the program runs"
            return Severity.WARNING, "dynamic-tool", f"{message}: it needs approval"
        if server not in self._catalog.servers:
            return Severity.ERROR, "unknown-server", self._no_server(server, name)
        return Severity.ERROR, "unknown-tool", self._no_tool(server, name)

    def _no_capability(self, handle: Handle, name: str) -> str:
        if handle.tool == ANY_TOOL:  # a run keeps the versions that it calls: they must be named
            return "which capability this calls cannot be known before it runs: write its name"
        return f"no capability {name!r} is known{self._hint(name, CAPABILITY_SERVER)}"

    def _no_server(self, server: str, name: str) -> str:
        known = [other for other in self._catalog.servers if other != CAPABILITY_SERVER]
        if not known:
            return f"no server {server!r}: no server is configured; name them in mcp.json"
        near = did_you_mean(server, known) if len(self._said) < _HINTS else ""
        return f"no server {server!r}{self._elsewhere(server, name) or near}"

    def _no_tool(self, server: str, name: str) -> str:
        if name in _NO_TOOL_NAMES:
            return (
                f"{name!r} cannot be called as a tool: JavaScript itself asks every value for it; "
                f"{server!r} is a server, and `await` stands before the call of one of its tools"
            )
        if SITE_MARK in name:
            return f"server {server!r} has no tool {name!r}: no name of a tool holds {SITE_MARK}"
        hint = self._elsewhere(server, name) or self._hint(name, server)
        return f"server {server!r} has no tool {name!r}{hint}"

    def _elsewhere(self, server: str, name: str) -> str:
        """The same tool of other servers, those first whose names are the most alike."""
        having = [
            other
            for other, tools in self._catalog.servers.items()
            if name in tools and other not in {server, CAPABILITY_SERVER}
        ]
        if not having:
            return ""
        near = nearest(server, having)
        ordered = [*near, *(other for other in having if other not in near)][:_ELSEWHERE]
        found = [f"mcp{access(other)}{access(name)}" for other in ordered]
        return f"; did you mean {' or '.join(found)}?"

    def _hint(self, name: str, server: str) -> str:
        if len(self._said) >= _HINTS:
            return ""
        return did_you_mean(name, self._catalog.tools_of(server))


def not_a_tool(handle: Handle, catalog: Catalog) -> str:
    """What is said of a call of ``mcp`` or of a server itself."""
    if handle.kind is Kind.ROOT:
        return "mcp is no function: call a tool of a server, mcp.server.tool({ ... })"
    if handle.kind is Kind.CAPABILITIES:
        return "capabilities is no function: call one by its name, capabilities.name({ ... })"
    server = handle.server or "server"
    if handle.server is not None and server not in catalog.servers:
        return _not_a_server(server, catalog)
    tools = list(catalog.tools_of(server))[:_ELSEWHERE]
    example = f"mcp{access(server)}{access(tools[0])}" if tools else f"mcp{access(server)}.tool"
    return f"{server!r} is a server, no tool: call one of its tools, as in {example}({{ ... }})"


def _not_a_server(name: str, catalog: Catalog) -> str:
    """What is said of ``mcp.name(...)`` where no server has that name."""
    tool = Meant(catalog).call([name])
    if tool is not None:
        return f"{name!r} is no server, and a tool is called through its server: write {tool}"
    servers = [server for server in catalog.servers if server != CAPABILITY_SERVER]
    shown = ", ".join(servers[:_SERVERS]) + (", ..." if len(servers) > _SERVERS else "")
    there = f"; the servers are {shown}" if servers else ""
    return f"{name!r} is no server: tools are called as mcp.server.tool({{ ... }}){there}"
