"""`pml doctor` and `pml sandbox-selftest`: whether everything that PML needs is there."""

import textwrap
from typing import TYPE_CHECKING

import typer

from pml.cli.options import AsJson, Config, DataDir, Permissions, example
from pml.cli.session import configured, run
from pml.cli.terminal import result, result_json, width

if TYPE_CHECKING:
    from pml.cli.checks import Check


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.command(**example("pml doctor", "pml doctor --config mcp.json --json"))(doctor)


def doctor(
    config: Config = None,
    permissions: Permissions = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Try everything that PML needs, and say how to mend what fails."""
    from pml.cli.checks import Verdict, check_all
    from pml.cli.exits import ExitCode

    settings = configured(config=config, permissions=permissions, data_dir=data_dir)
    found = run(check_all(settings))
    if as_json:
        result_json(found)
    else:
        result(render_checks(found, width=width()))
    failed = any(check.verdict is Verdict.FAILED for check in found)
    raise typer.Exit(ExitCode.UNAVAILABLE if failed else ExitCode.OK)


def render_checks(checks: "tuple[Check, ...]", *, width: int) -> str:
    """A paragraph per check: what was found, and what to do."""
    names = max(len(check.name) for check in checks)
    blank = " " * (6 + 2 + names + 2)
    lines = []
    for check in checks:
        head = f"{check.verdict.value:<6}  {check.name:<{names}}  "
        lines += _wrapped(check.found, head, blank, width)
        if check.mend:
            lines += _wrapped(check.mend, blank + "-> ", blank + "   ", width)
    return "\n".join(lines)


def _wrapped(text: str, first: str, rest: str, width: int) -> list[str]:
    """Lines of whole words: a path or an address is never broken."""
    return textwrap.wrap(
        text or "nothing",
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
