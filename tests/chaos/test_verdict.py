"""The judge of the chaos sees what it shall see (EX-3, OP-4): each check can fail."""

import json
from collections.abc import Callable

import pytest

from pml.domain.ledger import Ledger
from pml.domain.permissions import Effect
from pml.domain.run import Failed, Returned, Run, RunState
from pml.domain.trace import ExecutionTrace
from pml.loop.ids import child_run_id
from tests.chaos.evidence import HUMAN, Evidence, Kept, Recovery, Request, Retried, Told
from tests.chaos.verdict import BOOT_S, CHECKS, violations

ROOT = "root"


def run(run_id: str = ROOT, state: RunState = RunState.SUCCESS, **changes: object) -> Run:
    fields = {"id": run_id, "intent": "chaos", "state": state, "source_hash": "h", "owner": "o"}
    times = {"created_at_ms": 1, "updated_at_ms": 1, "timeout_ms": 1}
    return Run(**{**fields, **times, **changes})  # type: ignore[arg-type]


def trace(run_id: str = ROOT) -> ExecutionTrace:
    return ExecutionTrace(
        id=f"trace of {run_id}",
        run_id=run_id,
        intent_text="chaos",
        executed_at_ms=1,
        success=True,
        state=RunState.SUCCESS,
        duration_ms=1,
        executed_path=(),
        decisions=(),
        task_results=(),
    )


def issue(ledger: Ledger, name: str, effect: Effect = Effect.WRITE) -> int:
    issued = ledger.issue(
        site=f"n{len(ledger.calls) + 1}",
        tool=f"a:{'write' if effect is Effect.WRITE else 'read'}",
        arguments=json.dumps({"id": name}),
        effect=effect,
        at_ms=1,
    )
    return issued.call


def answer(name: str, serial: str) -> Returned:
    return Returned(value=json.dumps({"id": name, "serial": serial}))


def sound() -> Evidence:
    """One write and one read, made, told and kept as they should be."""
    ledger = Ledger()
    for name, effect in (("w", Effect.WRITE), ("r", Effect.READ)):
        call = issue(ledger, name, effect)
        ledger.attempt(call, 1)
        ledger.deliver(call, answer(name, f"s{name}"), 1)
    ledger.settle(Returned(value='["w"]'), 1)
    tasks = [{"taskId": "n1", "success": True}, {"taskId": "n2", "success": True}]
    told = {"status": "success", "workflowId": ROOT, "traceId": f"trace of {ROOT}"}
    return Evidence(
        requests=[Request("a:write", "w", "sw"), Request("a:read", "r", "sr")],
        kept={ROOT: Kept(run(), ledger, (trace(),))},
        told=[Told("pml_execute", {**told, "result": ["w"], "tasks": tasks})],
        recoveries=[Recovery(ROOT, 0.1, 1.5, calm=True), Recovery(ROOT, 60.0, 1.5, calm=False)],
    )


def retried(*, arrived: int, asked_for: bool) -> Evidence:
    """A write of a nested run that was sent again."""
    parent, child = Ledger(), Ledger()
    call = parent.issue(
        site="n1", tool="capabilities:inner", arguments="{}", effect=Effect.WRITE, at_ms=1
    ).call
    parent.attempt(call, 1)
    inner = issue(child, "w")
    child.attempt(inner, 1)
    child.allow_retry(inner, 1)
    child.attempt(inner, 1)
    child.deliver(inner, answer("w", "s0"), 1)
    parent.deliver(call, Returned(value="1"), 1)
    child_id = child_run_id(ROOT, call)
    return Evidence(
        requests=[Request("a:write", "w", f"s{number}") for number in range(arrived)],
        kept={
            ROOT: Kept(run(), parent, (trace(),)),
            child_id: Kept(run(child_id, parent_run_id=ROOT), child, (trace(child_id),)),
        },
        retried=[Retried(ROOT, "n1/n1")] if asked_for else [],
    )


def test_where_all_is_well_nothing_is_said() -> None:
    assert not any(violations(sound()).values())


@pytest.mark.parametrize("arrived", [1, 2])
def test_a_retry_that_a_person_asked_for_may_arrive_a_second_time(arrived: int) -> None:
    assert not any(violations(retried(arrived=arrived, asked_for=True)).values())


def twice_without_retry(_: Evidence) -> Evidence:
    return retried(arrived=2, asked_for=False)


def arrived_again(evidence: Evidence) -> Evidence:
    evidence.requests.append(Request("a:write", "w", "other"))
    return evidence


def never_arrived(evidence: Evidence) -> Evidence:
    del evidence.requests[0]
    return evidence


def nobody_issued_it(evidence: Evidence) -> Evidence:
    evidence.requests.append(Request("a:write", "stray", "s"))
    return evidence


