"""What happens in runs, kept for who watches (EX-9).

Every run has a stream of numbered events: its own, and those of the runs that its code called.
A stream keeps the latest ``events_per_run``; all streams together keep a bounded number, and
those without watchers go first, the longest quiet first.  A watcher takes events at its own
pace and is told how many it missed; nobody waits for it.

Numbers begin anew with the process, and with a stream that was forgotten, so a position names
its stream as well (`Position`).
"""

import asyncio
import secrets
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from pml.domain.events import CapabilityStart, Event, RunEnd
from pml.domain.limits import Limits

RUNS_KEPT = 1_000
EVENTS_KEPT = 200_000
"""Of all runs together: some 100 MB at worst, since values in events are cut to previews."""
_ID_BYTES = 6
_DIGITS = 18
"""Of a position that a client names; no stream comes so far."""


@dataclass(frozen=True, slots=True)
class Position:
    """How far a watcher has come in a stream; as text, the ``id:`` of server-sent events."""

    stream: str
    number: int

    def __str__(self) -> str:
        return f"{self.stream}-{self.number}"

    @staticmethod
    def read(text: str) -> "Position | None":
        """The position that a text stands for; None if it is none."""
        stream, _, number = text.rpartition("-")
        if not stream or not number.isascii() or not number.isdecimal():
            return None
        return Position(stream, int(number[:_DIGITS]))


@dataclass(frozen=True, slots=True)
class Told:
    """One event, and where the stream stands with it."""

    position: Position
    event: Event


@dataclass(frozen=True, slots=True)
class Dropped:
    """Events that are not kept any more; the next one follows them."""

    position: Position
    count: int


@dataclass(slots=True)
class _Stream:
    id: str
    events: deque[Event] = field(default_factory=deque)
    first: int = 1
    """Number of the oldest event that is kept."""
    ended: bool = False
    """Whether the run has come to a final state: nothing follows."""
    watchers: int = 0
    called: list[str] = field(default_factory=list)
    """Runs that its code called."""
    more: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def next(self) -> int:
        return self.first + len(self.events)


class Feed:
    """The streams of one process.

    Invariant: the numbers of a stream's events are consecutive; its last event of a run that
    has ended is that run's own `RunEnd`.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        runs_kept: int = RUNS_KEPT,
        events_kept: int = EVENTS_KEPT,
        new_id: Callable[[], str] = lambda: secrets.token_hex(_ID_BYTES),
    ) -> None:
        self._new_id = new_id
        self._per_run = limits.events_per_run
        self._runs_kept = runs_kept
        self._events_kept = events_kept
        self._streams: OrderedDict[str, _Stream] = OrderedDict()
        self._parents: dict[str, str] = {}
        self._count = 0

    def __len__(self) -> int:
        """How many events are kept."""
        return self._count

    def emit(self, event: Event) -> None:
        """Take an event in: into its run's stream and those of the runs above it."""
        if isinstance(event, CapabilityStart):
            self._parents[event.child_run_id] = event.run_id
            self._stream(event.run_id).called.append(event.child_run_id)
        run: str | None = event.run_id
        while run is not None:
            self._append(run, event)
            run = self._parents.get(run)
        self._forget()

    def knows(self, run_id: str) -> bool:
        """Whether anything is kept of a run."""
        stream = self._streams.get(run_id)
        return stream is not None and bool(stream.events)

    async def watch(
        self, run_id: str, after: Position | None = None
    ) -> AsyncIterator[Told | Dropped]:
        """The events of a run from ``after`` on, as they come; ends with the run.

        A position of another stream means nothing here: then what is kept is told from its
        beginning.  A run of which nothing is known yet is waited for.
        """
        stream = self._stream(run_id)
        stream.watchers += 1
        at = 1
        if after is not None and after.stream == stream.id:
            at = min(after.number + 1, stream.next)
        try:
            while True:
                if at < stream.first:
                    yield Dropped(Position(stream.id, stream.first - 1), stream.first - at)
                    at = stream.first
                elif at < stream.next:
                    event = stream.events[at - stream.first]
                    yield Told(Position(stream.id, at), event)
                    at += 1
                elif stream.ended:
                    return
                else:
                    await stream.more.wait()
        finally:
            stream.watchers -= 1
            if not stream.watchers and not stream.events:
                self._streams.pop(run_id, None)
            self._forget()

    def _stream(self, run_id: str) -> _Stream:
        stream = self._streams.get(run_id)
        if stream is None:
            stream = self._streams[run_id] = _Stream(self._new_id())
        return stream

    def _append(self, run_id: str, event: Event) -> None:
        stream = self._stream(run_id)
        self._streams.move_to_end(run_id)
        stream.events.append(event)
        self._count += 1
        if len(stream.events) > self._per_run:
            self._drop_oldest(stream)
        if event.run_id == run_id and isinstance(event, RunEnd):
            stream.ended = event.state.final
        stream.more.set()
        stream.more = asyncio.Event()

    def _drop_oldest(self, stream: _Stream) -> None:
        stream.events.popleft()
        stream.first += 1
        self._count -= 1

    def _forget(self) -> None:
        """Keep within the bounds: streams that nobody watches go whole, others lose events."""
        while len(self._streams) > self._runs_kept or self._count > self._events_kept:
            quiet = next((run for run, s in self._streams.items() if not s.watchers), None)
            if quiet is not None:
                gone = self._streams.pop(quiet)
                self._count -= len(gone.events)
                for called in gone.called:
                    self._parents.pop(called, None)
                continue
            fullest = max(self._streams.values(), key=lambda s: len(s.events))
            if self._count <= self._events_kept or not fullest.events:
                return  # as many streams as watchers
            self._drop_oldest(fullest)
