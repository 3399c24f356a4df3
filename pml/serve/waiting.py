"""What an agent reads of a run that waits: for what, and what can be answered (EX-5, HIL-4).

Every answer names the ids that it takes, so that nobody has to look them up in the record.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from pml.domain.response import ExecuteResponse, TaskSummary
from pml.domain.visible import visible
from pml.serve.steering_tools import ABORT, APPROVAL_RESPONSE, CONTINUE, REPLAN


def waits(response: ExecuteResponse) -> bool:
    """Whether somebody has to say how a run goes on."""
    stopped = response.status in _HEADS or _code(response) == _INTERRUPTED
    return response.workflow_id is not None and stopped


def how_it_waits(response: ExecuteResponse) -> str:
    """For what a run waits and what can be answered, in words and calls."""
    kind = response.status if response.status in _HEADS else _INTERRUPTED
    lines = [f"{kind}: {_HEADS[kind]}"]
    if response.error is not None:
        lines.append(visible(response.error.message))
    done = response.layer_results if kind == "layer_complete" else response.in_doubt
    lines += [_task(task) for task in done]
    lines += held_calls(response)
    lines += ["", "To go on:", *_options(kind, response)]
    if response.expires_at_ms:
        until = datetime.fromtimestamp(response.expires_at_ms // 1000, UTC)
        lines.append(f"The run waits until {until:%Y-%m-%d %H:%M:%S} UTC.")
    return "\n".join(lines)


def held_calls(response: ExecuteResponse) -> list[str]:
    """The calls that are asked for one by one, with all that they would send."""
    return [
        visible(f"  {call.task_id} {call.tool.replace(':', '.', 1)}({_json(call.arguments)})")
        for call in response.held
    ]


_INTERRUPTED = "interrupted"
_HEADS = {
    "layer_complete": "a layer is done and the next one is held; nothing of it has been called",
    "approval_required": "a person has to allow this first",
    "in_doubt": "nobody knows whether these writes took effect; look at the servers before "
    "anything is repeated",
    _INTERRUPTED: "the run stopped in the middle and nothing of it is lost",
}


def _code(response: ExecuteResponse) -> str:
    return "" if response.error is None else response.error.code


def _task(task: TaskSummary) -> str:
    what = task.result_preview if task.success else f"failed: {task.error or 'no reason given'}"
    line = f"  {task.task_id} {task.tool.replace(':', '.', 1)} = {what}"
    return visible(" ".join(line.splitlines()))


def _options(kind: str, response: ExecuteResponse) -> Iterator[str]:
    run = {"workflow_id": response.workflow_id}
    if kind == "approval_required":
        yield "- a person answers: in the client where it asks, or with `pml approve`"
        named = run | {"approval_id": response.approval_id, "approved": True}
        yield f"- {_call(APPROVAL_RESPONSE, named)}, only where agents are allowed to answer"
        yield f"- {_call(CONTINUE, run)}: ask again, and hear whether somebody has answered"
    else:
        stop = run | {"checkpoint_id": response.checkpoint_id} if response.checkpoint_id else run
        if kind == "in_doubt":
            asked = [{"task_id": t.task_id, "action": "retry"} for t in response.in_doubt]
            yield f"- {_call(CONTINUE, stop | {'resolutions': asked})}"
            yield (
                '  with one resolution per write: "retry" sends it once more, "result" (with '
                '`result`) says what it returned, "skip" (with `message`) makes it fail in the code'
            )
            yield "  (a person decides; agents only where they are allowed to)"
        else:
            yield f"- {_call(CONTINUE, stop)}"
        if kind == "layer_complete":
            yield f"- {_call(REPLAN, stop | {'code': '...'})}: other code, with `context.n1`..."
    yield f"- {_call(ABORT, run)}"


def _call(tool: str, arguments: Mapping[str, object]) -> str:
    return f"{tool}({_json(arguments)})"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
