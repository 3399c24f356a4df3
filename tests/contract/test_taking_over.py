"""Who runs a run: leases, epochs, and that nobody writes to what another took over (OP-4)."""

import asyncio
from typing import Any

import pytest

from pml.domain.run import Attempted, LogRecord, RetryAllowed, Returned, Run, RunState, Settled
from pml.errors import FencedError, NotFoundError, RunStateError
from pml.store.ports import Store
from tests.store.nouns import a_program, a_run, a_trace, some_records


async def a_stored_run(store: Store, run_id: str = "run-1", **fields: object) -> Run:
    await store.runs.create(a_run(run_id, **fields), a_program())
    return await store.runs.get(run_id)


async def test_a_claim_takes_the_run_from_its_owner(any_store: Store) -> None:
    run = await a_stored_run(any_store, state=RunState.PAUSED, expires_at_ms=9, reason="why")
    claimed = await any_store.runs.claim(run, owner="host/2", now_ms=2, started_at_ms=5)
    assert (claimed.state, claimed.owner, claimed.epoch) == (RunState.RUNNING, "host/2", 1)
    assert (claimed.reason, claimed.expires_at_ms, claimed.started_at_ms) == ("", None, 5)
    again = await any_store.runs.claim(claimed, owner="host/3", now_ms=3, started_at_ms=6)
    assert (again.epoch, again.started_at_ms) == (2, 5)
    assert await any_store.runs.get(run.id) == again


async def test_what_an_earlier_owner_writes_is_refused(any_store: Store) -> None:
    run = await a_stored_run(any_store)
    await any_store.run_log.append(run.id, some_records(0, 1), epoch=0)
    await any_store.runs.claim(run, owner="host/2", now_ms=2)
    ends: dict[str, Any] = {"reason": "", "now_ms": 1, "results": (), "dependencies": ()}
    for write in (
        any_store.run_log.append(run.id, some_records(1, 1), epoch=0),
        any_store.runs.move(run.id, RunState.ERROR, now_ms=3, epoch=0),
        any_store.traces.finish(
            run.id, RunState.ERROR, trace=a_trace(), result_expires_at_ms=2, epoch=0, **ends
        ),
    ):
        with pytest.raises(FencedError, match="run run-1 was taken over by another PML process"):
            await write
    assert await any_store.traces.of_run(run.id) == ()
    assert (await any_store.runs.get(run.id)).state is RunState.RUNNING
    await any_store.run_log.append(run.id, some_records(1, 1), epoch=1)
    assert await any_store.run_log.read(run.id) == tuple(some_records(0, 2))


@pytest.mark.parametrize("state", [state for state in RunState if state.final])
async def test_a_run_that_has_ended_is_not_claimed(any_store: Store, state: RunState) -> None:
    run = await a_stored_run(any_store, state=state)
    with pytest.raises(RunStateError, match=f"is {state} and cannot become running"):
        await any_store.runs.claim(run, owner="host/2", now_ms=2)


async def test_a_run_that_is_not_there_is_not_claimed(any_store: Store) -> None:
    with pytest.raises(NotFoundError, match="no run 'run-1'"):
        await any_store.runs.claim(a_run(), owner="host/2", now_ms=2)


async def test_a_run_is_claimed_as_it_was_read_or_not_at_all(any_store: Store) -> None:
    run = await a_stored_run(any_store)
    await any_store.runs.move(run.id, RunState.INTERRUPTED, now_ms=2, epoch=0)
    with pytest.raises(RunStateError, match="is interrupted"):
        await any_store.runs.claim(run, owner="host/2", now_ms=2)
    interrupted = await any_store.runs.get(run.id)
    await any_store.runs.move(run.id, RunState.RUNNING, now_ms=3, epoch=0)
    await any_store.runs.move(run.id, RunState.INTERRUPTED, now_ms=4, epoch=0)
    with pytest.raises(RunStateError, match="is interrupted"):
        await any_store.runs.claim(interrupted, owner="host/2", now_ms=5)


async def test_of_many_who_claim_a_run_one_succeeds(any_store: Store) -> None:
    run = await a_stored_run(any_store, state=RunState.PAUSED)
    claims = [any_store.runs.claim(run, owner=f"host/{n}", now_ms=2) for n in range(8)]
    outcomes = await asyncio.gather(*claims, return_exceptions=True)
    (won,) = [outcome for outcome in outcomes if isinstance(outcome, Run)]
    assert sum(isinstance(outcome, RunStateError) for outcome in outcomes) == 7
    assert await any_store.runs.get(run.id) == won


