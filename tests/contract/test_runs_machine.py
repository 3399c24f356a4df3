"""PostgreSQL and its twin, step by step, on runs and their logs (ST-1; design, section 5)."""

from collections.abc import Awaitable
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, consumes, initialize, invariant, multiple, rule

from pml.domain.run import Run, RunState
from pml.domain.trace import ExecutionTrace
from pml.store.ports import Store
from tests.contract.twins import Twins, run_twins
from tests.store.nouns import a_program, a_run, a_trace, an_edge, some_records

IDS = st.sampled_from(["r1", "r⊥", "child"])
LATE = st.sampled_from([0, 0, 0, 0, 0, 0, -1, 1])
"""How far the epoch of who asks is off."""
STATES = st.sampled_from(list(RunState))
FIRST_STATES = st.sampled_from([RunState.RUNNING] * 4 + [RunState.PAUSED, RunState.ERROR])
END_STATES = st.sampled_from(
    [RunState.SUCCESS, RunState.ERROR, RunState.INTERRUPTED, RunState.RUNNING]
)
TIMES = st.integers(0, 6)
OWNERS = st.sampled_from(["host/1", "host/2"])


class RunTwins(Twins):
    traces = Bundle("traces")
    seen = Bundle("seen")

    @initialize()
    def empty(self) -> None:
        self.begin()
        self.lengths: dict[str, int] = {}
        self.epochs: dict[str, int] = {}

    @rule(run_id=IDS, state=FIRST_STATES, created=TIMES, owner=OWNERS, intent=st.text(max_size=5))
    def create(self, run_id: str, state: RunState, created: int, owner: str, intent: str) -> None:
        run = a_run(run_id, state=state, created_at_ms=created, owner=owner, intent=intent)
        if self.ask(lambda store: store.runs.create(run, a_program(seed=created))) is None:
            self.epochs[run_id] = self.lengths[run_id] = 0

    @rule(
        run_id=st.sampled_from(["child", "r1"]),
        parent=st.none() | IDS,
        replaced=st.none() | IDS,
        flags=st.tuples(st.booleans(), st.booleans()),
        times=st.tuples(st.none() | TIMES, st.none() | TIMES),
        epoch=st.integers(0, 2),
    )
    def create_child(
        self,
        *,
        run_id: str,
        parent: str | None,
        replaced: str | None,
        flags: tuple[bool, bool],
        times: tuple[int | None, int | None],
        epoch: int,
    ) -> None:
        run = a_run(
            run_id,
            parent_run_id=None if parent == run_id else parent,
            replaces_run_id=None if replaced == run_id else replaced,
            per_layer=flags[0],
            dry_run=flags[1],
            started_at_ms=times[0],
            expires_at_ms=times[1],
            epoch=epoch,
        )
        if self.ask(lambda store: store.runs.create(run, a_program())) is None:
            self.epochs[run_id], self.lengths[run_id] = epoch, 0

    def epoch(self, run_id: str, off_by: int) -> int:
        return max(0, self.epochs.get(run_id, 0) + off_by)

    @rule(
        run_id=IDS,
        to=STATES,
        now=TIMES,
        reason=st.text(max_size=5),
        late=LATE,
        expires=st.none() | TIMES,
    )
    def move(
        self, *, run_id: str, to: RunState, now: int, reason: str, late: int, expires: int | None
    ) -> None:
        epoch = self.epoch(run_id, late)
        self.ask(
            lambda store: store.runs.move(
                run_id, to, reason=reason, now_ms=now, epoch=epoch, expires_at_ms=expires
            )
        )

    @rule(target=seen, run_id=IDS)
    def see(self, run_id: str) -> object:
        self.ask(lambda store: store.runs.get(run_id))
        found = self.runner.run(self.stores[1].runs.recent(9))
        return multiple(*(run for run in found if run.id == run_id))

    @rule(run=seen, owner=OWNERS, now=TIMES, started=st.none() | TIMES)
    def claim(self, run: Run, owner: str, now: int, started: int | None) -> None:
        said = self.ask(
            lambda store: store.runs.claim(run, owner=owner, now_ms=now, started_at_ms=started)
        )
        if isinstance(said, dict):
            assert said["epoch"] == self.epoch(run.id, 1)
            self.epochs[run.id] = said["epoch"]

    @rule(owner=OWNERS, ttl_s=st.sampled_from([0, 60, 60]))
    def renew(self, owner: str, ttl_s: int) -> None:
        self.ask(lambda store: store.leases.renew(owner, ttl_s=ttl_s))

    @rule(owner=OWNERS)
    def release(self, owner: str) -> None:
        self.ask(lambda store: store.leases.release(owner))

    @rule(
        run_id=IDS, number=st.integers(0, 3), off_by=st.sampled_from([0, 0, 0, 0, -1, 1]), late=LATE
    )
    def append(self, run_id: str, number: int, off_by: int, late: int) -> None:
        first, epoch = max(0, self.lengths.get(run_id, 0) + off_by), self.epoch(run_id, late)
        records = some_records(first, number)
        said = self.ask(lambda store: store.run_log.append(run_id, records, epoch=epoch))
        if said is None:
            self.lengths[run_id] = self.lengths.get(run_id, 0) + number

    @rule(
        target=traces,
        run_id=IDS,
        to=END_STATES,
        name=st.sampled_from("abcd"),
        now=TIMES,
        late=LATE,
    )
    def finish(self, run_id: str, to: RunState, name: str, now: int, late: int) -> object:
        trace, epoch = (
            a_trace(f"{run_id}-{name}", run_id, executed_at_ms=now),
            self.epoch(run_id, late),
        )
        said = self.ask(lambda store: self.finished(store, epoch, to, trace, now))
        return multiple() if isinstance(said, tuple) else trace

    @rule(trace=consumes(traces), to=END_STATES, now=TIMES, epoch=st.integers(0, 3))
    def finish_again(self, trace: ExecutionTrace, to: RunState, now: int, epoch: int) -> None:
        there = self.runner.run(self.stores[1].traces.of_run(trace.run_id))
        said = self.ask(lambda store: self.finished(store, epoch, to, trace, now))
        assert said is None or trace.id not in {one.id for one in there}

    @staticmethod
    def finished(
        store: Store, epoch: int, to: RunState, trace: ExecutionTrace, now: int
    ) -> Awaitable[None]:
        return store.traces.finish(
            trace.run_id,
            to,
            reason=trace.id,
            now_ms=now,
            epoch=epoch,
            trace=trace,
            results=[("n1", f'"{trace.id}"')],
            dependencies=[an_edge("fs:a", f"fs:{trace.id[-1]}", count=now + 1)],
            result_expires_at_ms=now + 3,
        )

    @rule(now=TIMES | st.just(10**13))
    def expire(self, now: int) -> None:
        self.ask(lambda store: store.run_log.delete_expired(now))
        self.ask(lambda store: store.task_results.delete_expired(now))
        self.count_records()

    @rule(now=TIMES | st.just(10**13), kept=st.integers(0, 3), age=TIMES)
    def collect(self, now: int, kept: int, age: int) -> None:
        latest = self.runner.run(self.stores[1].traces.recent(kept))
        self.ask(
            lambda store: store.retention.collect(now_ms=now, traces_kept=kept, trace_age_ms=age)
        )
        said = self.ask(lambda store: store.traces.recent(99))
        assert said == tuple(one for one in latest if one.executed_at_ms >= now - age)
        self.count_records()

    def count_records(self) -> None:
        for run_id in self.lengths:
            length = self.runner.run(self.stores[1].run_log.read(run_id))
            self.lengths[run_id] = len(length)

    @rule(run_id=IDS, offset=st.integers(0, 4), limit=st.integers(1, 4), now=TIMES)
    def page(self, run_id: str, offset: int, limit: int, now: int) -> None:
        self.ask(
            lambda store: store.task_results.page(
                run_id, "n1", offset=offset, limit=limit, now_ms=now
            )
        )

    @rule(limit=st.integers(0, 5), state=st.none() | STATES, owner=OWNERS)
    def list_runs(self, limit: int, state: RunState | None, owner: str) -> None:
        self.ask(lambda store: store.runs.recent(limit, state))
        self.ask(lambda store: store.runs.orphans(lambda other: other == owner))
        self.ask(lambda store: store.runs.orphans(lambda _: True))
        self.ask(lambda store: store.runs.left_behind())

    @rule(run_id=IDS, now=TIMES)
    def list_some(self, run_id: str, now: int) -> None:
        self.ask(lambda store: store.runs.children(run_id))
        self.ask(lambda store: store.runs.expired(now))

    @rule(run_id=IDS)
    def read(self, run_id: str) -> None:
        self.ask(lambda store: store.runs.get(run_id))
        self.ask(lambda store: store.runs.program(run_id))
        self.ask(lambda store: store.run_log.read(run_id))
        self.ask(lambda store: store.traces.of_run(run_id))

    @invariant()
    def nothing_differs(self) -> None:
        if hasattr(self, "stores"):
            self.ask(lambda store: store.runs.recent(9))
            self.ask(lambda store: store.traces.recent(9))
            self.ask(lambda store: store.tool_dependencies.all())


def test_postgres_and_its_twin_answer_alike(postgres_dir: Path) -> None:
    run_twins(RunTwins, postgres_dir)


@pytest.mark.parametrize("limit", [0, 1])
async def test_a_limit_is_a_limit(any_store: Store, limit: int) -> None:
    await any_store.runs.create(a_run("a"), a_program())
    await any_store.runs.create(a_run("b"), a_program())
    assert len(await any_store.runs.recent(limit)) == limit
