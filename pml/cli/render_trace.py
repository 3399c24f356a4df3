"""A trace to read: when each call ran, what was decided, what came back.

Calls that ran side by side show as bars that overlap.
"""

import json
from collections.abc import Sequence
from typing import Any

from pml.cli.table import duration, moment, shorten
from pml.domain.run import RunState
from pml.domain.trace import ExecutionTrace, TaskResult
from pml.runtime.recorder import UNANSWERED

MAX_ROWS = 60
"""Calls shown in full; `pml trace --json` has them all."""
MIN_BAR = 16
NOT_SENT_YET = "held: not sent, until the run goes on"
MEANING = {
    RunState.RUNNING: "it has not ended yet; this is what it has done so far",
    RunState.APPROVAL_REQUIRED: "a person has to agree first",
    RunState.PAUSED: "a layer is done, and the next one waits until somebody continues it",
    RunState.INTERRUPTED: "the process that ran it died, and nothing of it is lost: continue it",
    RunState.IN_DOUBT: "a write was sent, and nobody knows whether it took effect",
    RunState.CANCELLED: "somebody stopped it",
}
"""What a state means to the reader of a trace that has no error to show."""


def render_trace(trace: ExecutionTrace, *, width: int, remarks: Sequence[str] = ()) -> str:
    """Head with remarks, timeline, decisions and results, in this order."""
    parts = [
        "\n".join([_head(trace, width), *remarks]),
        render_timeline(trace, width=width),
        _decisions(trace),
        _results(trace, width),
    ]
    return "\n\n".join(part for part in parts if part)


def _head(trace: ExecutionTrace, width: int) -> str:
    calls = len(trace.task_results)
    kind = "dry run: " if trace.dry_run else ""
    ended = f"{kind}{trace.state} in {duration(trace.duration_ms)}"
    lines = [
        f"run {trace.run_id}",
        f"{ended}, {calls} call{'' if calls == 1 else 's'}, {moment(trace.executed_at_ms)} UTC",
        shorten(f"intent: {trace.intent_text}", width),
    ]
    if trace.error_message:
        lines.append(f"error: {trace.error_message}")
    elif trace.state in MEANING:
        lines.append(MEANING[trace.state])
    return "\n".join(lines)


def render_timeline(trace: ExecutionTrace, *, width: int) -> str:
    """One bar per call, from the first start to the last end."""
    tasks = sorted(trace.task_results, key=lambda task: task.started_at_ms)
    if not tasks:
        return ""
    names = max(4, *(len(task.task_id) for task in tasks))
    tools = min(width // 3, max(4, *(len(task.tool) for task in tasks)))
    bar = max(MIN_BAR, width - names - tools - 8 - 2 * 4 - len("in doubt"))
    start = min(task.started_at_ms for task in tasks)
    span = max(1.0, max(task.started_at_ms + task.duration_ms for task in tasks) - start)
    lines = [f"{'call':<{names}}  {'tool':<{tools}}  {'time':>8}  {_scale(span, bar)}"]
    for task in tasks[:MAX_ROWS]:
        begin = task.started_at_ms - start
        lines.append(
            f"{task.task_id:<{names}}  {shorten(task.tool, tools):<{tools}}  "
            f"{duration(task.duration_ms):>8}  {_bar(begin, task.duration_ms, span, bar)}  "
            f"{_outcome(task, waits=RunState(trace.state).waits)}".rstrip()
        )
    if len(tasks) > MAX_ROWS:
        lines.append(f"... and {len(tasks) - MAX_ROWS} more calls: --json shows all")
    total = sum(task.duration_ms for task in tasks)
    faster = f", speed-up {total / span:.1f}" if round(total / span, 1) > 1 else ""
    lines.append(f"{duration(total)} of calls within {duration(span)}{faster}")
    return "\n".join(lines)


def _scale(span: float, bar: int) -> str:
    end = duration(span)
    return "0" + end.rjust(bar - 1)


def _bar(begin: float, length: float, span: float, bar: int) -> str:
    first = min(bar - 1, int(begin / span * bar))
    last = max(first + 1, min(bar, round((begin + length) / span * bar)))
    return "." * first + "#" * (last - first) + "." * (bar - last)


def _outcome(task: TaskResult, *, waits: bool) -> str:
    if not task.attempts and task.error_code == UNANSWERED:
        return "held" if waits else "not sent"
    if task.mocked:
        return "mocked"
    if task.success:
        return "" if task.attempts <= 1 else f"{task.attempts} tries"
    return "in doubt" if task.error_code == "in_doubt" else "failed"


def _decisions(trace: ExecutionTrace) -> str:
    """One line per decision, equal outcomes in a row counted: ``d2: true x4, false``."""
    rows: dict[str, list[tuple[str, int]]] = {}
    for decision in trace.decisions:
        outcomes = rows.setdefault(decision.node_id, [])
        if outcomes and outcomes[-1][0] == decision.outcome:
            outcomes[-1] = (decision.outcome, outcomes[-1][1] + 1)
        else:
            outcomes.append((decision.outcome, 1))
    lines = [
        f"  {node}: "
        + ", ".join(name if count == 1 else f"{name} x{count}" for name, count in outcomes)
        for node, outcomes in rows.items()
    ]
    return "\n".join(["decisions", *lines]) if lines else ""


def _results(trace: ExecutionTrace, width: int) -> str:
    tasks = trace.task_results[:MAX_ROWS]
    if not tasks:
        return ""
    names = max(len(task.task_id) for task in tasks)
    lines = []
    for task in tasks:
        head = f"  {task.task_id:<{names}}  "
        room = width - len(head)
        lines.append(head + shorten(f"<- {preview(task.args)}", room))
        answer = _answer(task, waits=RunState(trace.state).waits)
        lines.append(" " * len(head) + shorten(answer, room))
    return "\n".join(["arguments (<-) and results (->)", *lines])


def _answer(task: TaskResult, *, waits: bool) -> str:
    if task.success:
        return f"-> {preview(task.result)}"
    if waits and not task.attempts and task.error_code == UNANSWERED:
        return f"   {NOT_SENT_YET}"
    return f"!! {task.error or 'no answer'}"


def preview(value: Any) -> str:  # noqa: ANN401  # a JSON value
    """JSON on one line; a string as it is."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