async def test_a_wait_ends_with_its_time_and_is_forgotten_when_it_goes_on(
    any_store: Store,
) -> None:
    for name, expires in (("late", 30), ("early", 10), ("mid", 20), ("never", None)):
        await a_stored_run(any_store, name)
        await any_store.runs.move(
            name, RunState.APPROVAL_REQUIRED, now_ms=2, epoch=0, expires_at_ms=expires
        )
    await a_stored_run(any_store, "runs", expires_at_ms=1)
    assert [run.id for run in await any_store.runs.expired(20)] == ["early", "mid"]
    moved = await any_store.runs.move(
        "early", RunState.EXPIRED, now_ms=3, epoch=0, expires_at_ms=99
    )
    assert moved.expires_at_ms is None
    await any_store.runs.claim(await any_store.runs.get("mid"), owner="a", now_ms=4)
    assert [run.id for run in await any_store.runs.expired(99)] == ["late"]


async def test_runs_without_a_living_owner_are_orphans(any_store: Store) -> None:
    owners = ("leased", "over", "released", "killed", "unheard")
    for number, owner in enumerate(owners):
        await a_stored_run(any_store, f"of-{owner}", owner=owner, created_at_ms=number)
    await a_stored_run(any_store, "paused", owner="unheard", state=RunState.PAUSED)
    for owner in ("leased", "killed", "released"):
        await any_store.leases.renew(owner, ttl_s=60)
    await any_store.leases.renew("over", ttl_s=60)
    await any_store.leases.renew("over", ttl_s=0)
    await any_store.leases.release("released")
    await any_store.leases.release("never leased")
    found = await any_store.runs.orphans(lambda owner: owner != "killed")
    assert [run.id for run in found] == ["of-over", "of-released", "of-killed", "of-unheard"]


async def test_children_and_what_a_run_replaces_are_known(any_store: Store) -> None:
    parent = await a_stored_run(any_store, "parent")
    for name, created in (("b", 2), ("a", 2), ("c", 1)):
        await a_stored_run(any_store, name, parent_run_id=parent.id, created_at_ms=created)
    await a_stored_run(any_store, "other", replaces_run_id=parent.id, parent_run_id="a")
    assert [run.id for run in await any_store.runs.children(parent.id)] == ["c", "a", "b"]
    assert await any_store.runs.children("none\x00") == ()
    with pytest.raises(ValueError, match="there is no run 'none' to be replaced"):
        await a_stored_run(any_store, "new", replaces_run_id="none")
    with pytest.raises(ValueError, match="there is no run 'none' that could call another"):
        await a_stored_run(any_store, "new", parent_run_id="none")


async def test_runs_that_outlive_their_caller_are_left_behind(any_store: Store) -> None:
    for name, created, state in (("late", 3, RunState.IN_DOUBT), ("early", 2, RunState.RUNNING)):
        caller = await a_stored_run(any_store, f"caller of {name}", created_at_ms=created)
        await a_stored_run(
            any_store, name, state=state, parent_run_id=caller.id, created_at_ms=created
        )
        await a_stored_run(
            any_store, f"done by {name}", state=RunState.ERROR, parent_run_id=caller.id
        )
    assert await any_store.runs.left_behind() == ()
    for name in ("late", "early"):
        await any_store.runs.move(f"caller of {name}", RunState.ABORTED, now_ms=9, epoch=0)
    assert [run.id for run in await any_store.runs.left_behind()] == ["early", "late"]


async def test_an_append_is_read_by_who_claims_the_run_or_refused(any_store: Store) -> None:
    """Whatever the order, nothing is written that the new owner did not read."""
    run = await a_stored_run(any_store)
    for epoch in range(1, 20):
        begun = len(await any_store.run_log.read(run.id))

        async def write(first: int, epoch: int) -> int:
            for number in range(first, first + 9):
                try:
                    await any_store.run_log.append("run-1", some_records(number, 1), epoch=epoch)
                except FencedError:
                    return number
            return first + 9

        async def take_over(run: Run) -> tuple[Run, int]:
            claimed = await any_store.runs.claim(run, owner="host/2", now_ms=2)
            return claimed, len(await any_store.run_log.read(run.id))

        (written, (run, found)) = await asyncio.gather(write(begun, epoch - 1), take_over(run))
        assert run.epoch == epoch
        assert found == written == len(await any_store.run_log.read(run.id))


async def test_a_run_gets_further_by_what_it_does_not_by_trying_again(any_store: Store) -> None:
    """EX-3: so it is known how often it was taken over to no purpose."""
    run, log = await a_stored_run(any_store), any_store.run_log
    assert await log.progressed(run.id) == 0
    for epoch in (1, 2):
        run = await any_store.runs.claim(run, owner=f"host/{epoch}", now_ms=epoch)
    await log.append(run.id, some_records(0, 1), epoch=2)
    run = await any_store.runs.claim(run, owner="host/3", now_ms=3)
    idle: list[LogRecord] = [
        Attempted(seq=1, at_ms=1_001, call=0, attempt=1),
        RetryAllowed(seq=2, at_ms=1_001, call=0),
    ]
    await log.append(run.id, idle, epoch=3)
    assert await log.progressed(run.id) == 2
    await log.append(run.id, [Settled(seq=3, at_ms=1_002, outcome=Returned(value="1"))], epoch=3)
    assert await log.progressed(run.id) == 3
    assert await log.progressed("run-2") == 0
