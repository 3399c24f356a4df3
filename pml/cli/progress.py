"""Events of a run as lines, while it runs."""

import json
from collections.abc import Callable

from pml.cli.table import duration, shorten
from pml.domain.events import (
    ApprovalRequired,
    CapabilityEnd,
    CapabilityStart,
    DecisionRequired,
    DecisionTaken,
    Event,
    LayerComplete,
    RunEnd,
    RunStarted,
    TaskEnd,
    TaskStart,
)

RESULT_CHARS = 200


def render_event(event: Event, *, started_at_ms: int, width: int) -> str:
    """One line: milliseconds since the start of the run, and what happened."""
    since = max(0, event.at_ms - started_at_ms)
    return shorten_keeping_margin(f"{since:>6} ms  ", _what(event), width)


def shorten_keeping_margin(margin: str, text: str, width: int) -> str:
    """The margin as it is, the text cut to what is left."""
    return margin + shorten(text, width - len(margin))


def _what(event: Event) -> str:
    match event:
        case TaskStart():
            text = f"{event.task_id} -> {event.tool}"
        case TaskEnd():
            text = _ended(event, event.tool)
        case CapabilityStart():
            text = f"{event.task_id} -> {event.capability_id}, run {event.child_run_id}"
        case CapabilityEnd():
            text = _ended(event, event.capability_id)
        case DecisionTaken():
            text = f"{event.node_id} is {event.outcome}"
        case _:
            text = _of_run(event)
    return text


def _ended(event: TaskEnd | CapabilityEnd, name: str) -> str:
    answer = _preview(event.result) if event.success else f"failed: {event.error}"
    return f"{event.task_id} <- {name} {duration(event.duration_ms)}: {answer}"


def _of_run(
    event: RunStarted | RunEnd | ApprovalRequired | DecisionRequired | LayerComplete,
) -> str:
    match event:
        case RunStarted():
            return f"run {event.run_id} starts"
        case RunEnd():
            return f"run {'waits' if event.state.waits else 'ends'}: {event.state}"
        case ApprovalRequired():
            return f"a person has to approve {', '.join(event.tools)}"
        case DecisionRequired():
            return f"waits for one of: {', '.join(event.options)}"
        case LayerComplete():
            return f"layer done: {', '.join(event.task_ids)}"


def _preview(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text[:RESULT_CHARS]


class Progress:
    """Writes each event as a line to ``write``; time counts from each run's first event.

    Runs may be told side by side: a capability that code calls is a run of its own.
    """

    def __init__(self, write: Callable[[str], None], *, width: int) -> None:
        self._write = write
        self._width = width
        self._started_at_ms: dict[str, int] = {}

    def __call__(self, event: Event) -> None:
        """Write one event."""
        started_at_ms = self._started_at_ms.setdefault(event.run_id, event.at_ms)
        self._write(render_event(event, started_at_ms=started_at_ms, width=self._width))
