"""`pml servers`: where the tools come from, and how they stand."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pml.cli.import_servers import EXAMPLES, import_servers
from pml.cli.options import AsJson, Config, DataDir, example, group
from pml.cli.session import opened, run
from pml.cli.terminal import result, result_json, width

if TYPE_CHECKING:
    from pml.runtime.upstream.status import ServerStatus


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    within = group(app, "servers", *SERVERS_EXAMPLES)
    within.callback(invoke_without_command=True)(servers)
    within.command("import", **example(*EXAMPLES))(import_servers)


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
