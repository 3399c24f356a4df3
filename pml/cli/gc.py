"""`pml gc`: deletes what is kept no longer (ST-7)."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pml.cli.options import AsJson, DataDir, example
from pml.cli.session import configured, opened_store, run
from pml.cli.terminal import result, result_json

if TYPE_CHECKING:
    from pml.store.ports import Collected


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command(**example("pml gc", "pml gc --older-than 30", "pml gc --traces-kept 1000 --json"))(
        gc
    )


def gc(
    traces_kept: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="How many, latest first.  Default: limits.yaml."),
    ] = None,
    older_than: Annotated[
        int | None,
        typer.Option(metavar="DAYS", min=0, help="Traces older than that go, however few."),
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Delete old traces with their runs, and results and logs whose time is over.

    What was learned from them stays, and so does the audit log.  `pml serve` does it once a day.
    """
    gone = run(_collected(traces_kept, older_than, data_dir))
    if as_json:
        counts = (gone.traces, gone.runs, gone.results, gone.log_records, gone.leases)
        names = ("traces", "runs", "results", "logRecords", "leases")
        result_json(dict(zip(names, counts, strict=True)))
    else:
        result(render_collected(gone))


async def _collected(
    traces_kept: int | None, older_than: int | None, data_dir: Path | None
) -> "Collected":
    from pml.loop.clean_up import clean_up
    from pml.serve.compose import now_ms

    limits = configured(data_dir=data_dir).limits
    async with opened_store(data_dir) as store:
        return await clean_up(
            store, limits, now_ms=now_ms(), traces_kept=traces_kept, trace_age_days=older_than
        )


def render_collected(gone: "Collected") -> str:
    """How much of each."""
    parts = (
        (gone.traces, "trace"),
        (gone.runs, "run"),
        (gone.results, "result"),
        (gone.log_records, "log record"),
    )
    told = [f"{count:,} {word}{'' if count == 1 else 's'}" for count, word in parts if count]
    return "deleted " + (", ".join(told) if told else "nothing: all of it is still kept")
