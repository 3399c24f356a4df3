"""Replay (EX-3; rule 3) on a simulated program, with crashes anywhere.

What must hold for the world of `tests.domain.simulated`: a run that crashed as often as you like
ends with the log of one that never did, and no write is sent twice.
"""

import random
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pml.domain.ledger import Ledger
from pml.domain.permissions import Effect
from pml.domain.replay import Did, Given, Replay
from pml.domain.run import (
    Decided,
    Delivered,
    Issued,
    LogRecord,
    Reached,
    Returned,
    Settled,
    TimerFired,
)
from pml.errors import DivergedError
from tests.domain.simulated import Program, World, name


class CrashingRun(RuleBasedStateMachine):
    """Outcomes and timers in any order, crashes at any moment."""

    @initialize(seed=st.integers(0, 10_000))
    def begin(self, seed: int) -> None:
        self.world = World(seed)

    @precondition(lambda self: self.world.ledger.open_calls and not self.world.frozen)
    @rule(pick=st.randoms(use_true_random=False))
    def an_outcome_arrives(self, pick: random.Random) -> None:
        world = self.world
        call = pick.choice(world.ledger.open_calls).issued.call
        world.now += 1
        if world.ledger.settled:
            world.ledger.hold(call, world.answer(call), world.now)
        else:
            world.turn(name(world.ledger.deliver(call, world.answer(call), world.now)))

    @precondition(lambda self: self.world.timers and not self.world.ledger.settled)
    @rule()
    def a_timer_fires(self) -> None:
        timer = self.world.timers.pop(0)
        self.world.turn(name(self.world.ledger.timer_fired(timer, self.world.now)))

    @rule()
    def commit(self) -> None:
        self.world.commit()

    @rule()
    def crash(self) -> None:
        self.world.boot()

    @invariant()
    def no_write_is_sent_twice(self) -> None:
        sent = self.world.upstream
        assert all(count == 1 for task, count in sent.items() if task.startswith("n2"))

    @invariant()
    def a_run_freezes_exactly_when_a_write_was_in_flight_at_the_crash(self) -> None:
        if self.world.frozen:
            assert self.world.ledger.in_doubt

    @invariant()
    def the_log_is_what_one_uninterrupted_run_would_have_written(self) -> None:
        records = [r for r in self.world.ledger.records if isinstance(r, Did | Given)]
        assert [shape(r) for r in records] == uninterrupted(self.world.seed, records)


def shape(record: LogRecord) -> object:
    """A record without its number and time."""
    match record:
        case Issued():
            return ("issue", record.site, record.arguments)
        case Decided():
            return ("decide", record.site, record.outcome)
        case Reached():
            return ("reach", record.site)
        case Settled(outcome=Returned(value=value)):
            return ("settle", value)
        case Delivered() | TimerFired():
            return name(record)
        case _:
            raise AssertionError(record)


def uninterrupted(seed: int, records: Sequence[LogRecord]) -> list[object]:
    """Oracle: the same inputs given to a fresh program, without a ledger or a replay."""
    program = Program(seed)
    acts: list[object] = [act for act in program.give("start") if act != ("timer",)]
    for fed in (record for record in records if isinstance(record, Given)):
        acts.append(name(fed))
        acts.extend(act for act in program.give(name(fed)) if act != ("timer",))
    ends = [i for i, act in enumerate(acts) if isinstance(act, tuple) and act[0] == "settle"]
    acts = acts[: ends[0] + 1] if ends else acts
    return acts[: len(records)]


TestCrashingRun = CrashingRun.TestCase
TestCrashingRun.settings = settings(max_examples=60, stateful_step_count=30)


def finished(seed: int) -> World:
    """A run without crashes, outcomes in order of issue."""
    world = World(seed)
    while not world.ledger.settled:
        if world.ledger.open_calls:
            call = world.ledger.open_calls[0].issued.call
            world.turn(name(world.ledger.deliver(call, world.answer(call), 0)))
        else:
            world.turn(name(world.ledger.timer_fired(world.timers.pop(0), 0)))
    world.commit()
    return world


@given(st.integers(0, 10_000))
def test_replaying_a_finished_run_calls_nothing(seed: int) -> None:
    world = finished(seed)
    for call in world.ledger.in_doubt:  # its loser comes after the settlement
        world.ledger.hold(call.issued.call, world.answer(call.issued.call), 0)
    world.commit()
    sent = Counter(world.upstream)
    reads = {c.issued.task_id for c in world.ledger.open_calls}
    world.boot()
    assert world.replay.live
    assert {task for task in world.upstream if world.upstream[task] != sent[task]} == reads


def explains(seed: int, records: Sequence[LogRecord]) -> bool:
    """Oracle: whether a run of the program can have left this log, cut off at its end.

    Inputs may have been given while earlier ones were still worked on; what one turn did
    stands together; and nothing was given before the first turn was seen.
    """
    program = Program(seed)
    inputs = [name(record) for record in records if isinstance(record, Given)]
    turns = [
        [act for act in program.give(given) if act != ("timer",)] for given in ["start", *inputs]
    ]
    given, turn, place = 0, 0, 0
    for record in records:
        if isinstance(record, Given):
            if place or (turn == 0 and turns[0]):
                return False
            given += 1
            continue
        while turn <= given and not turns[turn]:
            turn += 1
        if turn > given or turns[turn][place] != shape(record):
            return False
        place += 1
        if place == len(turns[turn]):
            turn, place = turn + 1, 0
    return True


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.data())
def test_another_program_diverges_and_then_calls_nothing(
    seed: int, other: int, data: st.DataObject
) -> None:
    world = finished(seed)
    kept = data.draw(st.integers(0, len(world.stored)))
    world.stored = world.stored[:kept]
    world.seed, before = other, Counter(world.upstream)
    fits = explains(other, [r for r in world.stored if isinstance(r, Did | Given)])
    if Ledger(world.stored).in_doubt:
        return
    if fits:
        world.boot()
        return
    with pytest.raises(DivergedError):
        world.boot()
    assert world.upstream == before
    with pytest.raises(DivergedError):
        _ = world.replay.live


def test_other_arguments_diverge_and_are_not_shown() -> None:
    ledger = Ledger()
    ledger.issue(site="n1", tool="s:t", arguments='"one"', effect=Effect.READ, at_ms=0)
    replay = Replay(ledger.records)
    with pytest.raises(DivergedError, match=r"s:t at n1 with other arguments$") as error:
        replay.issue(site="n1", tool="s:t", arguments='"secret"')
    assert "secret" not in str(error.value)
    assert error.value.seq == 0


def test_a_program_that_does_less_than_its_log_diverges_when_it_is_idle() -> None:
    ledger = Ledger()
    ledger.decide("d1", "true", 0)
    replay = Replay(ledger.records)
    assert replay.next_input() is None
    replay.message_over(worked_off=0)  # a part of the first turn
    with pytest.raises(DivergedError, match="decision d1 = true, the program did nothing"):
        replay.message_over(worked_off=1)


def test_another_branch_or_another_place_diverges() -> None:
    ledger = Ledger()
    ledger.decide("d1", "true", 0)
    ledger.reach("l1", 0)
    with pytest.raises(DivergedError, match="d1 = true, the program did decision d1 = false"):
        Replay(ledger.records).decide("d1", "false")
    with pytest.raises(DivergedError, match="d1 = true, the program did reaching l1"):
        Replay(ledger.records).reach("l1")
    replay = Replay(ledger.records)
    replay.decide("d1", "true")
    with pytest.raises(DivergedError, match="reaching l1, the program did reaching l2"):
        replay.reach("l2")
