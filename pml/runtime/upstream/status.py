"""How a server stands, as ``pml servers`` shows it."""

from enum import StrEnum

from pml.domain.record import Record


class ServerState(StrEnum):
    """Where a connection is in its life."""

    IDLE = "idle"
    """Not connected, since nothing needed it yet or the last session has ended."""
    CONNECTING = "connecting"
    READY = "ready"
    FAILED = "failed"
    """The last attempt failed; the next use tries again."""
    BACKING_OFF = "backing_off"
    """The last attempt failed, and the next one may not start yet."""
    DISABLED = "disabled"


class ServerStatus(Record, frozen=True, kw_only=True):
    """One server."""

    name: str
    state: ServerState
    transport: str
    tools: int | None = None
    """How many it listed; None before the first listing."""
    refused: tuple[str, ...] = ()
    """Tools that are left out, each with the reason."""
    error: str | None = None
    """Why it failed, or why the last session ended."""
    last_words: tuple[str, ...] = ()
    """The end of its stderr, when it failed."""
    protocol_version: str | None = None
    server_version: str | None = None
    """Name and version as the server gives them."""
    pid: int | None = None
    connect_ms: float | None = None
    """How long the last connecting took, listing included."""
