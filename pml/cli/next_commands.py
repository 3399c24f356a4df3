"""What a run waits for, and which commands go on from there.

One list serves people, as text, and programs, as the ``next`` of the JSON.
"""

import shlex
from collections.abc import Iterator, Sequence

from pml.cli.render_found import NOTHING_GIVEN, Given
from pml.cli.table import moment, wrapped
from pml.cli.which import short
from pml.domain.record import Record
from pml.domain.response import ExecuteResponse

_APPROVE = "approve"
_CONTINUE = "continue"


class NextCommand(Record, frozen=True, kw_only=True):
    """A command that can be given now."""

    command: str
    does: str


def next_commands(
    response: ExecuteResponse, given: Given = NOTHING_GIVEN
) -> tuple[NextCommand, ...]:
    """What can be done with a run that waits; nothing for one that does not."""
    if response.workflow_id is None:
        return ()
    run, options = short(response.workflow_id), given.words(runs=True)
    return tuple(
        NextCommand(command=shlex.join(["pml", verb, run, *words, *options]), does=does)
        for verb, words, does in _ways(response)
    )


def _ways(response: ExecuteResponse) -> Iterator[tuple[str, list[str], str]]:
    replan = ("replan", ["--code-file", "FILE"], "other code goes on; it sees results as `context`")
    abort = ("abort", list[str](), "ends it")
    match waits_for(response):
        case "layer_complete":
            yield _CONTINUE, [], "lets the next layer go"
            yield from (replan, abort)
        case "approval_required":
            yield _APPROVE, [], "shows what it would do and asks; with yes it goes on at once"
            yield _APPROVE, ["--deny"], "refuses, and ends it"
        case "in_doubt":
            for action, does in _ACTIONS.items():
                resolved = (["--resolve", f"{task.task_id}={action}"] for task in response.in_doubt)
                yield _CONTINUE, [word for words in resolved for word in words], does
            yield abort
        case "interrupted":
            yield _CONTINUE, [], "goes on where it was; nothing is done twice"
            yield from (replan, abort)


_ACTIONS = {
    "retry": "it had no effect: send it once more",
    "result:JSON": "it took effect: the code gets this result",
    "skip": "go on without: the code gets a ToolError",
}


def waits_for(response: ExecuteResponse) -> str:
    """The status of a run that waits, ``interrupted`` included; else empty."""
    if response.status in ("layer_complete", "approval_required", "in_doubt"):
        return response.status
    error = response.error
    return "interrupted" if error is not None and error.code == "interrupted" else ""


def render_waiting(response: ExecuteResponse, given: Given, *, width: int) -> str:
    """Until when it waits, and each command with what it does; empty if it does not wait."""
    commands = next_commands(response, given)
    if not commands:
        return ""
    until = response.expires_at_ms
    head = "It waits" + (f" until {moment(until)} UTC" if until else "") + ":"
    return "\n".join([head, *_columns(commands, width)])


def _columns(commands: Sequence[NextCommand], width: int) -> Iterator[str]:
    """What each does beside it or, where there is no room, below it."""
    longest = max(len(each.command) for each in commands)
    if longest + max(len(each.does) for each in commands) + 4 <= width:
        yield from (f"  {each.command:<{longest}}  {each.does}" for each in commands)
        return
    for each in commands:
        yield f"  {each.command}"
        yield from wrapped(each.does, "    ", "    ", width)
