"""`pml doctor` and `pml sandbox-selftest`: whether everything that PML needs is there."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from pml.cli.options import AsJson, Config, DataDir, Permissions, example
from pml.cli.session import configured, run
from pml.cli.table import shorten, wrapped
from pml.cli.terminal import result, result_json, width

if TYPE_CHECKING:
    from pml.cli.check import Check
    from pml.runtime.sandbox.selftest import ProbeResult


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.command(**example("pml doctor", "pml doctor --config mcp.json --json"))(doctor)
    app.command(
        "sandbox-selftest", **example("pml sandbox-selftest", "pml sandbox-selftest --json")
    )(sandbox_selftest)


def doctor(
    config: Config = None,
    permissions: Permissions = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Try everything that PML needs, and say how to mend what fails."""
    from pml.cli.check import Verdict
    from pml.cli.checks import check_all
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
        lines += wrapped(check.found, head, blank, width)
        if check.mend:
            lines += wrapped(check.mend, blank + "-> ", blank + "   ", width)
    return "\n".join(lines)


def sandbox_selftest(as_json: AsJson = False) -> None:
    """Attack the sandbox with hostile programs, and say what stopped each.

    Each attack has a control: with the one guard off that has to stop it, it must succeed.
    """
    from pml.cli.exits import ExitCode

    found = run(_selftest(quiet=as_json))
    if as_json:
        result_json(found)
    passed = all(probe.passed for probe in found)
    raise typer.Exit(ExitCode.OK if passed else ExitCode.FAILED)


async def _selftest(*, quiet: bool) -> "list[ProbeResult]":
    """Every probe; each is printed as soon as it is known, since all take half a minute."""
    from pml.domain.limits import Limits
    from pml.runtime.reaper import Reaper
    from pml.runtime.sandbox.pool import SandboxPool
    from pml.runtime.sandbox.selftest import selftest, summary

    say: Callable[[str], None] = _silent if quiet else result
    found = []
    with Reaper.start() as reaper:
        async with SandboxPool(limits=Limits(), reaper=reaper, size=1) as pool:
            tier = pool.tier
        async for probe in selftest(reaper):
            found.append(probe)
            say(render_probe(probe, width=width()))
    say(summary(found, tier))
    return found


def _silent(text: str) -> None:
    """Nobody reads along."""


def render_probe(probe: "ProbeResult", *, width: int) -> str:
    """One line: whether it was refused, by which guard, and what was seen; all, if it failed."""
    text = f"{probe.name} ({probe.guard}): {probe.detail}"
    return f"refused {shorten(text, width - 8)}" if probe.passed else f"FAILED  {text}"
