"""Streams of the older revision that a client may lose and take up again (MCP-5).

The SDK numbers the streams of a session by request, so every session gets a store of its
own: an event of one session is never told in another.  All of them together keep a bounded
number of bytes, the oldest events going first; who asks for what is gone gets nothing, and
can still ask how the run stands.
"""

from collections import OrderedDict
from typing import Any

from mcp.server import Server
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCResponse

BYTES_KEPT = 64_000_000
RETRY_MS = 500
"""When a client that lost its stream comes back."""


class Budget:
    """The events of all sessions, oldest first.

    Invariant: together they have at most ``limit`` bytes.
    """

    def __init__(self, limit: int = BYTES_KEPT) -> None:
        self._limit = limit
        self._used = 0
        self._kept: OrderedDict[tuple[int, int], tuple[SessionEvents, int]] = OrderedDict()

    def take(self, owner: "SessionEvents", number: int, size: int) -> None:
        """Count an event, and let go of older ones for it."""
        self._kept[id(owner), number] = (owner, size)
        self._used += size
        while self._used > self._limit and self._kept:
            (_, oldest), (its_owner, its_size) = self._kept.popitem(last=False)
            self._used -= its_size
            its_owner.forget(oldest)


class SessionEvents(EventStore):
    """What was sent in the streams of one session, as long as it is kept."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._events: OrderedDict[int, tuple[str, JSONRPCMessage | None]] = OrderedDict()
        self._number = 0

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Keep an event; its id."""
        self._number += 1
        self._events[self._number] = (stream_id, message)
        size = 0 if message is None else len(message.model_dump_json(by_alias=True))
        self._budget.take(self, self._number, size + _OVERHEAD_BYTES)
        return str(self._number)

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        """Send what followed in the stream of an event; None: nothing more will follow."""
        number = int(last_event_id) if last_event_id.isdecimal() else 0
        known = self._events.get(number)
        if known is None:
            return None
        stream_id, answered = known[0], False
        later = [n for n, (stream, _) in self._events.items() if n > number and stream == stream_id]
        for n in later:
            message = self._events[n][1] if n in self._events else None
            if message is not None:
                await send_callback(EventMessage(message, str(n)))
                answered = isinstance(message, JSONRPCResponse | JSONRPCError)
        return None if answered else stream_id

    def forget(self, number: int) -> None:
        """The budget needs the room."""
        self._events.pop(number, None)


_OVERHEAD_BYTES = 200
"""Of an event without its message."""


class ResumableSessions(StreamableHTTPSessionManager):
    """The SDK's sessions, each with an event store of its own."""

    def __init__(self, app: Server[Any], **options: Any) -> None:  # noqa: ANN401  # the SDK's own
        self._budget = Budget()
        super().__init__(app, retry_interval=RETRY_MS, **options)

    @property
    def event_store(self) -> EventStore | None:
        """A new one each time: the manager asks once for each session that it opens."""
        return SessionEvents(self._budget)

    @event_store.setter
    def event_store(self, store: EventStore | None) -> None:
        assert store is None
