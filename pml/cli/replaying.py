"""`pml trace --replay`: whether a run that is over, replayed from its log, goes the same way."""

from pathlib import Path

from pml.cli.session import opened
from pml.domain.record import Record


class Replay(Record, frozen=True, kw_only=True):
    """A replay that went the same way as the run."""

    run_id: str
    records: int
    """How many records of the log the code was given or did again."""


async def replayed(run_id: str | None, data_dir: Path | None) -> Replay:
    """Run the program along its log in a sandbox, without calling anything.

    Raises:
        NotFoundError: there is no such run, or its log has been deleted.
        RequestError: it has not ended, or never began.
        DivergedError: it went another way.
        SandboxError: there is none to be had.
    """
    from pml.cli.records import run_or_latest
    from pml.domain.tools import Catalog
    from pml.errors import RequestError
    from pml.loop.close import read_history
    from pml.loop.prepare import json_object
    from pml.runtime.plan import RunPlan
    from pml.runtime.rerun import replay_finished
    from pml.runtime.sandbox.module import module_text
    from pml.runtime.sandbox.protocol import StartInput

    async with opened(data_dir=data_dir) as bench:
        run = await run_or_latest(bench.store, run_id)
        if not run.state.final or run.started_at_ms is None:
            message = f"run {run.id} is {run.state}: only what has run and is over is replayed"
            raise RequestError(message)
        history = await read_history(bench.store, run)
        kept, structure = history.kept, history.structure
        plan = RunPlan(
            run_id=run.id,
            start=StartInput(
                module=module_text(kept.instrumented, structure.variables),
                arguments=json_object(kept.arguments),
                lifted=json_object(kept.lifted),
                seed=kept.seed,
                now_ms=run.started_at_ms,
            ),
            sites=frozenset(node.id for node in structure.nodes),
            catalog=Catalog({}),
            permissions=bench.act.permissions,
            timeout_ms=run.timeout_ms,
        )
        async with bench.act.sandboxes.checkout() as sandbox:
            done = await replay_finished(plan, sandbox, history.ledger, limits=bench.act.limits)
        return Replay(run_id=run.id, records=done.records)
