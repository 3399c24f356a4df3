"""What every command that lets a run go on has in common: where, with whom, and how it is told."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pml.cli.exits import ExitCode, for_response
from pml.cli.session import opened
from pml.cli.terminal import note, result, result_json, width

if TYPE_CHECKING:
    from pml.cli.render_found import Given
    from pml.domain.approval import Principal
    from pml.domain.capability import Capability
    from pml.domain.response import ExecuteResponse
    from pml.serve.compose import Workbench

    Steers: TypeAlias = Callable[[Workbench, str], Awaitable[ExecuteResponse]]

OWNER = "local"
"""Who uses the command line: the owner of the machine, whose name the audit log shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Which servers, rules and database a command was given."""

    config: Path | None
    permissions: Path | None
    data_dir: Path | None

    def given(self, intent: str = "...") -> "Given":
        """What the next command has to be given again."""
        from pml.cli.render_found import Given

        options = {"--config": self.config, "--permissions": self.permissions}
        return Given(intent=intent, data_dir=self.data_dir, options=options)


def owner() -> "Principal":
    """Who sits at this machine may do everything."""
    from pml.domain.approval import Principal, Role

    return Principal(name=OWNER, role=Role.ADMIN)


async def steered(
    run_id: str, steer: "Steers", where: Where, *, quiet: bool
) -> "tuple[ExecuteResponse, Capability | None]":
    """Say something to a run, and what it comes to; with the capability that it taught.

    Who names a run that another one called means that one: only it can be steered.

    Raises:
        NotFoundError: there is no such run.
    """
    from pml.cli.progress import Progress
    from pml.cli.which import run_named, short
    from pml.domain.outward import outward

    on_event = None if quiet else Progress(note, width=width())
    async with opened(
        config=where.config,
        permissions=where.permissions,
        data_dir=where.data_dir,
        on_event=on_event,
    ) as bench:
        run = await run_named(bench.store, run_id)
        root = await bench.steering.root_of(run.id)
        if root != run.id:
            note(f"pml: run {short(run.id)} was called by the code of run {short(root)}: that one")
        elif run.state.final:
            note(f"pml: run {short(run.id)} had ended before")
        return await with_capability(bench, outward(await steer(bench, root)))


async def with_capability(
    bench: "Workbench", response: "ExecuteResponse"
) -> "tuple[ExecuteResponse, Capability | None]":
    """The response, and the capability that it names where it succeeded."""
    if response.status != "success" or response.capability_id is None:
        return response, None
    return response, await bench.store.capabilities.get(response.capability_id)


def tell(
    response: "ExecuteResponse",
    given: "Given",
    *,
    as_json: bool,
    learned: "Capability | None" = None,
    source: str = "",
    name: str = "the program",
) -> ExitCode:
    """Print how a run ended or what it waits for; the code that says the same."""
    from pml.cli.render_response import render_response

    if as_json:
        result_json(as_answer(response, given))
    else:
        shown = render_response(
            response, source=source, name=name, width=width(), learned=learned, given=given
        )
        result(shown)
    return for_response(response)


def as_answer(response: "ExecuteResponse", given: "Given") -> object:
    """The response, and of a run that waits the commands that go on from there, as ``next``."""
    from pml.cli.next_commands import next_commands
    from pml.domain.record import encode, to_builtins

    following = next_commands(response, given)
    if not following:
        return response
    return {**json.loads(encode(response)), "next": to_builtins(following)}
