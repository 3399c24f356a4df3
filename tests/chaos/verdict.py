"""What must hold whatever was killed (EX-3, OP-4).  Pure: evidence in, sentences out.

Each check gives one sentence per violation, and none where all is well.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from pml.domain.log_rules import CallState
from pml.domain.permissions import Effect
from pml.domain.run import Checkpoint, Failed, Returned, RunState
from pml.loop.ids import doubt_id
from tests.chaos.evidence import HUMAN, Evidence, Kept, Request, Told, id_of

RECOVERY_S = 10.0
"""After PML is back, a run that was under way is in somebody's hands again within so long."""
BOOT_S = 2.5
"""What PML takes to start on a machine with nothing else to do, at most.  Where it takes longer,
recovery may, by the same factor: else this would judge the machine."""
_OF_PEOPLE = "skipped"
Check = Callable[[Evidence], Iterator[str]]


def no_write_twice(evidence: Evidence) -> Iterator[str]:
    """A write arrives once, and once more per retry that a person asked for."""
    counts, retries = Counter(r.id for r in evidence.requests), evidence.retries()
    for run_id, call in _calls(evidence):
        asked = id_of(call.issued)
        allowed = 1 + retries[asked]
        if call.issued.effect is Effect.WRITE and counts[asked] > allowed:
            yield (
                f"{call.issued.tool} {asked} (run {run_id}) arrived {counts[asked]} times, "
                f"{retries[asked]} retries were asked for"
            )


def requests_are_attempts(evidence: Evidence) -> Iterator[str]:
    """Upstream counts equal the attempts of the log.

    Every attempt arrived once, but for those whose outcome was never known: they arrived or not.
    """
    arrived: defaultdict[str, list[Request]] = defaultdict(list)
    for request in evidence.requests:
        arrived[request.id].append(request)
    known: Counter[str] = Counter()
    for run_id, call in _calls(evidence):
        asked = id_of(call.issued)
        known[asked] += 1
        count, (least, most) = len(arrived[asked]), _bounds(call)
        if not least <= count <= most:
            yield (
                f"{call.issued.tool} {asked} (run {run_id}): {call.attempts} attempts and the "
                f"outcome {call.outcome} mean {least} to {most} requests; {count} were counted"
            )
        yield from _serials(run_id, call, arrived[asked])
    for asked in arrived.keys() - known.keys():
        yield f"{arrived[asked][0].tool} {asked} arrived, and no log knows of the call"
    for asked in [asked for asked, number in known.items() if number > 1]:
        yield f"{asked} was issued by {known[asked]} calls: something ran twice"


def _bounds(call: CallState) -> tuple[int, int]:
    """How many requests of a call may have arrived.

    The last attempt did if the server answered, and did not if PML says so of a write; the
    others ended without an answer, else there would be no further one.
    """
    if answered_by_server(call):
        return 1, call.attempts
    outcome = call.outcome
    not_sent = isinstance(outcome, Failed) and outcome.code == "unavailable"
    if not_sent and call.issued.effect is Effect.WRITE:
        return 0, max(0, call.attempts - 1)
    return 0, call.attempts


def answered_by_server(call: CallState) -> bool:
    """Whether the outcome of a call is the answer of its server, not of PML or a person."""
    outcome = call.outcome
    if isinstance(outcome, Returned):
        return HUMAN not in outcome.value
    return isinstance(outcome, Failed) and outcome.code == "tool_error"


def _serials(run_id: str, call: CallState, arrived: list[Request]) -> Iterator[str]:
    """An outcome in the log is one that the server gave."""
    if not answered_by_server(call):
        return
    assert call.outcome is not None
    text = call.outcome.value if isinstance(call.outcome, Returned) else call.outcome.message
    if not any(request.serial in text for request in arrived):
        yield f"{call.issued.tool} {id_of(call.issued)} (run {run_id}): no server answered {text}"


def answers_are_kept(evidence: Evidence) -> Iterator[str]:
    """What a client was told is in the database as it was told."""
    for told in evidence.told:
        run_id = told.answer.get("workflowId")
        if run_id is None:
            continue
        kept = evidence.kept.get(run_id)
        what = f"{told.asked} answered {told.answer['status']} for run {run_id}"
        if kept is None:
            yield f"{what}, which the database does not have"
            continue
        for problem in (*_end_lost(told, kept), *_stop_lost(told, kept), *_tasks_lost(told, kept)):
            yield f"{what}: {problem}"


