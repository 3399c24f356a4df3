"""The states of a run and the order of its log (EX-3; rules 1, 5, 6, 7, 15).

The ledger is compared with a model that keeps only the list of records and looks everything
up in it by brute force; a crash throws away what was not committed.  Somebody may let a write
be tried once more, and go on after a pause (rule 9).
"""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pml.domain.ledger import Ledger
from pml.domain.permissions import Effect
from pml.domain.run import (
    NEXT_STATES,
    Attempted,
    Checkpoint,
    Continued,
    Delivered,
    Failed,
    Issued,
    LogRecord,
    Outcome,
    RetryAllowed,
    Returned,
    RunState,
    Settled,
    Undelivered,
)
from pml.errors import LogOrderError

FINAL = {"success", "error", "cancelled", "aborted", "expired", "diverged"}
WAITING = {"paused", "approval_required", "in_doubt", "interrupted"}

sites = st.sampled_from(["n1", "n2", "?"])
effects = st.sampled_from(list(Effect))
tools = st.sampled_from(["s:t", "s:t", "capabilities:c"])
outcomes: st.SearchStrategy[Outcome] = st.one_of(
    st.builds(Returned, value=st.sampled_from(["1", "null", '{"a":[]}'])),
    st.builds(Failed, code=st.just("tool_error"), message=st.sampled_from(["no", "never"])),
)
calls = st.integers(-1, 2)  # few, so that they meet again; some do not exist
clock = st.integers(0, 50)  # may go back


def test_the_final_states_are_those_that_nothing_follows() -> None:
    assert {state.value for state in RunState if state.final} == FINAL
    assert {state.value for state in RunState} == FINAL | WAITING | {"running"}


@pytest.mark.parametrize("state", sorted(WAITING))
def test_a_waiting_run_goes_on_or_is_given_up_and_never_succeeds_by_itself(state: str) -> None:
    following = {next_state.value for next_state in NEXT_STATES[RunState(state)]}
    assert {"running", "cancelled", "aborted", "expired"} <= following
    assert following.isdisjoint({"success", "error", "diverged"})


class RunLife(RuleBasedStateMachine):
    """Any request for a state, allowed or not, as brokers, people and crashes make them."""

    @initialize(start=st.sampled_from([RunState.RUNNING, RunState.APPROVAL_REQUIRED]))
    def begin(self, start: RunState) -> None:
        self.history = [start]

    @rule(wanted=st.sampled_from(RunState))
    def ask(self, wanted: RunState) -> None:
        if wanted in NEXT_STATES[self.history[-1]]:
            self.history.append(wanted)

    @invariant()
    def at_most_the_last_state_is_final(self) -> None:
        assert not any(state.final for state in self.history[:-1])

    @invariant()
    def a_run_ends_by_its_own_program_only_while_it_runs(self) -> None:
        ends = {RunState.SUCCESS, RunState.ERROR, RunState.DIVERGED}
        for before, after in zip(self.history, self.history[1:], strict=False):
            assert after not in ends or before is RunState.RUNNING

    @invariant()
    def an_end_is_always_in_reach(self) -> None:
        assert self.history[-1].final or RunState.ABORTED in NEXT_STATES[self.history[-1]]


