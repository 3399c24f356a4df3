"""`pml capabilities`: the procedures that PML has learned."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pml.cli.options import AsJson, DataDir, example, group
from pml.cli.session import opened_store, run
from pml.cli.terminal import result, result_json, width

if TYPE_CHECKING:
    from pml.domain.capability import Capability, PastIntent
    from pml.store.ports import Store

MANY = 100_000
"""All of them: who looks one up by a part of its id or its name looks among these."""

Wanted = Annotated[
    str, typer.Argument(metavar="NAME", help="Its name, its id, or the beginning of its id.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    within = group(app, "capabilities", "pml capabilities", "pml capabilities --all --json")
    within.callback(invoke_without_command=True)(capabilities)
    within.command(
        **example("pml capabilities show read_notes", "pml capabilities show cap_1f3a --json")
    )(show)
    within.command(**example("pml capabilities rename read_notes todays_notes"))(rename)


def capabilities(
    context: typer.Context,
    show_all: Annotated[
        bool, typer.Option("--all", help="Those too that have never succeeded.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many, latest first.")] = 20,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List the procedures that PML has learned, the latest used first."""
    if context.invoked_subcommand is not None:
        return
    from pml.cli.render_capabilities import render_capabilities

    found = run(_recent(limit, data_dir, hidden=show_all))
    if as_json:
        result_json([capability for capability, _ in found])
    else:
        result(render_capabilities(found, width=width()))


async def _recent(
    limit: int, data_dir: Path | None, *, hidden: bool
) -> "list[tuple[Capability, str]]":
    async with opened_store(data_dir) as store:
        found = await store.capabilities.recent(limit, hidden=hidden)
        return [(capability, await _last_intent(store, capability)) for capability in found]


async def _last_intent(store: "Store", capability: "Capability") -> str:
    intents = await store.capabilities.intents(capability.id)
    return intents[0].intent if intents else capability.intent


def show(name: Wanted, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Show one whole: code, parameters, paths, intents."""
    from pml.cli.render_capabilities import render_capability

    capability, intents = run(_one(name, data_dir))
    if as_json:
        result_json({"capability": capability, "intents": intents})
    else:
        result(render_capability(capability, intents, width=width()))


async def _one(wanted: str, data_dir: Path | None) -> "tuple[Capability, tuple[PastIntent, ...]]":
    async with opened_store(data_dir) as store:
        capability = await _wanted(store, wanted)
        return capability, await store.capabilities.intents(capability.id)


def rename(
    name: Wanted,
    new: Annotated[str, typer.Argument(metavar="NEW", help="Letters, digits and _.")],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Give one another name.

    Programs that were analysed before go on calling the same version.
    """
    renamed = run(_rename(name, new, data_dir))
    if as_json:
        result_json(renamed)
    else:
        result(f"{renamed.id} is now capabilities.{renamed.name}")


async def _rename(wanted: str, new: str, data_dir: Path | None) -> "Capability":
    import time

    async with opened_store(data_dir) as store:
        capability = await _wanted(store, wanted)
        try:
            return await store.capabilities.rename(
                capability.id, new, now_ms=int(time.time() * 1_000)
            )
        except ValueError as exc:
            raise typer.BadParameter(str(exc)) from exc


async def _wanted(store: "Store", wanted: str) -> "Capability":
    """The capability of that name, id or beginning of an id.

    Raises:
        NotFoundError: there is none, or several; says which.
    """
    from pml.domain.nearest import nearest
    from pml.errors import NotFoundError

    known = await store.capabilities.recent(MANY, hidden=True)
    exact = [capability for capability in known if wanted in {capability.name, capability.id}]
    found = exact or [one for one in known if one.id.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        hint = f"several ids begin so: {', '.join(one.id for one in found[:3])}"
    else:
        near = nearest(wanted, [capability.name for capability in known])
        hint = f"did you mean {', '.join(near)}?" if near else "`pml capabilities` lists them"
    raise NotFoundError("capability", wanted, hint)
