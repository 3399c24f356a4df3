"""Lists of runs, tools and servers, and a run without a trace."""

import json
from collections.abc import Sequence

from pml.cli.table import duration, moment, table
from pml.domain.permissions import Permission
from pml.domain.quarantine import quarantine_of
from pml.domain.run import Run
from pml.domain.tools import Tool
from pml.runtime.upstream.status import ServerStatus

LAST_WORDS = 8
"""Lines of its stderr that are shown of a failed server; `--json` has all that was kept."""


def render_runs(runs: Sequence[Run], *, width: int) -> str:
    """One run per line, the latest first; without year and seconds, to leave the intent room."""
    if not runs:
        return "No runs.  `pml demo` makes one; `pml execute --help` shows how to make your own."
    rows = [(run.id, run.state.value, moment(run.created_at_ms)[5:16], _why(run)) for run in runs]
    return table(("run", "state", "started", "intent"), rows, width=width)


def _why(run: Run) -> str:
    """The intent, and of a nested run in which it ran."""
    return run.intent if run.parent_run_id is None else f"in {run.parent_run_id[:8]}: {run.intent}"


def render_tools(tools: Sequence[tuple[Tool, Permission]], *, width: int) -> str:
    """One tool per line, with what it may do."""
    if not tools:
        return "No tools: no server is configured, or none answered (`pml servers`)."
    rows = [
        (tool.id, permission.effect.value, _approval(tool, permission), tool.description)
        for tool, permission in tools
    ]
    return table(("tool", "effect", "approval", "description"), rows, width=width)


def _approval(tool: Tool, permission: Permission) -> str:
    return "quarantined" if tool.changed else permission.approval_mode.value


def render_tool(tool: Tool, permission: Permission) -> str:
    """Everything that is known of one tool."""
    parts = [
        f"{tool.id}\n{tool.description.strip()}".rstrip(),
        *filter(None, (quarantine_of(tool),)),
        _may(permission),
        "input\n" + json.dumps(tool.input_schema, indent=2, ensure_ascii=False),
    ]
    if tool.output_schema is not None:
        parts.append("output\n" + json.dumps(tool.output_schema, indent=2, ensure_ascii=False))
    elif tool.observed_schema is not None:
        seen = json.dumps(tool.observed_schema, indent=2, ensure_ascii=False)
        parts.append("output, as observed in results (the server declares nothing)\n" + seen)
    return "\n\n".join(parts)


def _may(permission: Permission) -> str:
    return (
        f"effect {permission.effect.value}, scope {permission.scope.value}, "
        f"approval {permission.approval_mode.value}: {permission.reason}"
    )


def render_servers(servers: Sequence[ServerStatus], *, width: int) -> str:
    """One server per line, and below why one failed."""
    if not servers:
        return "No servers: name some in mcp.json (docs/how-to/own-servers.md)."
    rows = [
        (
            server.name,
            server.state.value,
            "" if server.tools is None else str(server.tools),
            "" if server.connect_ms is None else duration(server.connect_ms),
            server.server_version or "",
        )
        for server in servers
    ]
    listing = table(("server", "state", "tools", "connected", "version"), rows, width=width)
    return "\n\n".join([listing, *filter(None, (_trouble(server, width) for server in servers))])


def _trouble(server: ServerStatus, width: int) -> str:
    lines = [f"{server.name}: {server.error}"] if server.error else []
    words = [line for line in server.last_words if line.strip()][-LAST_WORDS:]
    lines += [f"  stderr: {line}"[:width] for line in words]
    lines += [f"{server.name}: left out: {tool}" for tool in server.refused]
    return "\n".join(lines)
