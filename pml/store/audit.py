"""The audit log in PostgreSQL (`pml.store.ports.Audit`)."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from psycopg.rows import kwargs_row

from pml.domain.approval import AuditEntry, AuditEvent
from pml.domain.record import encode
from pml.store.audited import sanitised
from pml.store.connection import Connection
from pml.store.database import Database
from pml.store.printable import printable
from pml.store.queries import queries

_SQL = queries("audit")


class PostgresAudit:
    """One row per entry; no policy lets anybody change or delete one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def write(self, entries: Sequence[AuditEntry]) -> None:
        """See `Audit.write`."""
        async with self._database.connection() as connection, connection.transaction():
            await write_entries(connection, entries)

    async def recent(self, limit: int, *, run_id: str | None = None) -> tuple[AuditEntry, ...]:
        """See `Audit.recent`."""
        query = "recent" if run_id is None else "recent_of_run"
        parameters = {"limit": limit, "run_id": printable(run_id or "")}
        async with self._database.connection() as connection:
            cursor = connection.cursor(row_factory=kwargs_row(_entry))
            await cursor.execute(_SQL[query], parameters)
            return tuple(await cursor.fetchall())


async def write_entries(connection: Connection, entries: Iterable[AuditEntry]) -> None:
    """`Audit.write`, as a part of what else happens on the connection."""
    rows = []
    for entry in map(sanitised, entries):
        row = msgspec.structs.asdict(entry)
        rows.append(row | {"event": entry.event.value, "detail": encode(entry.detail).decode()})
    await connection.cursor().executemany(_SQL["write"], rows)


def _entry(event: str, detail: str, **columns: Any) -> AuditEntry:  # noqa: ANN401  # as the query names them
    known = {**columns, "event": AuditEvent(event), "detail": msgspec.json.decode(detail)}
    return AuditEntry(**known)
