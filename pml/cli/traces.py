"""`pml export-traces` and `pml import-traces`: anonymous traces for others, and of others."""

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pml.cli.extras import check_extra
from pml.cli.options import AsJson, DataDir, example
from pml.cli.session import opened_store, run
from pml.cli.terminal import result, result_json

if TYPE_CHECKING:
    from pml.cli.trace_exchange import Exported, Imported

MOST = 1_000_000
"""Traces of one export, unless it is told otherwise; more than a store keeps by default."""
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Empty, or made by the command.")]


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.command(
        "export-traces",
        **example(
            "pml export-traces traces/",
            "pml export-traces traces/ --since 2026-11-01 --limit 10000",
            "pml evaluate traces/",
        ),
    )(export_traces)
    app.command(
        "import-traces",
        **example("pml import-traces traces/ --name team-a", "pml import-traces --forget team-a"),
    )(import_traces)


def export_traces(
    *,
    folder: Folder,
    since: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="Only traces from then on, as 2026-11-01."),
    ] = None,
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, help="At most so many, the latest.")
    ] = MOST,
    keep_intents: Annotated[
        bool, typer.Option("--keep-intents", help="Leave intents as they were written.")
    ] = False,
    imported: Annotated[
        bool, typer.Option("--imported", help="Those that were imported, instead of own ones.")
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Write traces as Parquet, without what they were about.

    Every value, id and error becomes a token that tells its form, and which values are equal;
    nobody can turn it back.  Of intents only words stay that descriptions of tools use.  Names
    and schemas of tools stay.  `pml evaluate DIR` measures methods on the folder.
    """
    if imported and (since is not None or keep_intents):
        message = "--imported: those are exported as they are, without --since or --keep-intents"
        raise typer.BadParameter(message)
    since_ms = 0 if since is None else _since_ms(since)
    check_extra("evaluate")
    done = run(
        _exported(folder, since_ms, limit, data_dir, keep_intents=keep_intents, imported=imported)
    )
    if as_json:
        result_json({"traces": done.traces, "workflows": done.workflows, "tools": done.tools})
    else:
        result(render_exported(done, folder))


def import_traces(
    *,
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="What `pml export-traces` wrote.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Whose they are.  Default: the name of the folder."),
    ] = None,
    forget: Annotated[
        str | None, typer.Option(metavar="NAME", help="Delete what was imported as that instead.")
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Keep traces that others exported, apart from your own.

    They are no experience of yours: no capability, suggestion or statistic comes of them.  A
    folder is checked whole before anything is kept; the same traces again change nothing.
    """
    if (folder is None) == (forget is None) or (name is not None and folder is None):
        message = "expected DIR (perhaps with --name), or --forget NAME"
        raise typer.BadParameter(message)
    if folder is None:
        gone = run(_forgotten(str(forget), data_dir))
        told = f"forgot {_count(gone, 'trace')} of {forget}"
        result_json({"source": forget, "forgotten": gone}) if as_json else result(told)
        return
    check_extra("evaluate")
    done = run(_imported(folder, name or folder.resolve().name, data_dir))
    if as_json:
        counts = {"traces": done.traces, "known": done.known, "tools": done.tools}
        result_json({"source": done.source, **counts})
    else:
        result(render_imported(done))


def _since_ms(text: str) -> int:
    try:
        return int(dt.datetime.fromisoformat(text).astimezone().timestamp() * 1000)
    except ValueError as exc:
        message = f"--since: expected a date, such as 2026-11-01; found {text!r}"
        raise typer.BadParameter(message) from exc


async def _exported(
    folder: Path,
    since_ms: int,
    limit: int,
    data_dir: Path | None,
    *,
    keep_intents: bool,
    imported: bool,
) -> "Exported":
    from pml.cli.trace_exchange import export_imported, export_own

    async with opened_store(data_dir) as store:
        if imported:
            return await export_imported(store, folder, limit=limit)
        return await export_own(
            store, folder, since_ms=since_ms, limit=limit, keep_intents=keep_intents
        )


async def _imported(folder: Path, source: str, data_dir: Path | None) -> "Imported":
    from pml.cli.trace_exchange import import_all
    from pml.serve.compose import now_ms

    async with opened_store(data_dir) as store:
        return await import_all(store, folder, source=source, now_ms=now_ms())


async def _forgotten(source: str, data_dir: Path | None) -> int:
    from pml.errors import NotFoundError

    async with opened_store(data_dir) as store:
        known = [one.name for one in await store.imports.sources()]
        if source not in known:
            hint = f"there are: {', '.join(known)}" if known else "nothing was imported"
            raise NotFoundError("import", source, hint)
        return await store.imports.forget(source)


def render_exported(done: "Exported", folder: Path) -> str:
    """What is in the folder, and what to do with it."""
    parts = ((done.traces, "trace"), (done.workflows, "workflow"), (done.tools, "tool"))
    counts = ", ".join(_count(number, word) for number, word in parts)
    return f"{folder}: {counts}\npml evaluate {folder}  measures methods on them"


def render_imported(done: "Imported") -> str:
    """What is new."""
    known = f"; {_count(done.known, 'trace')} known before" if done.known else ""
    return f"{done.source}: {_count(done.traces, 'new trace')}, {_count(done.tools, 'tool')}{known}"


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
