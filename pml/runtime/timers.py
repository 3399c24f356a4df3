"""The timers of one run: the code's ``setTimeout``, kept outside the sandbox (rule 4)."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Protocol, TypeAlias


class Cancels(Protocol):
    """Something that was asked for later."""

    def cancel(self) -> None: ...  # noqa: D102


CallLater: TypeAlias = Callable[[float, Callable[[], None]], Cancels]
"""Calls a function after so many seconds, as an event loop does."""


def on_the_loop(delay_s: float, call: Callable[[], None]) -> Cancels:
    """As the event loop that runs."""
    return asyncio.get_running_loop().call_later(delay_s, call)


class Timers:
    """Timers that are set, by their number; times are those of the run, in ms.

    Invariant: until `start` nothing comes due.  `due` is called at most once per setting, and
    never after `clear`; between the two it may lie in an inbox, hence `take`.
    """

    def __init__(
        self, due: Callable[[int], None], call_later: CallLater, now_ms: Callable[[], int]
    ) -> None:
        self._due = due
        self._call_later = call_later
        self._now_ms = now_ms
        self._due_ms: dict[int, float] = {}
        self._armed: dict[int, Cancels] = {}
        self._fired_before: Counter[int] = Counter()
        self._started = False

    def __len__(self) -> int:
        return len(self._due_ms)

    def set(self, timer: int, since_ms: int, delay_ms: float) -> None:
        """Let it come due after the delay; a negative one counts as 0.

        The delay counts from what the code's clock showed, so a timer that is set again in a
        replay comes due when it would have.
        """
        if self._fired_before[timer] > 0:
            self._fired_before[timer] -= 1
            return
        self._due_ms[timer] = since_ms + max(delay_ms, 0.0)
        if self._started:
            self._arm(timer)

    def replay(self, timer: int) -> None:
        """The log says that it fired; that it was set may only be seen later."""
        if self._due_ms.pop(timer, None) is None:
            self._fired_before[timer] += 1

    def start(self) -> None:
        """From now on timers come due; those that are set have what is left of them to wait."""
        self._started = True
        for timer in sorted(self._due_ms, key=lambda timer: self._due_ms[timer]):
            self._arm(timer)

    def take(self, timer: int) -> bool:
        """Whether a timer that came due is still wanted; it is forgotten."""
        self._armed.pop(timer, None)
        return self._due_ms.pop(timer, None) is not None

    def clear(self, timer: int) -> None:
        """Forget a timer; unknown ones are let pass, as JavaScript does."""
        self._due_ms.pop(timer, None)
        if armed := self._armed.pop(timer, None):
            armed.cancel()

    def clear_all(self) -> None:
        """Forget every timer."""
        for timer in tuple(self._due_ms):
            self.clear(timer)

    def _arm(self, timer: int) -> None:
        left_ms = max(self._due_ms[timer] - self._now_ms(), 0.0)
        self._armed[timer] = self._call_later(left_ms / 1000, lambda: self._due(timer))
