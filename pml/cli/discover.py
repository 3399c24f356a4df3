"""`pml discover`: which tools and capabilities fit an intent."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pml.cli.options import AsJson, Config, DataDir, example
from pml.cli.session import list_servers, opened, run
from pml.cli.terminal import result, result_json, width

if TYPE_CHECKING:
    from pml.cli.render_found import Known
    from pml.domain.discovery import DiscoverRequest, DiscoverResponse
    from pml.serve.compose import Workbench


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command(
        **example(
            'pml discover "read the notes" --config mcp.json',
            'pml discover "read the notes" --type capability --limit 3 --json',
            'pml discover "read the notes" --types --limit 1',
        )
    )(discover)


def discover(
    *,
    intent: Annotated[
        str, typer.Argument(metavar="INTENT", help="What is to be done, in a sentence.")
    ],
    kind: Annotated[
        Literal["tool", "capability", "all"], typer.Option("--type", help="What is wanted.")
    ] = "all",
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many, best first.")] = 10,
    offset: Annotated[int, typer.Option(min=0, help="How many to leave out before.")] = 0,
    min_score: Annotated[
        float, typer.Option("--min-score", min=0, max=1, help="Leave out what fits less.")
    ] = 0.0,
    brief: Annotated[
        bool, typer.Option("--brief", help="One line each; with --json, without schemas.")
    ] = False,
    types: Annotated[
        bool, typer.Option("--types", help="With TypeScript declarations in full.")
    ] = False,
    config: Config = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Rank tools and capabilities by how well they fit an intent; nothing runs."""
    from pml.cli.render_found import render_discovery
    from pml.domain.discovery import DiscoverFilter, DiscoverRequest

    if brief and types:
        message = "give either --brief or --types"
        raise typer.BadParameter(message)
    request = DiscoverRequest(
        intent=intent,
        filter=DiscoverFilter(type=kind, min_score=min_score),
        limit=limit,
        offset=offset,
        detail="brief" if brief else "types" if types else "full",
    )
    found, known = run(_discover(request, config, data_dir))
    if as_json:
        result_json(found)
    else:
        result(render_discovery(found, offset=offset, brief=brief, width=width(), known=known))


async def _discover(
    request: "DiscoverRequest", config: Path | None, data_dir: Path | None
) -> "tuple[DiscoverResponse, Known]":
    async with opened(config=config, data_dir=data_dir) as bench:
        await list_servers(bench)
        found = await bench.discover(request)
        return found, await _known(bench, request, found)


async def _known(
    bench: "Workbench", request: "DiscoverRequest", found: "DiscoverResponse"
) -> "Known":
    """What there was to search, where that has to be told."""
    import msgspec

    from pml.cli.capabilities import MANY
    from pml.cli.render_found import Known
    from pml.domain.discovery import DiscoverFilter

    if found.total:
        return Known()
    kind = request.filter.type
    anything = DiscoverFilter(type=kind)
    unfiltered = await bench.discover(msgspec.structs.replace(request, filter=anything))
    listed = (await bench.store.tool_schemas.catalog(bench.upstreams.names)).servers
    learned = await bench.store.capabilities.recent(MANY)
    return Known(
        tools=0 if kind == "capability" else sum(map(len, listed.values())),
        capabilities=0 if kind == "tool" else len(learned),
        below=unfiltered.total,
    )