def _end_lost(told: Told, kept: Kept) -> Iterator[str]:
    answer = told.answer
    if "traceId" not in answer:
        return
    if answer["traceId"] not in {trace.id for trace in kept.traces}:
        yield f"trace {answer['traceId']} is not there"
    state = "error" if kept.run.state is RunState.EXPIRED else kept.run.state
    if state != answer["status"]:
        yield f"the run is {kept.run.state}"
    settled = kept.ledger.settled
    if answer["status"] == "success":
        outcome = None if settled is None else settled.outcome
        if not isinstance(outcome, Returned) or json.loads(outcome.value) != answer["result"]:
            yield f"its result was {answer['result']}, the log has {outcome}"


def _stop_lost(told: Told, kept: Kept) -> Iterator[str]:
    answer, records = told.answer, kept.ledger.records
    named = answer.get("checkpointId")
    if answer["status"] == "layer_complete":
        if named not in {r.checkpoint_id for r in records if isinstance(r, Checkpoint)}:
            yield f"checkpoint {named} is not in the log"
    elif answer["status"] == "in_doubt" and named is not None:
        doubts = {doubt_id(kept.run.id, count) for count in range(1, len(records) + 1)}
        if named not in doubts:
            yield f"the log never had the doubt {named}"


def _tasks_lost(told: Told, kept: Kept) -> Iterator[str]:
    calls = {call.issued.task_id: call for call in kept.ledger.calls}
    for task in told.answer.get("tasks", ()):
        call = calls.get(task["taskId"])
        if call is None:
            yield f"its task {task['taskId']} is not in the log"
        elif task["success"] and not isinstance(call.outcome, Returned):
            yield f"its task {task['taskId']} succeeded, the log has {call.outcome}"


def every_run_ends(evidence: Evidence) -> Iterator[str]:
    """In the end no run is under way, nor waits for what the script answered."""
    for kept in evidence.kept.values():
        if not kept.run.state.final:
            whose = evidence.kept.get(kept.run.parent_run_id or "")
            caller = "" if whose is None else f", called by {whose.run.id} ({whose.run.state})"
            yield f"run {kept.run.id} is still {kept.run.state} ({kept.run.reason}){caller}"
        elif not kept.traces and kept.ledger.records:  # without any, nothing has run
            yield f"run {kept.run.id} ended ({kept.run.state}) without a trace"
    yield from (f"no answer: {what}" for what in evidence.hanging)


def nothing_diverges(evidence: Evidence) -> Iterator[str]:
    """Replay takes the way that the run took, and nothing fails inside PML."""
    for kept in evidence.kept.values():
        run = kept.run
        settled = kept.ledger.settled
        failed = settled.outcome if settled and isinstance(settled.outcome, Failed) else None
        if run.state is RunState.DIVERGED or "inside PML" in run.reason:
            yield f"run {run.id}: {run.reason}"
        elif failed is not None and failed.code not in _EXPECTED:
            yield f"run {run.id} failed: {failed.code}: {failed.message}"
    yield from evidence.faults


_EXPECTED = frozenset({_OF_PEOPLE, "tool_error", "unavailable", "timeout"})
"""What the code of a run may be thrown here, and does not catch."""


def no_orphans(evidence: Evidence) -> Iterator[str]:
    """What a killed process had started is gone soon after it."""
    yield from evidence.orphans


def recovered_in_time(evidence: Evidence) -> Iterator[str]:
    """Runs go on, or wait for a person, soon after PML is back and nothing is killed any more."""
    for one in evidence.recoveries:
        allowed_s = RECOVERY_S * max(1.0, one.boot_s / BOOT_S)
        if one.calm and one.took_s > allowed_s:
            yield f"run {one.run_id} took {one.took_s:.1f} s, {allowed_s:.1f} s were allowed"


def _calls(evidence: Evidence) -> Iterator[tuple[str, CallState]]:
    """Every call of a server's tool in any log."""
    for run_id, kept in evidence.kept.items():
        for call in kept.ledger.calls:
            if not call.issued.of_capability:
                yield run_id, call


CHECKS: dict[str, Check] = {
    "no write twice": no_write_twice,
    "requests are attempts": requests_are_attempts,
    "answers are kept": answers_are_kept,
    "every run ends": every_run_ends,
    "nothing diverges": nothing_diverges,
    "no orphans": no_orphans,
    "recovered in time": recovered_in_time,
}


def violations(evidence: Evidence) -> dict[str, list[str]]:
    """What does not hold, by check; empty lists where all is well."""
    return {name: list(check(evidence)) for name, check in CHECKS.items()}
