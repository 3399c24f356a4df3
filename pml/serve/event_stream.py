"""Events of a run as server-sent events (EX-9).

Every event has an ``id:``; a client that lost the stream sends the last one as
``Last-Event-ID`` and goes on after it.  A run that ended before this process began is told
from its trace.  The stream ends when the run has ended; until then a comment now and then
shows that it lives.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import msgspec

from pml.domain.events import (
    DecisionTaken,
    Event,
    RunEnd,
    RunStarted,
    TaskEnd,
    TaskStart,
)
from pml.domain.outward import outward
from pml.domain.record import encode
from pml.domain.run import Run
from pml.domain.trace import ExecutionTrace
from pml.runtime.feed import Dropped, Feed, Position, Told
from pml.store.ports import Store

HEARTBEAT_S = 10.0
"""Proxies tend to close what is silent for 30 to 60 s."""
_FROM_TRACE = "trace"
"""The stream of events that are told from a trace."""


@dataclass(frozen=True, slots=True)
class EventStreams:
    """Tells runs of one store."""

    feed: Feed
    store: Store
    heartbeat_s: float = HEARTBEAT_S

    async def of(self, run: Run, after: Position | None) -> AsyncIterator[bytes]:
        """The run's events as text of server-sent events, from ``after`` on.

        Raises:
            StoreError: the database is lost.
        """
        if run.state.final and not self.feed.knows(run.id):
            async for part in self._from_trace(run, after):
                yield part
            return
        events = self.feed.watch(run.id, after)
        coming = asyncio.ensure_future(anext(events, None))
        try:
            while True:
                await asyncio.wait({coming}, timeout=self.heartbeat_s)
                if not coming.done():
                    yield b": still here\n\n"
                    run = await self.store.runs.get(run.id)
                    if run.state.final:  # ended by another process, or while it waited
                        async for part in self._missing_end(run, after):
                            yield part
                        return
                    continue
                if (item := coming.result()) is None:
                    return
                yield _text(item)
                coming = asyncio.ensure_future(anext(events, None))
        finally:
            coming.cancel()
            await asyncio.wait({coming})
            await events.aclose()  # type: ignore[attr-defined]

    async def _missing_end(self, run: Run, after: Position | None) -> AsyncIterator[bytes]:
        if not self.feed.knows(run.id):
            async for part in self._from_trace(run, after):
                yield part
            return
        trace = await self._trace(run)
        yield _framed(_end(run, trace), None)

    async def _from_trace(self, run: Run, after: Position | None) -> AsyncIterator[bytes]:
        told = after.number if after is not None and after.stream == _FROM_TRACE else 0
        for number, event in enumerate(_retold(run, await self._trace(run)), start=1):
            if number > told:
                yield _framed(event, Position(_FROM_TRACE, number))

    async def _trace(self, run: Run) -> ExecutionTrace | None:
        traces = await self.store.traces.of_run(run.id)
        return traces[-1] if traces else None


def _retold(run: Run, trace: ExecutionTrace | None) -> Iterator[Event]:
    """What a trace knows of what happened: calls by their start, then decisions, then the end."""
    started = run.started_at_ms or run.created_at_ms
    yield RunStarted(run_id=run.id, at_ms=started, intent=run.intent)
    if trace is not None:
        for task in trace.task_results:
            begun = task.started_at_ms
            yield TaskStart(run_id=run.id, at_ms=begun, task_id=task.task_id, tool=task.tool)
            yield TaskEnd(
                run_id=run.id,
                at_ms=begun + round(task.duration_ms),
                task_id=task.task_id,
                tool=task.tool,
                success=task.success,
                duration_ms=task.duration_ms,
                result=task.result,
                error=task.error,
            )
        for decision in trace.decisions:
            yield DecisionTaken(
                run_id=run.id,
                at_ms=trace.executed_at_ms,
                node_id=decision.node_id,
                outcome=decision.outcome,
            )
    yield _end(run, trace)


def _end(run: Run, trace: ExecutionTrace | None) -> RunEnd:
    duration_ms = 0.0 if trace is None else trace.duration_ms
    return RunEnd(run_id=run.id, at_ms=run.updated_at_ms, state=run.state, duration_ms=duration_ms)


def _text(item: Told | Dropped) -> bytes:
    if isinstance(item, Told):
        return _framed(item.event, item.position)
    data = msgspec.json.encode({"type": "dropped", "count": item.count})
    return b"id: %s\nevent: dropped\ndata: %s\n\n" % (str(item.position).encode(), data)


def _framed(event: Event, position: Position | None) -> bytes:
    """One server-sent event; its JSON has no line ends."""
    kind = type(event).__struct_config__.tag
    before = b"" if position is None else b"id: %s\n" % str(position).encode()
    return before + b"event: %s\ndata: %s\n\n" % (str(kind).encode(), encode(outward(event)))
