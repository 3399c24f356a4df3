"""Writes whose outcome nobody knows, and what is decided of them (EX-3).

A write in a nested run is named by the path of task ids that leads to it: ``n3/n1`` is task
``n1`` of the run that call ``n3`` made.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.log_rules import CallState
from pml.domain.record import encode
from pml.domain.response import ExecuteError, ExecuteResponse, TaskSummary
from pml.domain.run import Failed, Outcome, Returned
from pml.domain.steering import DoubtAction, Resolution
from pml.errors import NotFoundError, RequestError
from pml.loop.close import read_history
from pml.loop.ids import child_run_id
from pml.loop.problems import problem_of_json
from pml.store.ports import Store

SKIPPED = "somebody decided to go on without it; whether it took effect is unknown"


@dataclass(frozen=True, slots=True)
class Doubt:
    """One write in doubt."""

    path: str
    tool: str


async def doubts_of(store: Store, run_id: str, ledger: Ledger) -> tuple[Doubt, ...]:
    """Every write in doubt of a run and of those that it called, in order of issue.

    Raises:
        StoreError: the database is lost, or a log cannot be read.
    """
    found = [Doubt(call.issued.task_id, call.issued.tool) for call in ledger.in_doubt]
    for call in open_capability_calls(ledger):
        child = child_run_id(run_id, call.issued.call)
        try:
            run = await store.runs.get(child)
            history = None if run.state.final else await read_history(store, run)
        except NotFoundError:
            continue  # it was never begun
        if history is not None:
            inner = await doubts_of(store, child, history.ledger)
            found += [Doubt(f"{call.issued.task_id}/{one.path}", one.tool) for one in inner]
    return tuple(found)


async def doubts_below(store: Store, run_id: str, ledger: Ledger) -> tuple[TaskSummary, ...]:
    """The writes in doubt of runs that the run called, named by path.

    Raises:
        StoreError: the database is lost, or a log cannot be read.
    """
    return tuple(
        TaskSummary(
            task_id=doubt.path,
            tool=doubt.tool,
            success=False,
            duration_ms=0.0,
            error="no answer: whether it took effect is unknown",
        )
        for doubt in await doubts_of(store, run_id, ledger)
        if "/" in doubt.path
    )


def open_capability_calls(ledger: Ledger) -> tuple[CallState, ...]:
    """Calls of capabilities whose end the log does not hold."""
    return tuple(call for call in ledger.open_calls if call.issued.of_capability)


Answers = Mapping[str, Resolution]
"""What was decided, by path."""


def answers_of(resolutions: Iterable[Resolution], limits: Limits) -> dict[str, Resolution]:
    """What was decided, by path.

    Raises:
        RequestError: two for one write; a result is there that should not, or is not, or that
            no tool could have returned.
    """
    found: dict[str, Resolution] = {}
    for one in resolutions:
        if problem := _problem_of(one, limits):
            message = f"resolutions: {problem}"
            raise RequestError(message)
        if one.task_id in found:
            message = f"resolutions: expected one for {one.task_id}, found two"
            raise RequestError(message)
        found[one.task_id] = one
    return found


def _problem_of(one: Resolution, limits: Limits) -> str | None:
    given, wanted = one.result is not msgspec.UNSET, one.action is DoubtAction.RESULT
    if given != wanted:
        expected = "expected one" if wanted else "expected none"
        return f"result of {one.task_id}: {expected} with action {one.action}"
    told = one.result if given else one.message
    name = f"{'result' if given else 'message'} of {one.task_id}"
    return problem_of_json(name, told, "result_bytes", "give a summary", limits)


def of_child(answers: Answers, task_id: str) -> dict[str, Resolution]:
    """Those for the run that a call made."""
    prefix = f"{task_id}/"
    return {
        path.removeprefix(prefix): answer
        for path, answer in answers.items()
        if path.startswith(prefix)
    }


def resolve(ledger: Ledger, answers: Answers) -> None:
    """Write down what was decided of the run's own writes."""
    for call in ledger.in_doubt:
        answer = answers.get(call.issued.task_id)
        if answer is None:
            continue
        if answer.action is DoubtAction.RETRY:
            ledger.allow_retry(call.issued.call, ledger.last_ms)
        else:
            ledger.hold(call.issued.call, _outcome(answer), ledger.last_ms)


def _outcome(answer: Resolution) -> Outcome:
    if answer.action is DoubtAction.RESULT:
        return Returned(value=encode(answer.result).decode())
    return Failed(code="skipped", message=answer.message or SKIPPED)


def doubt_message(doubts: tuple[Doubt, ...]) -> str:
    """What is asked of whoever continues."""
    named = ", ".join(f"{one.path} ({one.tool})" for one in doubts)
    return (
        f"{named}: sent, and no answer came, so whether it took effect is unknown. Check, then "
        "continue with one resolution for each (retry, result or skip), or abort"
    )


def warned(response: ExecuteResponse, unknown: Sequence[str]) -> ExecuteResponse:
    """How a run stands, for whoever decided about calls that are not in doubt."""
    if not unknown:
        return response
    message = f"resolutions: not in doubt: {', '.join(unknown)}; nothing was done"
    return msgspec.structs.replace(response, warnings=(*response.warnings, message))


def still_open(response: ExecuteResponse, message: str) -> ExecuteResponse:
    """The response of a run in doubt, with what is still to be decided."""
    error = ExecuteError(code="in_doubt", message=message)
    return msgspec.structs.replace(response, error=error)
