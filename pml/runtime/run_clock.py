"""The clock of one run: it stands still while nobody runs it (rule 4)."""

from collections.abc import Callable


class RunClock:
    """Unix time of the run, in ms.

    Invariant: it shows ``at_ms`` until it is started, and from then on goes with the machine.
    """

    def __init__(self, wall_ms: Callable[[], int], at_ms: int) -> None:
        self._wall_ms = wall_ms
        self._at_ms = at_ms
        self._behind_ms: int | None = None

    def start(self) -> None:
        """Go on, from the time that it shows."""
        self._behind_ms = self._wall_ms() - self._at_ms

    def now_ms(self) -> int:
        """The time of the run."""
        return self._at_ms if self._behind_ms is None else self._wall_ms() - self._behind_ms
