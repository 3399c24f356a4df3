"""The way out: calls leave together or wait together, and each comes back as one message."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from pml.domain.ledger import Ledger
from pml.domain.permissions import Permission
from pml.domain.run import Issued
from pml.runtime.admission import Admission
from pml.runtime.calls import Answered, Caller, Errand, Known
from pml.runtime.teller import Teller


@dataclass(frozen=True, slots=True)
class Broke:
    """Something happened to a call that is no answer: the log was lost, or nobody expected it."""

    call: int
    error: Exception


Uncovered: TypeAlias = dict[Issued, Permission]
"""Calls that need a consent which nobody gave, and what asks for it."""


@dataclass(slots=True, kw_only=True)
class Dispatch:
    """Sends the calls of one run.

    Invariant: a call is under way from `send` until its message was taken back with `back`.
    """

    admission: Admission
    caller: Caller
    ledger: Ledger
    teller: Teller
    tell: Callable[[Known | Broke], None]
    """Puts a message into the broker's inbox."""
    _under_way: "dict[int, asyncio.Task[None]]" = field(default_factory=dict)

    @property
    def under_way(self) -> bool:
        """Whether calls are out."""
        return bool(self._under_way)

    @property
    def holding(self) -> bool:
        """Whether calls wait for their frontier."""
        return bool(self.admission.held)

    def admit(self, calls: Iterable[Issued]) -> Uncovered:
        """Send what may go, hold what has to wait, answer what goes nowhere."""
        ready: list[Issued] = []
        for issued in calls:
            if refusal := self.admission.refusal(issued):
                self.tell(Answered(issued.call, refusal, 0.0))
            elif not self.admission.holds(issued):
                ready.append(issued)
        return self.send(ready)

    def send(self, calls: Sequence[Issued]) -> Uncovered:
        """All of them, or none where somebody has to be asked first: those come back."""
        uncovered = self.admission.uncovered(calls)
        if not uncovered:
            for issued in calls:
                self._under_way[issued.call] = asyncio.create_task(self._perform(issued))
        return uncovered

    def back(self, call: int) -> None:
        """The message of a call was taken out of the inbox."""
        self._under_way.pop(call, None)

    def recall(self) -> None:
        """Call back what was not sent yet; it stays open in the log."""
        for call in [c for c in self._under_way if not self.ledger.calls[c].attempts]:
            self._under_way.pop(call).cancel()

    async def cancel(self) -> None:
        """Give up on everything, and wait until nothing is under way."""
        tasks = list(self._under_way.values())
        self._under_way.clear()
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task

    async def _perform(self, issued: Issued) -> None:
        errand = Errand(
            issued=issued,
            started=lambda: self.teller.task_start(issued),
            changed=lambda: self.admission.changed(issued),
            consented=self.admission.consent(issued),
        )
        try:
            self.tell(await self.caller.perform(errand))
        except Exception as exc:  # noqa: BLE001  # handed on: here nobody would see it
            self.tell(Broke(issued.call, exc))
