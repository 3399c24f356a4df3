"""`pml serve` and `pml stdio`: the endpoint that agents use."""

from typing import Annotated

import typer

from pml.cli.exits import ExitCode
from pml.cli.options import Config, DataDir, Permissions, example
from pml.cli.ports import DEFAULT_PORT, LOOPBACK, bind_fault, holder
from pml.cli.session import configured, run
from pml.cli.terminal import note

ANYWHERE_BUT_HERE = (
    "pml: warning: whoever reaches this address can run programs on your servers: there are no "
    "keys yet, so let nothing but a trusted proxy reach it"
)


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.command(
        **example(
            "pml serve --config mcp.json --permissions permissions.yaml",
            "pml serve --port 4000",
        )
    )(serve)
    app.command(**example("pml stdio --config mcp.json --permissions permissions.yaml"))(stdio)


def serve(
    host: Annotated[str, typer.Option(help="The address to listen at.")] = LOOPBACK,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="0 takes a free one.")
    ] = DEFAULT_PORT,
    config: Config = None,
    permissions: Permissions = None,
    data_dir: DataDir = None,
) -> None:
    """Offer PML to agents at http://HOST:PORT/mcp until Ctrl-C.

    Requests are logged from PML_LOG=debug on.
    """
    from pml.serve.http import serve_http

    settings = configured(config=config, permissions=permissions, data_dir=data_dir)
    _check_address(host, port)
    if host not in {LOOPBACK, "localhost", "::1"}:
        note(ANYWHERE_BUT_HERE)
    run(serve_http(settings, host=host, port=port, announce=_announce))


def _check_address(host: str, port: int) -> None:
    """Say who is in the way before anything is started.

    Raises:
        typer.Exit: nothing can listen there.
    """
    fault = bind_fault(host, port)
    if fault is None:
        return
    who = holder(port)
    if who:
        note(
            f"pml: port {port} is taken by {who}: stop it, or choose another with --port "
            "(clients have to know it: `pml client-config CLIENT --http --port PORT`)"
        )
    else:
        note(f"pml: cannot listen at {host}:{port} ({fault}): choose another --host or --port")
    raise typer.Exit(ExitCode.UNAVAILABLE)


def _announce(url: str) -> None:
    note(f"pml: listening at {url} (Ctrl-C stops it)")
    port = url.rpartition(":")[2].partition("/")[0]
    other = "" if port == str(DEFAULT_PORT) else f" --port {port}"
    note(f"pml: to connect a client: `pml client-config claude-code --http{other}`")
    note("pml: (or cursor, vscode)")


def stdio(config: Config = None, permissions: Permissions = None, data_dir: DataDir = None) -> None:
    """Offer PML to the agent that started this command, over stdin and stdout.

    `pml client-config` prints what makes a client start it.
    """
    from pml.serve.stdio import serve_stdio

    settings = configured(config=config, permissions=permissions, data_dir=data_dir)
    run(serve_stdio(settings))
