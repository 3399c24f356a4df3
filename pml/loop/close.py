"""Writing down how a run stands, and reading it back: its state, log and trace."""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from pml.domain.capability import CAPABILITY_SERVER
from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.record import JsonText, decode
from pml.domain.run import Run, RunProgram, RunState
from pml.domain.sanitising import preview
from pml.domain.structure import CapabilityCall, StaticStructure
from pml.domain.trace import ExecutionTrace
from pml.errors import RunStateError
from pml.loop.prepare import json_object
from pml.loop.surroundings import Surroundings
from pml.runtime.recorder import dependencies, full_results, project
from pml.store.ports import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Everything that is known of a run."""

    run: Run
    kept: RunProgram
    structure: StaticStructure
    ledger: Ledger

    @property
    def given(self) -> JsonText:
        """Every argument as one JSON object, literals of the code included."""
        return json_object({**self.kept.defaults, **self.kept.arguments, **self.kept.lifted})


async def read_history(store: Store, run: Run) -> History:
    """What the store holds of a run.

    Raises:
        NotFoundError: its program and log have been deleted.
        LedgerKeyError: they were encrypted with another key.
        LogOrderError: the log is damaged.
    """
    kept = await store.runs.program(run.id)
    return History(
        run=run,
        kept=kept,
        structure=decode(StaticStructure, kept.structure),
        ledger=Ledger(await store.run_log.read(run.id)),
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
        {name: json.loads(text) for name, text in history.kept.arguments.items()},
        limits,
    )


async def close(
    store: Store,
    history: History,
    trace: ExecutionTrace,
    *,
    reason: str,
    now_ms: int,
    limits: Limits,
    expires_at_ms: int | None = None,
    around: Surroundings | None = None,
) -> None:
    """Move the run to the trace's state; a final one keeps trace, results and statistics.

    Args:
        store: where.
        history: of the run.
        trace: what it came to, in the state that it shall be in.
        reason: why, in words.
        now_ms: Unix time.
        limits: bound reason and results.
        expires_at_ms: until when a run that waits can be answered; None: as `Limits` says.
        around: the tools as the run knew them; None: nobody knows any more.

    Raises:
        RunStateError: the run has been moved meanwhile.
        FencedError: another process has taken it over.
        StoreError: the database is lost; the run is found as interrupted later.
    """
    reason = preview(reason, limits.message_chars)
    if not trace.state.final:
        expires = now_ms + limits.waiting_ttl_s * 1000 if expires_at_ms is None else expires_at_ms
        await _wait(store, history.run, trace.state, reason, now_ms, expires)
        return
    results = await asyncio.to_thread(full_results, history.ledger)
    edges = await asyncio.to_thread(dependencies, history.structure, history.ledger)
    await store.traces.finish(
        trace.run_id,
        trace.state,
        reason=reason,
        now_ms=now_ms,
        epoch=history.run.epoch,
        trace=trace,
        results=results,
        dependencies=() if trace.dry_run else edges,
        result_expires_at_ms=now_ms + limits.result_ttl_s * 1000,
        arguments=history.given,
        callees=_callees(history),
        tools={} if around is None else around.schema_hashes(history.structure),
        literals=None if trace.dry_run else history.kept.literals,
    )


def _callees(history: History) -> Mapping[str, int]:
    """How often the run called which capabilities, by id."""
    by_name = {
        f"{CAPABILITY_SERVER}:{node.name}": node.capability_id
        for node in history.structure.nodes
        if isinstance(node, CapabilityCall)
    }
    called = (call.issued.tool for call in history.ledger.calls if call.attempts)
    return Counter(by_name[tool] for tool in called if tool in by_name)


async def _wait(  # noqa: PLR0917
    store: Store, run: Run, state: RunState, reason: str, now_ms: int, expires_at_ms: int
) -> None:
    try:
        await store.runs.move(
            run.id,
            state,
            reason=reason,
            now_ms=now_ms,
            epoch=run.epoch,
            expires_at_ms=expires_at_ms,
        )
    except RunStateError as exc:
        if exc.state != state:  # else it is the answer to a first try that was lost
            raise
