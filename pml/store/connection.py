"""One connection to PostgreSQL: its type, its settings, and how long it may take."""

import select
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from psycopg import AsyncConnection

Connection: TypeAlias = AsyncConnection[tuple[object, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Bounds of an operation.  The server's own end first, so that its reason is told."""

    statement_s: float = 15.0
    """The longest statement here is a deletion of expired rows."""
    lock_s: float = 10.0
    operation_s: float = 20.0
    """Of everything that one operation does, also when the server does not answer at all."""
    pool_s: float = 10.0
    """For a connection; a crashed embedded server is back in less than 1 s."""
    connect_s: int = 5
    recover_s: float = 15.0
    """At start, for a server that is still recovering."""


def connect_arguments(timeouts: Timeouts) -> Mapping[str, Any]:
    """How every connection of the pool is opened."""
    return {
        "autocommit": True,
        "prepare_threshold": 0,  # every statement here is used again
        "connect_timeout": timeouts.connect_s,
        "keepalives_idle": 30,
        "tcp_user_timeout": 15_000,
        "application_name": "pml",
    }


def session_options(timeouts: Timeouts, *, user_id: str, search_path: str, role: str | None) -> str:
    """Settings of the session as the parameter ``options``: they cost no round trip.

    ``RESET`` leads back to them, never to a session that sees other users' rows.
    """
    statement_ms, lock_ms = (round(s * 1000) for s in (timeouts.statement_s, timeouts.lock_s))
    settings = {
        "pml.user_id": user_id,
        "search_path": search_path,
        "statement_timeout": str(statement_ms),
        "idle_in_transaction_session_timeout": str(statement_ms),
        "lock_timeout": str(lock_ms),
    }
    if role is not None:
        settings["role"] = role
    return " ".join(f"-c {name}={_escaped(value)}" for name, value in settings.items())


def _escaped(value: str) -> str:
    return "".join(f"\\{char}" if char.isspace() or char == "\\" else char for char in value)


async def check_if_it_spoke(connection: Connection) -> None:
    """Try a connection that the server wrote to while it was idle: a farewell, as a rule.

    Raises:
        psycopg.OperationalError: the connection is lost.
    """
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if poll.poll(0):
        await connection.execute("")


def first_line(error: BaseException) -> str:
    """What a driver's error says, for one line of a message."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
