"""The options that several commands share, named once."""

from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

Config: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Servers, as `mcpServers` JSON.  Default: ./mcp.json if there is one.",
    ),
]
Permissions: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--permissions",
        metavar="FILE",
        help="What each tool may do.  Default: ./permissions.yaml if there is one.",
    ),
]
DataDir: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        metavar="DIR",
        help="Where database and keys live.  Default: $PML_DATA_DIR, else the user's data folder.",
    ),
]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="JSON on stdout, for programs instead of people.")
]
Quiet: TypeAlias = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress on stderr; errors still show.")
]
RunId: TypeAlias = Annotated[
    str, typer.Argument(metavar="RUN", help="Its id, or the beginning of its id.")
]


def example(*lines: str) -> dict[str, Any]:
    """Keyword arguments of a command whose help ends with pasteable examples."""
    return {"epilog": "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)}


def group(app: typer.Typer, name: str, *lines: str) -> typer.Typer:
    """A command that has commands of its own, whose help ends with pasteable examples."""
    within = typer.Typer(**example(*lines))
    app.add_typer(within, name=name)
    return within
