"""Lists of runs, tools and servers, and a run without a trace."""

import json
from collections.abc import Sequence

from pml.cli.table import duration, moment, table
from pml.cli.which import short
from pml.domain.permissions import Permission
from pml.domain.quarantine import quarantine_of
from pml.domain.run import Run, RunState
from pml.domain.tools import Tool
from pml.runtime.upstream.status import ServerStatus

LAST_WORDS = 8
"""Lines of its stderr that are shown of a failed server; `--json` has all that was kept."""


def render_runs(runs: Sequence[Run], *, width: int) -> str:
    """One run per line, the latest first; below one that waits, for whom and until when."""
    if not runs:
        return "No runs.  `pml demo` makes one; `pml execute --help` shows how to make your own."
    rows = [
        (short(run.id), run.state.value, moment(run.created_at_ms)[5:16], _why(run)) for run in runs
    ]
    head, *lines = table(("run", "state", "started", "intent"), rows, width=width).split("\n")
    notes = (waits_of(run) for run in runs)
    told = [f"{line}\n  {note}" if note else line for line, note in zip(lines, notes, strict=True)]
    return "\n".join([head, *told])


def _why(run: Run) -> str:
    """The intent, with what sets the run apart before it."""
    marks = [
        "dry run" if run.dry_run else "",
        f"in {short(run.parent_run_id)}" if run.parent_run_id else "",
        f"replaces {short(run.replaces_run_id)}" if run.replaces_run_id else "",
    ]
    told = ", ".join(mark for mark in marks if mark)
    return f"{told}: {run.intent}" if told else run.intent


_ASKS = {
    RunState.PAUSED: ("continued", "continue"),
    RunState.INTERRUPTED: ("continued", "continue"),
    RunState.IN_DOUBT: ("told what became of a write", "continue"),
    RunState.APPROVAL_REQUIRED: ("approved", "approve"),
}


def waits_of(run: Run) -> str:
    """What a run that nobody called waits for, until when, and the next command."""
    if run.state not in _ASKS or run.parent_run_id is not None:
        return ""
    asked, command = _ASKS[run.state]
    until = f" until {moment(run.expires_at_ms)[5:16]}" if run.expires_at_ms else ""
    return f"waits{until} to be {asked}: pml {command} {short(run.id)}"


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
