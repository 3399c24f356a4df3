"""`pml servers` and `pml tools`: what an agent's program can call."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pml.cli.import_servers import EXAMPLES, import_servers
from pml.cli.options import AsJson, Config, DataDir, Permissions, example, group
from pml.cli.session import opened, run
from pml.cli.terminal import note, result, result_json, width

if TYPE_CHECKING:
    from pml.domain.permissions import Permission
    from pml.domain.tools import Tool
    from pml.runtime.upstream.status import ServerStatus
    from pml.serve.compose import Workbench


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    within = group(app, "servers", *SERVERS_EXAMPLES)
    within.callback(invoke_without_command=True)(servers)
    within.command("import", **example(*EXAMPLES))(import_servers)
    app.command(
        **example(
            "pml tools --config mcp.json", "pml tools files:read_text_file", "pml tools --json"
        )
    )(tools)


SERVERS_EXAMPLES = ("pml servers --config mcp.json", "pml servers --json")


def servers(
    context: typer.Context,
    config: Config = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Connect every configured server and show how it stands, or why it failed."""
    if context.invoked_subcommand is not None:
        return
    from pml.cli.exits import ExitCode
    from pml.cli.render_records import render_servers

    found = run(_servers(config, data_dir))
    if as_json:
        result_json(found)
    else:
        result(render_servers(found, width=width()))
    failed = any(server.error for server in found)
    raise typer.Exit(ExitCode.UNAVAILABLE if failed else ExitCode.OK)


async def _servers(config: Path | None, data_dir: Path | None) -> "tuple[ServerStatus, ...]":
    async with opened(config=config, data_dir=data_dir) as bench:
        await bench.upstreams.connect(bench.upstreams.names)
        return tuple(bench.upstreams.status())


def tools(
    tool: Annotated[
        str | None, typer.Argument(metavar="[SERVER:TOOL]", help="Show all of this one.")
    ] = None,
    config: Config = None,
    permissions: Permissions = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List the tools that programs can call, with what each may do."""
    from pml.cli.render_records import render_tool, render_tools

    found = run(_tools(tool, config, permissions, data_dir))
    if as_json:
        result_json([item for item, _ in found] if tool is None else found[0][0])
    elif tool is None:
        result(render_tools(found, width=width()))
    else:
        result(render_tool(*found[0]))


async def _tools(
    wanted: str | None, config: Path | None, permissions: Path | None, data_dir: Path | None
) -> "list[tuple[Tool, Permission]]":
    async with opened(config=config, permissions=permissions, data_dir=data_dir) as bench:
        names = bench.upstreams.names if wanted is None else (wanted.partition(":")[0],)
        listed = await asyncio.gather(*(_of_server(bench, name) for name in names))
        found = [(tool, bench.act.permissions.of(tool)) for tools in listed for tool in tools]
        return found if wanted is None else [_one(wanted, found)]


async def _of_server(bench: "Workbench", name: str) -> "tuple[Tool, ...]":
    """The server's tools; one that fails is reported and does not hide the others'."""
    from pml.errors import UpstreamError

    try:
        return await bench.upstreams.tools(name)
    except UpstreamError as exc:
        note(f"pml: {exc}")
        return ()


def _one(wanted: str, found: "list[tuple[Tool, Permission]]") -> "tuple[Tool, Permission]":
    from pml.domain.nearest import nearest
    from pml.errors import NotFoundError

    for tool, permission in found:
        if tool.id == wanted:
            return tool, permission
    near = nearest(wanted, [tool.id for tool, _ in found])
    hint = f"did you mean {', '.join(near)}?" if near else "`pml tools` lists them all"
    raise NotFoundError("tool", wanted, hint)
