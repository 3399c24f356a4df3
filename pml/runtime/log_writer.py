"""Writes one run's log to the store: in order, in batches, and when asked, durably.

Records pile up while an append is under way and travel together in the next one, so
sixteen calls that start at once cost one commit (design, section 5, rule 6).
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from pml.domain.ledger import Ledger
from pml.domain.run import LogRecord
from pml.errors import FencedError


class AppendsRecords(Protocol):
    """The part of the store that the writer needs."""

    async def append(self, run_id: str, records: Sequence[LogRecord], *, epoch: int) -> None:
        """Append in one commit, unless another process took the run over since ``epoch``."""

    async def read(self, run_id: str) -> Sequence[LogRecord]:
        """What is committed."""


class LogWriter:
    """The log of one run on its way to the store.

    Invariant: records reach the store in the ledger's order, without gaps.  When it is made,
    the ledger holds what the store has.
    """

    def __init__(self, log: AppendsRecords, run_id: str, ledger: Ledger, *, epoch: int) -> None:
        self._log = log
        self._run_id = run_id
        self._epoch = epoch
        self._ledger = ledger
        self._durable = len(ledger.records)
        self._append: asyncio.Task[None] | None = None
        self._unsure = False
        """Whether an append failed: the store may hold its records all the same."""

    @property
    def kept(self) -> list[LogRecord]:
        """The records that the store is known to have."""
        return self._ledger.records[: self._durable]

    async def commit(self) -> None:
        """Return when every record made so far is committed.

        A caller that is cancelled leaves the append under way alone: whether it committed
        would otherwise be unknown.

        Raises:
            StoreError: the store is lost.
            FencedError: another process has taken the run over.
        """
        goal = len(self._ledger.records)
        while self._durable < goal:
            if self._append is None or self._append.done():
                self._append = asyncio.create_task(self._append_next())
            await asyncio.shield(self._append)

    async def _append_next(self) -> None:
        if self._unsure:
            stored = await self._log.read(self._run_id)
            if list(stored) != self._ledger.records[: len(stored)]:
                raise FencedError(self._run_id)  # somebody else's records: nothing more is ours
            self._durable = len(stored)
            self._unsure = False
        batch = self._ledger.records[self._durable :]
        try:
            await self._log.append(self._run_id, batch, epoch=self._epoch)
        except BaseException:
            self._unsure = True
            raise
        self._durable += len(batch)
