"""The timers of one run: the code's ``setTimeout``, kept outside the sandbox (rule 4)."""

import asyncio
from collections.abc import Callable


class Timers:
    """Timers that are set, by their number.

    Invariant: `due` is called at most once per setting, and never after `clear`; between
    the two it may lie in an inbox, hence `take`.
    """

    def __init__(self, due: Callable[[int], None]) -> None:
        self._due = due
        self._waiting: dict[int, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def set(self, timer: int, delay_ms: float) -> None:
        """Call ``due`` after the delay; a negative one counts as 0."""
        loop = asyncio.get_running_loop()
        self._waiting[timer] = loop.call_later(max(delay_ms, 0.0) / 1000, self._due, timer)

    def take(self, timer: int) -> bool:
        """Whether a timer that came due is still wanted; it is forgotten."""
        return self._waiting.pop(timer, None) is not None

    def clear(self, timer: int) -> None:
        """Forget a timer; unknown ones are let pass, as JavaScript does."""
        if handle := self._waiting.pop(timer, None):
            handle.cancel()

    def clear_all(self) -> None:
        """Forget every timer."""
        for timer in tuple(self._waiting):
            self.clear(timer)
