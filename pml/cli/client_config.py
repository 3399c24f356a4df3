"""`pml client-config`: what to paste into an MCP client so that it has PML."""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pml.cli.clients import OWN_NAME, Client, Machine, this_machine, user_file
from pml.cli.options import Config, DataDir, Permissions, example
from pml.cli.ports import DEFAULT_PORT, LOOPBACK
from pml.cli.session import configured
from pml.cli.terminal import note, result

if TYPE_CHECKING:
    from pml.serve.compose import Settings

CARRIED = ("PML_USER", "PML_ENCODER")
"""Variables that the client is told to set, as they are set here."""
SECRET = ("PML_DATABASE_URL", "PML_LEDGER_KEY")
"""Variables that can hold secrets and are therefore named, not printed."""


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command(
        "client-config",
        **example(
            "pml client-config claude-code --config mcp.json --permissions permissions.yaml",
            "pml client-config cursor --http",
        ),
    )(client_config)


def client_config(
    *,
    client: Annotated[Client, typer.Argument(help="Which client is to have PML.")],
    http: Annotated[
        bool,
        typer.Option("--http", help="It connects to a running `pml serve` and starts nothing."),
    ] = False,
    port: Annotated[
        int, typer.Option(min=1, max=65_535, help="Of `pml serve`, with --http.")
    ] = DEFAULT_PORT,
    config: Config = None,
    permissions: Permissions = None,
    data_dir: DataDir = None,
) -> None:
    """Print what an MCP client needs to have PML; where it goes is said on stderr."""
    if http and client is Client.CLAUDE_DESKTOP:
        message = "Claude Desktop starts its servers itself: leave --http out"
        raise typer.BadParameter(message)
    machine = this_machine()
    if http:
        result(pasteable(client, {"url": f"http://{LOOPBACK}:{port}/mcp"}))
        note(f"{_where(client, machine)}\n`pml serve` has to be running.")
        return
    settings = configured(config=config, permissions=permissions, data_dir=data_dir)
    result(pasteable(client, stdio_entry(settings, own_command())))
    note("\n".join([_where(client, machine), *_lacks(settings)]))


def own_command() -> Path:
    """The absolute path of this `pml`."""
    called = shutil.which(sys.argv[0])
    beside = Path(sys.executable).with_name("pml")
    return Path(called).absolute() if called and Path(called).stem == "pml" else beside


def shown_command() -> str:
    """How this `pml` is called from here."""
    found, own, here = shutil.which("pml"), own_command(), Path.cwd()
    if found and Path(found).absolute() == own:
        return "pml"
    return str(own.relative_to(here) if own.is_relative_to(here) else own)


def stdio_entry(settings: "Settings", command: Path) -> dict[str, Any]:
    """How a client starts PML over the same files as here, whatever folder it starts it in."""
    args = ["stdio"]
    if settings.config is not None:
        args += ["--config", str(settings.config.absolute())]
    if settings.permissions is not None:
        args += ["--permissions", str(settings.permissions.absolute())]
    args += ["--data-dir", str(settings.data_dir.absolute())]
    env = {name: os.environ[name] for name in CARRIED if os.environ.get(name)}
    if settings.limits_file is not None:
        env["PML_LIMITS"] = str(settings.limits_file.absolute())
    return {"command": str(command), "args": args} | ({"env": env} if env else {})


def pasteable(client: Client, entry: dict[str, Any]) -> str:
    """The entry as the client takes it: JSON, or Claude Code's own command."""
    if client is Client.CLAUDE_CODE:
        return shlex.join(_claude_code(entry))
    if client is Client.VSCODE:
        entry = {"type": "http" if "url" in entry else "stdio", **entry}
    return json.dumps({client.section: {OWN_NAME: entry}}, indent=2, ensure_ascii=False)


def _claude_code(entry: dict[str, Any]) -> list[str]:
    """`claude mcp add`; --env takes all words up to the next option, so one follows it."""
    words = ["claude", "mcp", "add"]
    if "url" in entry:
        return [*words, "--transport", "http", "--scope", "user", OWN_NAME, entry["url"]]
    for name, value in entry.get("env", {}).items():
        words += ["--env", f"{name}={value}"]
    return [*words, "--scope", "user", OWN_NAME, "--", entry["command"], *entry["args"]]


def _where(client: Client, machine: Machine) -> str:
    path = user_file(client, machine)
    if client is Client.CLAUDE_CODE:
        return f"Run it: it writes {path}.  `claude mcp list` then shows {OWN_NAME}."
    if path.exists():
        text = f"Goes into {path}: put {OWN_NAME!r} beside the servers that are there."
    else:
        text = f"Goes into {path}, which is not there yet: make it."
    if client is Client.CLAUDE_DESKTOP:
        text += "  Then quit Claude Desktop and start it again."
    return text


def _is_bound_to_here(entry: object) -> bool:
    """Whether a server's command or folder is found from one folder only."""
    if not isinstance(entry, dict):
        return False
    command, folder = str(entry.get("command", "")), str(entry.get("cwd", "/"))
    elsewhere = ("/", "$")  # from the top, or from a variable
    return ("/" in command and not command.startswith(elsewhere)) or not folder.startswith(
        elsewhere
    )


def _lacks(settings: "Settings") -> Iterator[str]:
    """What somebody may miss in what was printed."""
    from pml.cli.foreign_servers import variables_of
    from pml.cli.server_file import servers_of

    named = [name for name in SECRET if os.environ.get(name)]
    if settings.config is None:
        yield "No mcp.json here, so PML reaches no servers: name one with --config FILE."
    else:
        servers = servers_of(settings.config)
        named += sorted(variables_of(servers))
        for name in filter(lambda name: _is_bound_to_here(servers[name]), servers):
            yield f"Make the path of server {name!r} absolute: clients start PML elsewhere."
        if settings.permissions is None:
            yield "No permissions.yaml here, so every tool needs approval: see --permissions."
    if named:
        names = ", ".join(named)
        yield f"Not printed, since they can hold secrets; the client has to set them: {names}."
