"""All that is known of a run: trace, approvals, stops, runs that it called, relatives."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pml.domain.approval import Approval
from pml.domain.limits import Limits
from pml.domain.record import Record
from pml.domain.run import (
    Attempted,
    Checkpoint,
    Continued,
    Failed,
    Issued,
    LogRecord,
    RetryAllowed,
    Run,
    RunState,
    Undelivered,
)
from pml.domain.trace import ExecutionTrace
from pml.errors import NotFoundError
from pml.loop.close import latest_trace
from pml.loop.ids import child_run_id, replanned_run_id

if TYPE_CHECKING:
    from pml.store.ports import Store


class Story(Record, frozen=True, kw_only=True):
    """One run, looked back at."""

    run: Run
    trace: ExecutionTrace
    approvals: tuple[Approval, ...] = ()
    stops: tuple[str, ...] = ()
    """Where it waited and how it went on, as far as its log is kept."""
    children: "tuple[Child, ...]" = ()
    replaced_by: str | None = None
    """The run that it was replanned as."""


class Child(Record, frozen=True, kw_only=True):
    """A run that a call of a capability made."""

    task_id: str
    story: Story


async def read_story(store: "Store", run: Run, *, limits: Limits) -> Story:
    """What the store holds of a run and of all that it called.

    Raises:
        NotFoundError: it has no trace, and its log has been deleted.
    """
    trace = await latest_trace(store, run, limits=limits)
    tasks = {child_run_id(run.id, call): t.task_id for call, t in enumerate(trace.task_results)}
    children = [
        Child(task_id=tasks.get(child.id, "?"), story=await read_story(store, child, limits=limits))
        for child in await store.runs.children(run.id)
    ]
    return Story(
        run=run,
        trace=trace,
        approvals=await store.approvals.of_run(run.id),
        stops=tuple(_stops(await store.run_log.read(run.id), run.state)),
        children=tuple(children),
        replaced_by=await replacement(store, run.id),
    )


async def replacement(store: "Store", run_id: str) -> str | None:
    """The run that this one was replanned as."""
    try:
        return (await store.runs.get(replanned_run_id(run_id))).id
    except NotFoundError:
        return None


def _stops(records: Sequence[LogRecord], state: RunState) -> Iterator[str]:
    """Pauses, and what was decided of writes in doubt, in the order of the log."""
    waits = "it waits" if state.waits else f"there it ended: {state}"
    continued = {each.checkpoint_id for each in records if isinstance(each, Continued)}
    issued = {each.call: each for each in records if isinstance(each, Issued)}
    attempted = {each.call for each in records if isinstance(each, Attempted)}
    for record in records:
        match record:
            case Checkpoint(checkpoint_id=checkpoint_id, layer=layer):
                went_on = "then it was continued" if checkpoint_id in continued else waits
                yield f"before layer {layer + 1}: {went_on}"
            case RetryAllowed(call=call):
                yield f"{issued[call].task_id}: no answer came; to be sent once more"
            case Undelivered(call=call, outcome=Failed(code="skipped", message=message)):
                yield f"{issued[call].task_id}: in doubt; skipped: {message}"
            case Undelivered(call=call, duration_ms=0.0, outcome=outcome) if (
                call in attempted and not isinstance(outcome, Failed) and not outcome.mocked
            ):
                yield f"{issued[call].task_id}: in doubt; somebody gave the result"
