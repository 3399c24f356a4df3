"""Whether the client that asked is still there (EX-9).

A client of the older revision may lose its stream and take it up again: it has left only
when it has not come back after a while.  In the newer one a closed stream means that nobody
waits any more.
"""

import asyncio
from dataclasses import dataclass, field

from litestar.types import Scope

ATTENDANCE = "pml.attendance"
"""Key of an HTTP scope: the `Attendance` of its client."""
RESUME_S = 20.0
"""More than a client waits before it takes up a stream again (`pml.serve.http.RETRY_MS`), and
than a short loss of the network takes."""


@dataclass(slots=True, weakref_slot=True, eq=False)
class Session:
    """The streams of one session, as far as somebody comes back to them."""

    resumed: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event | None = None
    """Set when the latest resumed stream is lost."""

    def resume(self, gone: asyncio.Event) -> None:
        """A stream was taken up again; ``gone`` is set when it is lost."""
        self.gone = gone
        self.resumed.set()
        self.resumed = asyncio.Event()


@dataclass(frozen=True, slots=True)
class Attendance:
    """The client of one request."""

    gone: asyncio.Event
    """Set when the stream of the request is lost."""
    session: Session | None = None
    """None: it does not come back."""
    resume_s: float = RESUME_S

    async def left(self) -> None:
        """Return when the client has left for good."""
        gone = self.gone
        while True:
            if self.session is None:
                await gone.wait()
                return
            resumed = self.session.resumed
            await gone.wait()
            try:
                async with asyncio.timeout(self.resume_s):
                    await resumed.wait()
            except TimeoutError:
                return
            assert self.session.gone is not None
            gone = self.session.gone


def attendance_of(scope: Scope | None) -> Attendance | None:
    """Of the client of a request; None where only the transport knows (stdio)."""
    found = None if scope is None else scope.get(ATTENDANCE)
    return found if isinstance(found, Attendance) else None
