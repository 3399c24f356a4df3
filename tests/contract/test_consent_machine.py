"""PostgreSQL and its twin, step by step, on what people consent to (HIL-3, HIL-4)."""

from collections import Counter
from collections.abc import Awaitable
from functools import partial
from itertools import count
from pathlib import Path
from typing import cast

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from pml.domain.approval import (
    Approval,
    ApprovalState,
    AuditEntry,
    AuditEvent,
    GrantScope,
    Role,
)
from pml.domain.run import Run, RunState
from pml.store.ports import Store
from tests.contract.twins import Twins, run_twins
from tests.store.nouns import a_grant, a_program, a_run, an_api_key, an_approval

ASKS = st.sampled_from(["a", "b", "c⊥", "d"])
RUNS = st.sampled_from(["r1", "r1", "r2", "none", "\x00"])
TIMES = st.integers(0, 6)
PEOPLE = st.sampled_from(["ada", "bob\x00", "pml"])
NOTES = st.sampled_from(["", "fine", "password=hunter2hunter2", "a\x00b"])
KEYS = st.sampled_from(["k1", "k2", "k3"])
HASHES = st.sampled_from(["h1", "h2", "h3", "\x00"])
_EXAMPLES = count(1)


def create(run: Run, store: Store) -> Awaitable[None]:
    return store.runs.create(run, a_program())


def requests(run_id: str, store: Store) -> Awaitable[tuple[Approval, ...]]:
    return store.approvals.of_run(run_id)


class ConsentTwins(Twins):
    @initialize()
    def empty(self) -> None:
        self.begin()
        # The audit log cannot be emptied: the entries of this example are its latest.
        self.start_ms = next(_EXAMPLES) * 1_000
        for run_id in ("r1", "r2"):
            run = a_run(run_id, state=RunState.APPROVAL_REQUIRED)
            self.ask(partial(create, run))

    def at(self, time: int) -> int:
        return self.start_ms + time

    @rule(
        ask=ASKS,
        run_id=RUNS,
        asked=TIMES,
        expires=TIMES,
        calls=st.lists(st.integers(0, 3), max_size=2),
        state=st.sampled_from([ApprovalState.PENDING] * 9 + [ApprovalState.GRANTED]),
        epoch=st.sampled_from([0] * 9 + [1]),
    )
    def ask_for_approval(
        self,
        *,
        ask: str,
        run_id: str,
        asked: int,
        expires: int,
        calls: list[int],
        state: ApprovalState,
        epoch: int,
    ) -> None:
        approval = an_approval(
            ask,
            run_id,
            asked_at_ms=self.at(asked),
            expires_at_ms=self.at(expires),
            calls=tuple(calls),
            state=state,
        )
        self.ask(lambda store: store.approvals.ask(approval, epoch=epoch))

    @rule(ask=ASKS, granted=st.booleans(), by=PEOPLE, note=NOTES, now=TIMES)
    def decide(self, ask: str, by: str, note: str, now: int, *, granted: bool) -> None:
        self.ask(
            lambda store: store.approvals.decide(
                ask, granted=granted, by=by, note=note, now_ms=self.at(now)
            )
        )

    @rule(run_id=RUNS, now=TIMES)
    def withdraw(self, run_id: str, now: int) -> None:
        self.ask(lambda store: store.approvals.withdraw(run_id, now_ms=self.at(now)))

    @rule(now=TIMES)
    def expire(self, now: int) -> None:
        self.ask(lambda store: store.approvals.expire(self.at(now)))

    @rule(grant=ASKS, by=PEOPLE, note=NOTES, granted=TIMES, expires=st.none() | TIMES)
    def remember(self, grant: str, by: str, note: str, granted: int, expires: int | None) -> None:
        scope = GrantScope(tool=f"fs:{grant}\x00", arguments={"token": "secret", "n": 1.0})
        new = a_grant(
            grant,
            scope=scope,
            granted_by=by,
            note=note,
            granted_at_ms=self.at(granted),
            expires_at_ms=None if expires is None else self.at(expires),
        )
        self.ask(lambda store: store.grants.remember(new))

    @rule(grant=ASKS, by=PEOPLE, now=TIMES)
    def revoke(self, grant: str, by: str, now: int) -> None:
        self.ask(lambda store: store.grants.revoke(grant, by=by, now_ms=self.at(now)))

    @rule(
        key=KEYS, name=st.sampled_from(["laptop", "b\x00"]), role=st.sampled_from(Role), sha=HASHES
    )
    def create_key(self, key: str, name: str, role: Role, sha: str) -> None:
        if "\x00" not in sha:
            new = an_api_key(key, name=name, role=role, created_at_ms=self.at(0))
            self.ask(lambda store: store.api_keys.create(new, key_hash=sha))

    @rule(key=KEYS, now=TIMES, sha=HASHES)
    def use_key(self, key: str, now: int, sha: str) -> None:
        self.ask(lambda store: store.api_keys.used(key, now_ms=self.at(now)))
        self.ask(lambda store: store.api_keys.find(sha))

    @rule(key=KEYS, now=TIMES, by=PEOPLE)
    def revoke_key(self, key: str, now: int, by: str) -> None:
        self.ask(lambda store: store.api_keys.revoke(key, now_ms=self.at(now), by=by))

    @rule(run_id=st.none() | RUNS, tool=st.none() | PEOPLE, now=TIMES, number=st.integers(0, 2))
    def write(self, run_id: str | None, tool: str | None, now: int, number: int) -> None:
        entry = AuditEntry(
            at_ms=self.at(now),
            event=AuditEvent.USED,
            actor="grant g\x00",
            run_id=run_id,
            tool=tool,
            detail={"note": "password=hunter2hunter2", "n": [1.5, None]},
        )
        self.ask(lambda store: store.audit.write([entry] * number))

    @rule(ask=ASKS, run_id=RUNS, now=TIMES, limit=st.integers(0, 3))
    def read(self, ask: str, run_id: str, now: int, limit: int) -> None:
        self.ask(lambda store: store.approvals.get(ask))
        self.ask(lambda store: store.approvals.of_run(run_id))
        self.ask(lambda store: store.approvals.pending(limit))
        self.ask(lambda store: store.grants.active(self.at(now)))

    @invariant()
    def nothing_differs(self) -> None:
        if not hasattr(self, "start_ms"):
            return
        self.ask(lambda store: store.grants.all())
        self.ask(lambda store: store.api_keys.all())
        written = len(self.runner.run(self.stores[1].audit.recent(10_000)))
        entries = self.ask(lambda store: store.audit.recent(written))
        self.each_change_has_its_entry(cast("tuple[AuditEntry, ...]", entries))

    def each_change_has_its_entry(self, entries: tuple[AuditEntry, ...]) -> None:
        """HIL-3: one entry says that it was asked, one how that ended."""
        told = Counter(
            str(entry.detail["approvalId"]) for entry in entries if "approvalId" in entry.detail
        )
        for run_id in ("r1", "r2"):
            approvals = cast("tuple[Approval, ...]", self.ask(partial(requests, run_id)))
            for one in approvals:
                assert told.pop(one.id) == 1 + (one.state is not ApprovalState.PENDING)
            waiting = [one for one in approvals if one.state is ApprovalState.PENDING]
            assert len(waiting) <= 1
        assert not told
        assert "hunter2" not in repr(entries)


def test_postgres_and_its_twin_answer_alike(postgres_dir: Path) -> None:
    run_twins(ConsentTwins, postgres_dir)
