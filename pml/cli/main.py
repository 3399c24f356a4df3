"""`pml`: the command line.

Commands are declared here and in their modules with nothing but typer imported; what does
the work is imported when a command runs, so `pml --help` and shell completion are fast.
"""

import os
import sys
from typing import Annotated

import typer

from pml.cli import (
    approve,
    capabilities,
    client_config,
    demo,
    discover,
    doctor,
    evaluate,
    execute,
    gc,
    grants,
    keys,
    models,
    package,
    records,
    serve,
    servers,
    steer,
    tools,
    traces,
    train,
    tune,
)
from pml.cli.exits import ExitCode, for_error
from pml.cli.terminal import note
from pml.errors import PmlError

EXIT_CODES = "\n".join(f"  {code.value:<4} {code.name.lower()}" for code in ExitCode)

app = typer.Typer(
    name="pml",
    help="Procedural memory for AI agents: run an agent's TypeScript on real MCP servers, "
    "and keep what it did.",
    epilog="\b\nExit codes:\n" + EXIT_CODES,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
COMMANDS = (
    execute,
    approve,
    steer,
    grants,
    discover,
    capabilities,
    records,
    servers,
    tools,
    serve,
    client_config,
    keys,
    gc,
    traces,
    evaluate,
    train,
    tune,
    package,
    models,
    doctor,
    demo,
)
for module in COMMANDS:
    module.register(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"pml {version('pml')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    del version  # its callback did the work


def main() -> None:
    """Run `pml`; a deliberate error becomes one paragraph and an exit code."""
    try:
        app()
    except PmlError as exc:
        note(f"pml: {exc}")
        sys.exit(for_error(exc))
    except BrokenPipeError:
        # The reader of our output has gone (`pml runs | head`): not an error, and nothing
        # more can be written, so that Python's own flush at exit must not try.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.OK)


def serve_main() -> None:
    """Run `pml serve`, which has a name of its own: `pml-serve`."""
    sys.argv[:1] = ["pml", "serve"]
    main()
