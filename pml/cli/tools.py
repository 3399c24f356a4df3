"""`pml tools`: what an agent's program can call, as a list, as JSON or as declarations."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from pml.cli.options import AsJson, Config, DataDir, Permissions, example
from pml.cli.session import opened, run
from pml.cli.terminal import note, result, result_json, width

if TYPE_CHECKING:
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
    config: Config = None,
    permissions: Permissions = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List the tools that programs can call, with what each may do."""
    from pml.cli.render_records import render_tool, render_tools

    if dts and (as_json or provides):
        message = f"give either --dts or {'--json' if as_json else '--provides'}"
        raise typer.BadParameter(message)
    wanted = tuple(names or ())
    if provides:
        _show_edges(run(_edges(wanted, config, data_dir)), as_json=as_json)
        return
    if dts:
        result(run(_declared(wanted, config, data_dir)))
        return
    found = run(_tools(wanted, config, permissions, data_dir))
    alone = len(wanted) == 1 and ":" in wanted[0]
    if as_json:
        result_json(found[0][0] if alone else [item for item, _ in found])
    elif alone:
        result(render_tool(*found[0]))
    else:
        result(render_tools(found, width=width()))


async def _tools(
    wanted: Sequence[str], config: Path | None, permissions: Path | None, data_dir: Path | None
) -> "list[tuple[Tool, Permission]]":
    async with opened(config=config, permissions=permissions, data_dir=data_dir) as bench:
        found = await _found(bench, wanted)
        return [(tool, bench.act.permissions.of(tool)) for tool in found]


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
    """The tools that are wanted, with what was learned of their results.

    Raises:
        NotFoundError: there is no such tool.
    """
    listed = await asyncio.gather(*(_of_server(bench, name) for name in _servers(bench, wanted)))
    every = [tool for tools in listed for tool in tools]
    whole = {name for name in wanted if ":" not in name}
    single = {name for name in wanted if ":" in name}
    for name in single - {tool.id for tool in every}:
        raise _unknown(name, every)
    kept = [t for t in every if not wanted or t.server in whole or t.id in single]
    known = await bench.store.tool_schemas.find([tool.id for tool in kept])
    return [_with_observed(tool, known.get(tool.id)) for tool in kept]


def _with_observed(tool: "Tool", stored: "Tool | None") -> "Tool":
    if stored is None or stored.schema_hash() != tool.schema_hash():
        return tool
    return msgspec.structs.replace(tool, observed_schema=stored.observed_schema)


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
