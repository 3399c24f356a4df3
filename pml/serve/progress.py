"""Events of a run as progress notifications of the request that started it (EX-9).

The run never waits for its watcher: what a client does not take in time is dropped, and the
count goes on, so that progress still only grows.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.server.session import ServerSession

from pml.domain import events

_QUEUE = 256
"""Notifications that wait for a client that does not read."""


@asynccontextmanager
async def progress_of(session: ServerSession) -> AsyncIterator[Callable[[events.Event], None]]:
    """What takes the events; on leaving, those that wait have been sent."""
    send, receive = anyio.create_memory_object_stream[tuple[int, str]](_QUEUE)
    count = 0

    def emit(event: events.Event) -> None:
        nonlocal count
        count += 1
        try:
            send.send_nowait((count, describe(event)))
        except (anyio.WouldBlock, anyio.ClosedResourceError, anyio.BrokenResourceError):
            return  # the watcher is too slow, or gone

    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_report, session, receive)
        try:
            yield emit
        except Exception as exc:  # noqa: BLE001  # not through the group, which would wrap it
            failure = exc
        finally:
            send.close()
    if failure is not None:
        raise failure


async def _report(
    session: ServerSession, waiting: MemoryObjectReceiveStream[tuple[int, str]]
) -> None:
    async with waiting:
        async for count, message in waiting:
            await session.report_progress(float(count), message=message)


def describe(event: events.Event) -> str:  # noqa: C901, PLR0911  # one line per kind
    """The event in words."""
    match event:
        case events.RunStarted():
            return f"run {event.run_id} started"
        case events.TaskStart():
            return f"{event.task_id} {_name(event.tool)} started"
        case events.TaskEnd():
            return f"{event.task_id} {_name(event.tool)} {_end(event)}"
        case events.CapabilityStart():
            return f"{event.task_id} capability {event.capability_id} started"
        case events.CapabilityEnd():
            return f"{event.task_id} capability {event.capability_id} {_end(event)}"
        case events.DecisionTaken():
            return f"{event.node_id} went {event.outcome}"
        case events.ApprovalRequired():
            return "waits for a person to allow " + ", ".join(map(_name, event.tools))
        case events.DecisionRequired():
            return "waits for an answer: " + ", ".join(event.options)
        case events.LayerComplete():
            return f"layer done; layer {event.pending_layer} waits"
        case events.RunEnd():
            return f"run ended: {event.state} after {event.duration_ms:.0f} ms"


def _end(event: events.TaskEnd | events.CapabilityEnd) -> str:
    if event.success:
        return f"done in {event.duration_ms:.0f} ms"
    return f"failed after {event.duration_ms:.0f} ms: {event.error or 'no reason given'}"


def _name(tool_id: str) -> str:
    return tool_id.replace(":", ".", 1)
