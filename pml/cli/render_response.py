"""The answer of `pml execute` for people."""

import json
import shlex
import textwrap
from collections.abc import Sequence

from pml.analysis.plan_text import plan_text
from pml.cli.next_commands import render_waiting
from pml.cli.render_diagnostics import render_diagnostics
from pml.cli.render_found import NOTHING_GIVEN, Given, render_suggestions
from pml.cli.table import duration, table
from pml.domain.capability import Capability
from pml.domain.program import Severity
from pml.domain.record import encode
from pml.domain.response import ExecuteResponse, TaskSummary
from pml.loop.answer import HELD

MAX_TASKS = 30
NOT_SENT = "held: not sent before somebody says so"
IN_DOUBT = "in doubt: sent, and nobody knows whether they took effect"


def render_response(
    response: ExecuteResponse,
    *,
    source: str,
    name: str,
    width: int,
    learned: Capability | None = None,
    given: Given = NOTHING_GIVEN,
) -> str:
    """Status first, then what was found before running, the calls, the result, what was learned."""
    parts = [
        _head(response, how="" if response.tasks == () else " with connecting"),
        _error(response, name),
        render_diagnostics(response.diagnostics, source, name=name, width=width),
        render_approvals(response, width=width),
        _plan(response),
        _suggestions(response, given, width),
        _tasks("calls", _called(response), width),
        _tasks(IN_DOUBT, response.in_doubt, width),
        _held(response),
        "\n".join(f"warning: {warning}" for warning in response.warnings),
        _result(response),
        _learned(response, learned, width),
        render_waiting(response, given, width=width),
        _next(response, given),
    ]
    return "\n\n".join(part for part in parts if part)


def _head(response: ExecuteResponse, how: str = "") -> str:
    """Status and time, and ``how`` it came to that; the speed-up only where calls overlapped."""
    if response.workflow_id is None:
        return f"{response.status}: nothing ran"
    words = [f"{response.status} in {duration(response.execution_time_ms)}{how}"]
    if response.dag is not None and response.dag.tasks_count:
        dag = response.dag
        words.append(f"{dag.tasks_count} call{'' if dag.tasks_count == 1 else 's'}")
        words.append(f"{dag.layers_count} layer{'' if dag.layers_count == 1 else 's'}")
        if dag.tasks_count > 1 and round(dag.speedup, 1) > 1:
            words.append(f"speed-up {dag.speedup:.1f}")
    return ", ".join(words)


def _error(response: ExecuteResponse, name: str) -> str:
    error = response.error
    said = response.approvals or any(d.severity is Severity.ERROR for d in response.diagnostics)
    if error is None or said:
        return ""  # what follows says it better
    where = f"{name}:{error.line}: " if error.line is not None else ""
    return f"{where}error: {error.message} [{error.code}]"


def _plan(response: ExecuteResponse) -> str:
    if response.plan is None:
        return ""
    return f"What would run, as a whole:\n\n{plan_text(response.plan)}"


_NOTHING_RAN = "Nothing ran, because these tools need a person's approval:"


def render_approvals(response: ExecuteResponse, *, width: int) -> str:
    """The tools that a person has to agree to, and how; empty when there are none."""
    if not response.approvals:
        return ""
    lines = []
    for permission in response.approvals:
        head = f"  {permission.tool} (effect {permission.effect}, scope {permission.scope})"
        lines.append(head)
        lines += textwrap.wrap(
            permission.reason, width, initial_indent="    ", subsequent_indent="    "
        )
    held = [
        f"  {each.task_id} {each.tool} {encode(each.arguments).decode()}" for each in response.held
    ]
    why = "The run waits, because the plan did not have these calls:" if held else _NOTHING_RAN
    return "\n".join(
        [
            why,
            *held,
            *(["They call tools that need a person's approval:"] if held else []),
            *lines,
            "To allow one from now on, give it `approval_mode: auto` in permissions.yaml.",
        ]
    )


def _called(response: ExecuteResponse) -> list[TaskSummary]:
    apart = {task.task_id for task in (*response.in_doubt, *_held_calls(response))}
    return [task for task in response.tasks if task.task_id not in apart]


def _held_calls(response: ExecuteResponse) -> list[TaskSummary]:
    """Of a run that waits: calls that its code has made and that were not sent."""
    return [task for task in response.tasks if task.error == HELD]


def _held(response: ExecuteResponse) -> str:
    held = _held_calls(response)
    if not held:
        return ""
    layer = response.pending_layer
    title = NOT_SENT if layer is None else f"{NOT_SENT} (layer {layer + 1})"
    return "\n".join([title, *(f"  {task.task_id}  {task.tool}" for task in held)])


def _came_to(task: TaskSummary) -> str:
    if not task.success:
        return f"failed: {task.error or 'no answer'}"
    return f"mocked: {task.result_preview}" if task.mocked else task.result_preview


def _tasks(title: str, tasks: Sequence[TaskSummary], width: int) -> str:
    if not tasks:
        return ""
    rows = [
        (
            "  " + task.task_id,
            task.tool,
            duration(task.duration_ms),
            _came_to(task),
        )
        for task in tasks[:MAX_TASKS]
    ]
    more = len(tasks) - MAX_TASKS
    tail = f"\n  ... and {more} more: `pml trace` shows them" if more > 0 else ""
    lines = table(("", "", "", ""), rows, width=width).split("\n")[1:]
    return "\n".join([title, *lines]) + tail


def _suggestions(response: ExecuteResponse, given: Given, width: int) -> str:
    if response.suggestions is None:
        return ""
    return render_suggestions(response.suggestions, given=given, width=width)


def _learned(response: ExecuteResponse, capability: Capability | None, width: int) -> str:
    if capability is None:
        return ""
    from pml.cli.render_capabilities import render_learned

    return render_learned(capability, reused=response.mode == "speculation", width=width)


def _result(response: ExecuteResponse) -> str:
    if response.status != "success":
        return ""
    return "result\n" + json.dumps(response.result, indent=2, ensure_ascii=False)


def _next(response: ExecuteResponse, given: Given) -> str:
    if response.workflow_id is None:
        return ""
    command = shlex.join(["pml", "trace", response.workflow_id, *given.words(runs=False)])
    return f"{command}  shows each step"


def headline(response: ExecuteResponse) -> str:
    """How the run ended, with the error if there is one."""
    return "\n".join(filter(None, [_head(response), _error(response, "the program")]))