def issued_in_two_runs(evidence: Evidence) -> Evidence:
    evidence.kept["again"] = Kept(run("again"), evidence.kept[ROOT].ledger, (trace("again"),))
    return evidence


def invented(evidence: Evidence) -> Evidence:
    evidence.requests[1] = Request("a:read", "r", "other")
    return evidence


def run_lost(evidence: Evidence) -> Evidence:
    evidence.kept.clear()
    evidence.requests.clear()
    return evidence


def trace_lost(evidence: Evidence) -> Evidence:
    kept = evidence.kept[ROOT]
    evidence.kept[ROOT] = Kept(kept.run, kept.ledger, (trace("other"),))
    return evidence


def ended_otherwise(evidence: Evidence) -> Evidence:
    kept = evidence.kept[ROOT]
    evidence.kept[ROOT] = Kept(run(state=RunState.ABORTED), kept.ledger, kept.traces)
    return evidence


def told(evidence: Evidence, **changes: object) -> Evidence:
    evidence.told = [Told("pml_execute", {**evidence.told[0].answer, **changes})]
    return evidence


def still(evidence: Evidence, state: RunState) -> Evidence:
    evidence.kept["late"] = Kept(run("late", state), Ledger())
    return evidence


def failed(evidence: Evidence, code: str) -> Evidence:
    ledger = Ledger()
    ledger.settle(Failed(code=code, message="why"), 1)
    evidence.kept["bad"] = Kept(run("bad", RunState.ERROR), ledger, (trace("bad"),))
    return evidence


def with_(evidence: Evidence, name: str, value: object) -> Evidence:
    setattr(evidence, name, [value])
    return evidence


BROKEN: list[tuple[str, Callable[[Evidence], Evidence]]] = [
    ("no write twice", twice_without_retry),
    ("no write twice", arrived_again),
    ("requests are attempts", arrived_again),
    ("requests are attempts", never_arrived),
    ("requests are attempts", nobody_issued_it),
    ("requests are attempts", issued_in_two_runs),
    ("requests are attempts", invented),
    ("answers are kept", run_lost),
    ("answers are kept", trace_lost),
    ("answers are kept", ended_otherwise),
    ("answers are kept", lambda e: told(e, result=["other"])),
    ("answers are kept", lambda e: told(e, tasks=[{"taskId": "n9", "success": True}])),
    ("answers are kept", lambda e: told(e, status="layer_complete", checkpointId="c")),
    ("answers are kept", lambda e: told(e, status="in_doubt", checkpointId="c")),
    ("every run ends", lambda e: still(e, RunState.RUNNING)),
    ("every run ends", lambda e: still(e, RunState.INTERRUPTED)),
    ("every run ends", lambda e: with_(e, "hanging", "pml_execute")),
    ("nothing diverges", lambda e: failed(e, "internal")),
    ("nothing diverges", lambda e: with_(e, "faults", "an error inside PML")),
    ("no orphans", lambda e: with_(e, "orphans", "7: deno run")),
    ("recovered in time", lambda e: with_(e, "recoveries", Recovery(ROOT, 10.1, 1.5, calm=True))),
]


@pytest.mark.parametrize(("check", "breaks"), BROKEN, ids=[str(n) for n in range(len(BROKEN))])
def test_what_does_not_hold_is_said(check: str, breaks: Callable[[Evidence], Evidence]) -> None:
    assert violations(breaks(sound()))[check]


def test_every_check_is_seen_to_fail() -> None:
    assert {check for check, _ in BROKEN} == set(CHECKS)


@pytest.mark.parametrize("arrived", [0, 1])
def test_of_a_write_that_a_person_resolved_nobody_knows_whether_it_arrived(arrived: int) -> None:
    ledger = Ledger()
    call = issue(ledger, "w")
    ledger.attempt(call, 1)
    ledger.hold(call, answer("w", HUMAN), 1)
    evidence = Evidence(
        requests=[Request("a:write", "w", "s")] * arrived,
        kept={ROOT: Kept(run(), ledger, (trace(),))},
    )
    assert not any(violations(evidence).values())


def test_a_write_that_was_not_sent_did_not_arrive() -> None:
    ledger = Ledger()
    call = issue(ledger, "w")
    ledger.attempt(call, 1)
    ledger.deliver(call, Failed(code="unavailable", message="gone"), 1)
    evidence = Evidence(
        requests=[Request("a:write", "w", "s")], kept={ROOT: Kept(run(), ledger, (trace(),))}
    )
    assert violations(evidence)["requests are attempts"]


@pytest.mark.parametrize(("took_s", "held"), [(19.9, True), (20.1, False)])
def test_a_machine_that_is_slow_to_start_pml_has_longer_to_recover(
    took_s: float, held: bool
) -> None:
    evidence = Evidence(recoveries=[Recovery(ROOT, took_s, 2 * BOOT_S, calm=True)])
    assert bool(violations(evidence)["recovered in time"]) is not held
