"""Writes one run's log to the store: in order, in batches, and when asked, durably.

Records pile up while an append is under way and travel together in the next one, so
sixteen calls that start at once cost one commit (design, section 5, rule 6).
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from pml.domain.run import LogRecord


class AppendsRecords(Protocol):
    """The part of the store that the writer needs."""

    async def append(self, run_id: str, records: Sequence[LogRecord]) -> None:
        """Append in one commit."""


class LogWriter:
    """The log of one run on its way to the store.

    Invariant: records reach the store in the order in which they were added, without gaps.
    """

    def __init__(self, log: AppendsRecords, run_id: str) -> None:
        self._log = log
        self._run_id = run_id
        self._waiting: list[LogRecord] = []
        self._durable = 0  # records committed so far
        self._append: asyncio.Task[None] | None = None

    def add(self, record: LogRecord) -> None:
        """Take a record; it is durable after the next `commit` returns."""
        self._waiting.append(record)

    async def commit(self) -> None:
        """Return when every record added so far is committed.

        A caller that is cancelled leaves the append under way alone: whether it committed
        would otherwise be unknown.

        Raises:
            StoreError: the store is lost; what was not committed stays in the writer.
        """
        goal = self._durable + len(self._waiting)  # an append under way only shifts the two
        while self._durable < goal:
            if self._append is None or self._append.done():
                self._append = asyncio.create_task(self._append_waiting())
            await asyncio.shield(self._append)

    async def _append_waiting(self) -> None:
        batch = tuple(self._waiting)
        await self._log.append(self._run_id, batch)
        del self._waiting[: len(batch)]
        self._durable += len(batch)
