"""`pml tools`: what an agent's program can call, as a list, as JSON or as declarations."""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pml.cli.options import AsJson, Config, DataDir, Permissions, example
from pml.cli.session import opened, run
from pml.cli.terminal import note, result, result_json, width

OWNER = "local"
"""Who uses the command line, in the audit log."""

if TYPE_CHECKING:
    from pml.domain.approval import Quarantined
    from pml.domain.permissions import Permission
    from pml.domain.provides import ProvidesEdge
    from pml.domain.tools import Tool
    from pml.serve.compose import Workbench


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command(
        **example(
            "pml tools --config mcp.json",
            "pml tools files:read_text_file",
            "pml tools files git --json",
            "pml tools --dts > pml.d.ts",
            "pml tools files:search_files --provides",
            "pml tools files:read_text_file --accept",
        )
    )(tools)


def tools(
    *,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SERVER | SERVER:TOOL]...",
            help="Only these; of one tool alone, everything that is known.",
        ),
    ] = None,
    dts: Annotated[
        bool,
        typer.Option(
            "--dts",
            help="TypeScript declarations, for an editor or a type checker; of "
            "capabilities too, unless servers or tools are named.",
        ),
    ] = False,
    provides: Annotated[
        bool,
        typer.Option(
            "--provides", help="Which tools' results can be arguments of which, field by field."
        ),
    ] = False,
    accept: Annotated[
        bool,
        typer.Option(
            "--accept",
            help="Show what changed of these tools since they were accepted, and accept them "
            "as they are now.",
        ),
    ] = False,
    config: Config = None,
    permissions: Permissions = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List the tools that programs can call, with what each may do."""
    from pml.cli.render_quarantine import render_changes
    from pml.cli.render_records import render_tool, render_tools

    if dts and (as_json or provides):
        message = f"give either --dts or {'--json' if as_json else '--provides'}"
        raise typer.BadParameter(message)
    wanted = tuple(names or ())
    if accept:
        _show_accepted(run(_accepted(wanted, config, data_dir)), as_json=as_json)
        return
    if provides:
        _show_edges(run(_edges(wanted, config, data_dir)), as_json=as_json)
        return
    if dts:
        result(run(_declared(wanted, config, data_dir)))
        return
    found, held = run(_tools(wanted, config, permissions, data_dir))
    alone = len(wanted) == 1 and ":" in wanted[0]
    if as_json:
        result_json(found[0][0] if alone else [item for item, _ in found])
    elif alone:
        result("\n\n".join(filter(None, (render_tool(*found[0]), render_changes(held)))))
    else:
        result(render_tools(found, width=width()))


async def _tools(
    wanted: Sequence[str], config: Path | None, permissions: Path | None, data_dir: Path | None
) -> "tuple[list[tuple[Tool, Permission]], list[Quarantined]]":
    """The tools with what they may do, and what changed of those that changed."""
    async with opened(config=config, permissions=permissions, data_dir=data_dir) as bench:
        found = await _found(bench, wanted)
        judged = [(tool, bench.act.permissions.of(tool)) for tool in found]
        return judged, await _held(bench, found)


def _show_accepted(accepted: "Sequence[Quarantined]", *, as_json: bool) -> None:
    from pml.cli.render_quarantine import render_changes

    if as_json:
        result_json(accepted)
    elif accepted:
        result(render_changes(accepted))
        note(f"pml: accepted {', '.join(each.now.id for each in accepted)}")
    else:
        note("pml: none of these tools has changed since it was accepted")


async def _accepted(
    wanted: Sequence[str], config: Path | None, data_dir: Path | None
) -> "list[Quarantined]":
    """Those of the wanted tools that had changed; what is accepted is what is returned."""
    if not wanted:
        message = "name the tools, or servers, whose changes you accept"
        raise typer.BadParameter(message)
    from pml.serve.compose import now_ms

    async with opened(config=config, data_dir=data_dir) as bench:
        held = await _held(bench, await _found(bench, wanted))
        for each in held:
            await bench.store.tool_schemas.accept(
                each.now.id, schema_hash=each.now.schema_hash(), by=OWNER, now_ms=now_ms()
            )
        return held


async def _held(bench: "Workbench", tools: "Iterable[Tool]") -> "list[Quarantined]":
    """Those of the tools that changed since they were accepted, and what they were."""
    ids = {tool.id for tool in tools if tool.changed}
    if not ids:
        return []
    return [each for each in await bench.store.tool_schemas.quarantined() if each.now.id in ids]


def _show_edges(edges: "Sequence[ProvidesEdge]", *, as_json: bool) -> None:
    from pml.cli.render_provides import render_provides

    if as_json:
        result_json(edges)
    else:
        result(render_provides(edges, width=width()))


async def _edges(
    wanted: Sequence[str], config: Path | None, data_dir: Path | None
) -> "list[ProvidesEdge]":
    """Of all tools, those edges that begin or end at a wanted one."""
    async with opened(config=config, data_dir=data_dir) as bench:
        every = await _found(bench, ())
        ids = {tool.id for tool in (await _found(bench, wanted) if wanted else every)}
        index = await bench.library.provides()
        return [
            edge for edge in index.edges() if not ids.isdisjoint((edge.provider, edge.consumer))
        ]


async def _declared(wanted: Sequence[str], config: Path | None, data_dir: Path | None) -> str:
    from pml.analysis.declarations import Callable, Declarations
    from pml.cli.capabilities import MANY

    async with opened(config=config, data_dir=data_dir) as bench:
        servers: dict[str, list[Tool]] = {name: [] for name in _servers(bench, wanted)}
        for tool in await _found(bench, wanted):
            servers[tool.server].append(tool)
        kept = () if wanted else await bench.store.capabilities.recent(MANY)
        known = [
            Callable(
                name=capability.name,
                description=capability.description or capability.intent,
                parameters=capability.parameters,
            )
            for capability in kept
        ]
    return Declarations().file(servers, known).rstrip("\n")


def _servers(bench: "Workbench", wanted: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.partition(":")[0] for name in wanted)) or bench.upstreams.names


async def _found(bench: "Workbench", wanted: Sequence[str]) -> "list[Tool]":
    """The tools that are wanted, with what is kept of them.

    Raises:
        NotFoundError: there is no such tool.
    """
    from pml.loop.listed import as_kept

    listed = await asyncio.gather(*(_of_server(bench, name) for name in _servers(bench, wanted)))
    every = [tool for tools in listed for tool in tools]
    whole = {name for name in wanted if ":" not in name}
    single = {name for name in wanted if ":" in name}
    for name in single - {tool.id for tool in every}:
        raise _unknown(name, every)
    kept = [t for t in every if not wanted or t.server in whole or t.id in single]
    known = await bench.store.tool_schemas.find([tool.id for tool in kept])
    return [as_kept(tool, known.get(tool.id)) for tool in kept]


async def _of_server(bench: "Workbench", name: str) -> "tuple[Tool, ...]":
    """The server's tools; one that fails is reported and does not hide the others'."""
    from pml.errors import UpstreamError

    try:
        return await bench.upstreams.tools(name)
    except UpstreamError as exc:
        note(f"pml: {exc}")
        return ()


def _unknown(wanted: str, found: "list[Tool]") -> Exception:
    from pml.domain.nearest import nearest
    from pml.errors import NotFoundError

    near = nearest(wanted, [tool.id for tool in found])
    hint = f"did you mean {', '.join(near)}?" if near else "`pml tools` lists them all"
    return NotFoundError("tool", wanted, hint)
