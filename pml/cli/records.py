"""`pml runs` and `pml trace`: what was done."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pml.cli.options import AsJson, DataDir, example
from pml.cli.session import configured, opened_store, run
from pml.cli.terminal import result, result_json, width
from pml.domain.run import RunState

if TYPE_CHECKING:
    from pml.domain.run import Run
    from pml.domain.trace import ExecutionTrace
    from pml.store.ports import Store


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.command(**example("pml runs", "pml runs --state error --limit 5 --json"))(runs)
    app.command(
        **example(
            "pml trace", "pml trace RUN --json", "pml trace RUN --task n3  # its whole result"
        )
    )(trace)


def runs(
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many, latest first.")] = 20,
    state: Annotated[RunState | None, typer.Option(help="Only runs in this state.")] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List the latest runs; times are UTC."""
    from pml.cli.render_records import render_runs

    found = run(_runs(limit, state, data_dir))
    if as_json:
        result_json(found)
    else:
        result(render_runs(found, width=width()))


async def _runs(limit: int, state: RunState | None, data_dir: Path | None) -> "tuple[Run, ...]":
    async with opened_store(data_dir) as store:
        return await store.runs.recent(limit, state)


def trace(
    run_id: Annotated[
        str | None, typer.Argument(metavar="RUN", help="The run; the latest if left out.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(metavar="CALL", help="Only the whole result of this call.")
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show what a run did: each call, side by side in time, decisions, results, errors."""
    from pml.cli.render_trace import render_trace

    if task is not None:
        result(run(_whole_result(run_id, task, data_dir)))
        return
    found = run(_trace(run_id, data_dir))
    if as_json:
        result_json(found)
    else:
        result(render_trace(found, width=width()))


async def _trace(run_id: str | None, data_dir: Path | None) -> "ExecutionTrace":
    """What the run did, or has done so far.

    Raises:
        NotFoundError: there is no such run, or what it did has been deleted.
    """
    from pml.loop.close import latest_trace

    limits = configured(data_dir=data_dir).limits
    async with opened_store(data_dir) as store:
        return await latest_trace(store, await _run(store, run_id), limits=limits)


async def _whole_result(run_id: str | None, task: str, data_dir: Path | None) -> str:
    import time

    parts: list[str] = []
    async with opened_store(data_dir) as store:
        found = await _run(store, run_id)
        offset = 0
        while True:
            page = await store.task_results.page(
                found.id, task, offset=offset, limit=PAGE_CHARS, now_ms=int(time.time() * 1_000)
            )
            parts.append(page.text)
            offset += len(page.text)
            if not page.text or offset >= page.total_chars:
                return "".join(parts)


PAGE_CHARS = 100_000
LOOK_BACK = 200
"""Runs among which the latest is searched that is not a part of another."""


async def _run(store: "Store", run_id: str | None) -> "Run":
    from pml.errors import NotFoundError

    if run_id is not None:
        return await store.runs.get(run_id)
    latest = await store.runs.recent(LOOK_BACK)
    if not latest:
        raise NotFoundError("run", "latest", "nothing has run yet; `pml demo` runs something")
    return next((run for run in latest if run.parent_run_id is None), latest[0])
