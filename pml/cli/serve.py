"""`pml serve` and `pml stdio`: the endpoint that agents use."""

from typing import Annotated

import typer

from pml.cli.exits import ExitCode
from pml.cli.options import Config, DataDir, Permissions, example
from pml.cli.ports import DEFAULT_PORT, LOOPBACK, bind_fault, holder
from pml.cli.session import configured, run
from pml.cli.terminal import note

KEYS_NEEDED = (
    "pml: every request needs a key (`pml keys create NAME --role agent`); keys travel as they "
    "are, so let others reach this address only through a proxy that speaks TLS"
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
    *,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = LOOPBACK,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="0 takes a free one.")
    ] = DEFAULT_PORT,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let HOST be one that others can reach.")
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="What else `Host` may say, such as a proxy's name."),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="From which web page requests may come; else none."),
    ] = None,
    config: Config = None,
    permissions: Permissions = None,
    data_dir: DataDir = None,
) -> None:
    """Offer PML to agents at http://HOST:PORT/mcp until Ctrl-C.

    What goes wrong is logged to stderr; PML_LOG=debug says more.
    """
    from pml.serve.http import serve_http

    settings = configured(config=config, permissions=permissions, data_dir=data_dir)
    _check_address(host, port)
    if allow_remote:
        note(KEYS_NEEDED)
    serving = serve_http(
        settings,
        host=host,
        port=port,
        announce=_announce,
        allow_remote=allow_remote,
        allowed_hosts=tuple(allow_host or ()),
        allowed_origins=tuple(allow_origin or ()),
    )
    run(serving)


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
    port = url.rpartition(":")[2].partition("/")[0]
    other = "" if port == str(DEFAULT_PORT) else f" --port {port}"
    note(f"pml: listening at {url}; Ctrl-C stops it")
    note(f"pml: `pml client-config CLIENT --http{other}` tells claude-code, cursor or vscode")


def stdio(config: Config = None, permissions: Permissions = None, data_dir: DataDir = None) -> None:
    """Offer PML to the agent that started this command, over stdin and stdout.

    `pml client-config` prints what makes a client start it.
    """
    from pml.serve.stdio import serve_stdio

    settings = configured(config=config, permissions=permissions, data_dir=data_dir)
    run(serve_stdio(settings))
