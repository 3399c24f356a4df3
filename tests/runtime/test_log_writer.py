"""The log's way to the store: order, batches, durability (EX-3; design, section 5, rule 6)."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.ledger import Ledger
from pml.domain.run import LogRecord
from pml.errors import FencedError, StoreError
from pml.runtime.log_writer import LogWriter


class SlowLog:
    """A store whose appends end when the test lets them, or fail on demand."""

    def __init__(self) -> None:
        self.batches: list[tuple[LogRecord, ...]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.entered = asyncio.Event()
        self.broken = False
        self.deaf = False
        """Appends, and loses the connection before it can say so."""

    async def append(self, run_id: str, records: Sequence[LogRecord], *, epoch: int) -> None:
        assert (run_id, epoch) == ("run", 3)
        self.entered.set()
        await self.gate.wait()
        if self.broken:
            message = "the database is gone"
            raise StoreError(message)
        self.batches.append(tuple(records))
        if self.deaf:
            message = "the connection was lost"
            raise StoreError(message)

    async def read(self, run_id: str) -> Sequence[LogRecord]:
        assert run_id == "run"
        return self.records

    @property
    def records(self) -> list[LogRecord]:
        return [record for batch in self.batches for record in batch]


def reach(ledger: Ledger, times: int) -> None:
    for _ in range(times):
        ledger.reach("l1", at_ms=1)


@given(st.lists(st.integers(0, 5), max_size=8))
def test_every_commit_makes_all_earlier_records_durable_in_order(steps: list[int]) -> None:
    async def scenario() -> None:
        log, ledger = SlowLog(), Ledger()
        writer = LogWriter(log, "run", ledger, epoch=3)
        for step in steps:
            reach(ledger, step)
            await asyncio.gather(writer.commit(), writer.commit())
            assert log.records == ledger.records

    asyncio.run(scenario())


async def test_records_made_during_an_append_travel_together_in_the_next() -> None:
    log, ledger = SlowLog(), Ledger()
    writer = LogWriter(log, "run", ledger, epoch=3)
    log.gate.clear()
    reach(ledger, 1)
    first = asyncio.create_task(writer.commit())
    await log.entered.wait()
    reach(ledger, 7)
    others = [asyncio.create_task(writer.commit()) for _ in range(7)]
    log.gate.set()
    await asyncio.gather(first, *others)
    assert [len(batch) for batch in log.batches] == [1, 7]


async def test_a_cancelled_caller_leaves_the_append_under_way_alone() -> None:
    log, ledger = SlowLog(), Ledger()
    writer = LogWriter(log, "run", ledger, epoch=3)
    log.gate.clear()
    reach(ledger, 2)
    caller = asyncio.create_task(writer.commit())
    await log.entered.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    log.gate.set()
    reach(ledger, 1)
    await writer.commit()
    assert log.records == ledger.records


async def test_a_failed_append_reaches_every_waiter_and_loses_nothing() -> None:
    log, ledger = SlowLog(), Ledger()
    writer = LogWriter(log, "run", ledger, epoch=3)
    log.broken = True
    reach(ledger, 3)
    failures = await asyncio.gather(writer.commit(), writer.commit(), return_exceptions=True)
    assert [type(failure) for failure in failures] == [StoreError, StoreError]
    log.broken = False
    await writer.commit()
    assert log.records == ledger.records


async def test_an_append_whose_answer_was_lost_is_not_repeated() -> None:
    log, ledger = SlowLog(), Ledger()
    writer = LogWriter(log, "run", ledger, epoch=3)
    log.deaf = True
    reach(ledger, 3)
    with pytest.raises(StoreError):
        await writer.commit()
    log.deaf = False
    reach(ledger, 1)
    await writer.commit()
    assert log.records == ledger.records
    assert [len(batch) for batch in log.batches] == [3, 1]


async def test_where_somebody_else_has_written_meanwhile_nothing_more_is_ours() -> None:
    """EX-3: an append whose answer was lost may have come after another process's."""
    log, ledger = SlowLog(), Ledger()
    writer = LogWriter(log, "run", ledger, epoch=3)
    log.broken = True
    reach(ledger, 1)
    with pytest.raises(StoreError):
        await writer.commit()
    log.broken = False
    theirs = Ledger()
    theirs.reach("l2", at_ms=1)
    log.batches.append(tuple(theirs.records))
    for _ in range(2):
        with pytest.raises(FencedError):
            await writer.commit()
    assert log.records == theirs.records