class LogLife(RuleBasedStateMachine):
    """A broker that tries everything, on a ledger whose machine may crash."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger()
        self.stored: list[LogRecord] = []
        self.sent: list[int] = []  # writes that left the machine

    def of(self, call: int, *kinds: type[LogRecord]) -> list[LogRecord]:
        """What the log says of a call."""
        found = (r for r in self.ledger.records if isinstance(r, kinds))
        return [r for r in found if getattr(r, "call", None) == call]

    def effect(self, call: int) -> Effect | None:
        return next((r.effect for r in self.of(call, Issued) if isinstance(r, Issued)), None)

    @property
    def settled(self) -> bool:
        return any(isinstance(r, Settled) for r in self.ledger.records)

    @property
    def paused(self) -> bool:
        """Whether the last pause was not followed by going on."""
        marks = [r for r in self.ledger.records if isinstance(r, Checkpoint | Continued)]
        return bool(marks) and isinstance(marks[-1], Checkpoint)

    def unanswered(self) -> list[int]:
        return [n for n in range(self.issued()) if not self.of(n, Delivered, Undelivered)]

    def issued(self) -> int:
        return sum(isinstance(r, Issued) for r in self.ledger.records)

    def in_doubt(self, call: int) -> bool:
        """A write of no capability whose last attempt counts and that has no outcome."""
        tried = self.of(call, Attempted, RetryAllowed)
        counts = bool(tried) and isinstance(tried[-1], Attempted)
        of_tool = self.effect(call) is Effect.WRITE and self.tool(call) == "s:t"
        return counts and of_tool and call in self.unanswered()

    def tool(self, call: int) -> str | None:
        return next((r.tool for r in self.of(call, Issued) if isinstance(r, Issued)), None)

    def tell(self, allowed: bool, act: Callable[[], LogRecord]) -> LogRecord | None:
        """The record that an act makes, or None where the ledger has to refuse it."""
        before = len(self.ledger.records)
        if allowed:
            return act()
        with pytest.raises(LogOrderError):
            act()
        assert len(self.ledger.records) == before
        return None

    @rule(site=sites, effect=effects, tool=tools, at_ms=clock)
    def issue(self, site: str, effect: Effect, tool: str, at_ms: int) -> None:
        before = [r for r in self.ledger.records if isinstance(r, Issued)]
        record = self.tell(
            not self.settled and not self.paused,
            lambda: self.ledger.issue(
                site=site, tool=tool, arguments="{}", effect=effect, at_ms=at_ms
            ),
        )
        if isinstance(record, Issued):
            assert record.call == len(before)
            assert record.occurrence == 1 + sum(r.site == site for r in before)
            assert record.task_id not in {r.task_id for r in before}

    @rule(call=calls, at_ms=clock)
    def attempt(self, call: int, at_ms: int) -> None:
        earlier = self.of(call, Attempted)
        allowed = call in self.unanswered() and not self.in_doubt(call) and not self.paused
        record = self.tell(allowed, lambda: self.ledger.attempt(call, at_ms))
        if isinstance(record, Attempted):
            assert record.attempt == len(earlier) + 1
            if self.effect(call) is Effect.WRITE and self.tool(call) == "s:t":
                self.commit()
                self.sent.append(call)

    @rule(call=calls, outcome=outcomes, at_ms=clock)
    def deliver(self, call: int, outcome: Outcome, at_ms: int) -> None:
        held = self.of(call, Undelivered)
        other = any(isinstance(r, Undelivered) and r.outcome != outcome for r in held)
        gone = self.settled or self.paused or bool(self.of(call, Delivered)) or other
        known = 0 <= call < self.issued()
        self.tell(known and not gone, lambda: self.ledger.deliver(call, outcome, at_ms))

    @rule(call=calls, outcome=outcomes, at_ms=clock)
    def hold(self, call: int, outcome: Outcome, at_ms: int) -> None:
        allowed = call in self.unanswered() and not self.paused
        self.tell(allowed, lambda: self.ledger.hold(call, outcome, at_ms))

    @rule(call=calls, at_ms=clock)
    def allow_retry(self, call: int, at_ms: int) -> None:
        allowed = self.in_doubt(call) and not self.paused
        self.tell(allowed, lambda: self.ledger.allow_retry(call, at_ms))
        if allowed:
            self.commit()
            self.sent.remove(call)

    @rule(at_ms=clock)
    def pause(self, at_ms: int) -> None:
        waiting = self.unanswered()
        in_flight = any(self.of(call, Attempted) for call in waiting)
        held = not self.settled and any(
            self.of(call, Undelivered) and not self.of(call, Delivered)
            for call in range(self.issued())
        )
        layers = sum(isinstance(r, Checkpoint) for r in self.ledger.records)
        allowed = bool(waiting) and not in_flight and not held and not self.paused
        record = self.tell(allowed, lambda: self.ledger.checkpoint(f"c{layers + 1}", at_ms))
        if isinstance(record, Checkpoint):
            assert record.layer == layers + 1
            self.commit()

    @rule(number=st.integers(1, 3), at_ms=clock)
    def go_on(self, number: int, at_ms: int) -> None:
        layers = sum(isinstance(r, Checkpoint) for r in self.ledger.records)
        waiting = self.unanswered()
        allowed = self.paused and number == layers
        self.tell(allowed, lambda: self.ledger.continue_(f"c{number}", at_ms))
        if allowed:
            assert all(self.ledger.released(call) for call in waiting)
            assert not self.ledger.released(self.issued())

    @rule(kind=st.sampled_from(["timer", "decide", "reach"]), at_ms=clock)
    def progress(self, kind: str, at_ms: int) -> None:
        acts: dict[str, Callable[[], LogRecord]] = {
            "timer": lambda: self.ledger.timer_fired(0, at_ms),
            "decide": lambda: self.ledger.decide("d1", "true", at_ms),
            "reach": lambda: self.ledger.reach("f1", at_ms),
        }
        self.tell(not self.settled and not self.paused, acts[kind])

    @rule(outcome=outcomes, at_ms=clock)
    def settle(self, outcome: Outcome, at_ms: int) -> None:
        allowed = not self.settled and not self.paused
        self.tell(allowed, lambda: self.ledger.settle(outcome, at_ms))

    @rule()
    def commit(self) -> None:
        self.stored.extend(self.ledger.records[len(self.stored) :])

    @rule()
    def crash(self) -> None:
        self.ledger = Ledger(self.stored)

    @invariant()
    def incremental_equals_recomputed(self) -> None:
        again = Ledger(self.ledger.records)
        for part in ("calls", "settled", "pending", "layer", "results_bytes", "open_calls",
                     "held_outcomes", "in_doubt", "last_ms"):  # fmt: skip
            assert getattr(again, part) == getattr(self.ledger, part)

    @invariant()
    def calls_stand_where_the_records_say(self) -> None:
        for number, call in enumerate(self.ledger.calls):
            known = self.of(number, Delivered, Undelivered)
            assert call.attempts == len(self.of(number, Attempted))
            assert call.open == (not known)
            assert call.delivered == bool(self.of(number, Delivered))
            assert (call in self.ledger.open_calls) == call.open
            assert call.in_doubt == self.in_doubt(number)
        assert (self.ledger.pending is not None) == self.paused
        returned = {
            r.call: len(r.outcome.value.encode())
            for r in self.ledger.records
            if isinstance(r, Delivered | Undelivered) and isinstance(r.outcome, Returned)
        }
        assert self.ledger.results_bytes == sum(returned.values())

    @invariant()
    def a_write_that_left_the_machine_is_known_after_any_crash(self) -> None:
        assert len(set(self.sent)) == len(self.sent)  # and it left once, unless somebody agreed
        after = Ledger(self.stored)
        for call in self.sent:
            assert after.calls[call].attempts
            assert after.calls[call].in_doubt == after.calls[call].open

    @invariant()
    def numbers_have_no_gaps_and_time_never_goes_back(self) -> None:
        assert [r.seq for r in self.ledger.records] == list(range(len(self.ledger.records)))
        times = [r.at_ms for r in self.ledger.records]
        assert times == sorted(times)


TestRunLife = RunLife.TestCase
TestLogLife = LogLife.TestCase
TestLogLife.settings = settings(max_examples=60, stateful_step_count=40)


@pytest.mark.parametrize("effect", Effect)
def test_only_a_write_is_never_attempted_again(effect: Effect) -> None:
    ledger = Ledger()
    call = ledger.issue(site="n1", tool="s:t", arguments="{}", effect=effect, at_ms=1).call
    ledger.attempt(call, 1)
    if effect is Effect.WRITE:
        with pytest.raises(LogOrderError, match="never repeated"):
            ledger.attempt(call, 2)
    else:
        assert ledger.attempt(call, 2).attempt == 2


@given(st.integers(0, 5), st.data())
def test_a_log_with_a_record_missing_is_refused(gap: int, data: st.DataObject) -> None:
    ledger = Ledger()
    for site in data.draw(st.lists(sites, min_size=gap + 2, max_size=gap + 4)):
        ledger.issue(site=site, tool="s:t", arguments="{}", effect=Effect.READ, at_ms=1)
    with pytest.raises(LogOrderError, match=f"expected number {gap}"):
        Ledger([record for record in ledger.records if record.seq != gap])
