"""`pml runs` and `pml trace`: what was done."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pml.cli.options import AsJson, DataDir, example
from pml.cli.session import configured, opened_store, run
from pml.cli.terminal import result, result_json, width
from pml.domain.run import RunState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pml.cli.story import Story
    from pml.domain.run import Run
    from pml.store.ports import Store


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.command(
        **example("pml runs", "pml runs --waiting", "pml runs --state error --limit 5 --json")
    )(runs)
    app.command(
        **example(
            "pml trace",
            "pml trace 3f2a91bc --json",
            "pml trace 3f2a91bc --task n3  # its whole result",
            "pml trace 3f2a91bc --replay",
        )
    )(trace)


def runs(
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many, latest first.")] = 20,
    state: Annotated[RunState | None, typer.Option(help="Only runs in this state.")] = None,
    waiting: Annotated[
        bool, typer.Option("--waiting", help="Only runs that wait for somebody, whatever for.")
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """List the latest runs, and of those that wait, for what and until when; times are UTC."""
    from pml.cli.render_records import render_runs

    if waiting and state is not None:
        message = "give either --state or --waiting"
        raise typer.BadParameter(message)
    states = [each for each in RunState if each.waits] if waiting else [state]
    found = run(_runs(limit, states, data_dir))
    if as_json:
        result_json(found)
    elif waiting and not found:
        result("Nothing waits for anybody.")
    else:
        result(render_runs(found, width=width()))


async def _runs(
    limit: int, states: "Sequence[RunState | None]", data_dir: Path | None
) -> "list[Run]":
    async with opened_store(data_dir) as store:
        found = [run for state in states for run in await store.runs.recent(limit, state)]
        return sorted(found, key=lambda run: -run.created_at_ms)[:limit]


def trace(
    run_id: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN", help="Its id, or the beginning of it; the latest if left out."
        ),
    ] = None,
    task: Annotated[
        str | None, typer.Option(metavar="CALL", help="Only the whole result of this call.")
    ] = None,
    replay: Annotated[
        bool,
        typer.Option(
            "--replay", help="Run it again along its log, calling nothing: it goes the same way."
        ),
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show what a run did: each call, side by side in time, decisions, results, errors.

    Also where it waited and who answered, the runs that it called, and which run it replaces.
    """
    from pml.cli.render_story import render_story
    from pml.cli.replaying import replayed
    from pml.domain.record import to_builtins

    if task is not None:
        result(run(_whole_result(run_id, task, data_dir)))
        return
    if replay:
        done = run(replayed(run_id, data_dir))
        if as_json:
            result_json(done)
        else:
            result(f"run {done.run_id}: {done.records} records replayed, no call, the same way")
        return
    found = run(_story(run_id, data_dir))
    if as_json:
        story = to_builtins(found)
        result_json({**story.pop("trace"), **story})
    else:
        result(render_story(found, width=width()))


async def _story(run_id: str | None, data_dir: Path | None) -> "Story":
    """What the run did, or has done so far.

    Raises:
        NotFoundError: there is no such run, or what it did has been deleted.
    """
    from pml.cli.story import read_story
    from pml.domain.outward import outward

    limits = configured(data_dir=data_dir).limits
    async with opened_store(data_dir) as store:
        return outward(await read_story(store, await run_or_latest(store, run_id), limits=limits))


async def _whole_result(run_id: str | None, task: str, data_dir: Path | None) -> str:
    import time

    parts: list[str] = []
    async with opened_store(data_dir) as store:
        found = await run_or_latest(store, run_id)
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


async def run_or_latest(store: "Store", run_id: str | None) -> "Run":
    """The run that is named, else the latest that is not a part of another.

    Raises:
        NotFoundError: there is none.
    """
    from pml.cli.which import run_named
    from pml.errors import NotFoundError

    if run_id is not None:
        return await run_named(store, run_id)
    latest = await store.runs.recent(LOOK_BACK)
    if not latest:
        raise NotFoundError("run", "latest", "nothing has run yet; `pml demo` runs something")
    return next((run for run in latest if run.parent_run_id is None), latest[0])
