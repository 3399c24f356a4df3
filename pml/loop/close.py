"""Writing down how a run stands, and reading it back: its state, log and trace."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from pml.domain.capability import Literals
from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.record import JsonText, decode
from pml.domain.run import Run, RunState
from pml.domain.sanitising import preview
from pml.domain.structure import StaticStructure
from pml.domain.trace import ExecutionTrace
from pml.errors import RunStateError
from pml.loop.prepare import json_object
from pml.runtime.recorder import dependencies, full_results, project
from pml.store.ports import Runs, Store, Traces


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Everything that is known of a run."""

    run: Run
    structure: StaticStructure
    ledger: Ledger
    arguments: Mapping[str, JsonText]
    given: JsonText = "{}"
    """Every argument as one JSON object, literals of the code included where they are known."""
    literals: Literals | None = None
    """What the intent stands for from now on."""


async def read_history(store: Store, run: Run) -> History:
    """What the store holds of a run.

    Raises:
        NotFoundError: its program and log have been deleted.
    """
    kept = await store.runs.program(run.id)
    return History(
        run=run,
        structure=decode(StaticStructure, kept.structure),
        ledger=Ledger(await store.run_log.read(run.id)),
        arguments=kept.arguments,
        given=json_object({**kept.arguments, **kept.lifted}),
        literals=kept.literals,
    )


async def latest_trace(store: Store, run: Run, *, limits: Limits) -> ExecutionTrace:
    """The run's latest trace or, while it has none, what its log says so far.

    Raises:
        NotFoundError: it has no trace, and its log has been deleted.
    """
    traces = await store.traces.of_run(run.id)
    if traces:
        return traces[-1]
    history = await read_history(store, run)
    return trace_of(history, run.state, limits=limits, reason=run.reason)


def trace_of(
    history: History, state: RunState, *, limits: Limits, reason: str = ""
) -> ExecutionTrace:
    """The trace of a run as if it stood in ``state`` now."""
    return project(
        msgspec.structs.replace(history.run, state=state, reason=reason),
        history.structure,
        history.ledger,
        {name: json.loads(text) for name, text in history.arguments.items()},
        limits,
    )


async def close(
    runs: Runs,
    traces: Traces,
    history: History,
    trace: ExecutionTrace,
    *,
    reason: str,
    now_ms: int,
    limits: Limits,
) -> None:
    """Move the run to the trace's state; a final one keeps trace, results and statistics.

    Raises:
        RunStateError: the run has been moved meanwhile.
        FencedError: another process has taken it over.
        StoreError: the database is lost; the run is found as interrupted later.
    """
    reason = preview(reason, limits.message_chars)
    if not trace.state.final:
        try:
            await runs.move(
                trace.run_id,
                trace.state,
                reason=reason,
                now_ms=now_ms,
                epoch=history.run.epoch,
            )
        except RunStateError as exc:
            if exc.state != trace.state:  # else it is the answer to a first try that was lost
                raise
        return
    results = await asyncio.to_thread(full_results, history.ledger)
    edges = await asyncio.to_thread(dependencies, history.structure, history.ledger)
    await traces.finish(
        trace.run_id,
        trace.state,
        reason=reason,
        now_ms=now_ms,
        epoch=history.run.epoch,
        trace=trace,
        results=results,
        dependencies=edges,
        result_expires_at_ms=now_ms + limits.result_ttl_s * 1000,
        arguments=history.given,
        literals=history.literals,
    )
