"""Remembered approvals in PostgreSQL (`pml.store.ports.Grants`)."""

from typing import Any

import msgspec
from psycopg.rows import kwargs_row

from pml.domain.approval import Grant, GrantScope
from pml.domain.record import decode, encode
from pml.store.audit import write_entries
from pml.store.audited import noted, of_grant, of_revocation
from pml.store.connection import Connection
from pml.store.database import Database
from pml.store.messages import grant_exists, no_grant
from pml.store.printable import printable
from pml.store.queries import queries

_SQL = queries("grants")


class PostgresGrants:
    """One row per grant, those too that hold no more."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def remember(self, grant: Grant) -> None:
        """See `Grants.remember`."""
        row = msgspec.structs.asdict(grant) | {
            "scope": encode(grant.scope).decode(),
            "granted_by": printable(grant.granted_by),
            "note": noted(grant.note),
        }
        async with self._database.connection() as connection, connection.transaction():
            inserted = await connection.execute(_SQL["remember"], row)
            if inserted.rowcount == 0:
                raise grant_exists(grant.id)
            await write_entries(connection, [of_grant(grant)])

    async def all(self) -> tuple[Grant, ...]:
        """See `Grants.all`."""
        async with self._database.connection() as connection:
            return await _select(connection, "all")

    async def active(self, now_ms: int) -> tuple[Grant, ...]:
        """See `Grants.active`."""
        async with self._database.connection() as connection:
            return await _select(connection, "active", now_ms=now_ms)

    async def revoke(self, grant_id: str, *, by: str, now_ms: int) -> Grant:
        """See `Grants.revoke`."""
        key = printable(grant_id)
        async with self._database.connection() as connection, connection.transaction():
            revoked = await _select(connection, "revoke", id=key, now_ms=now_ms)
            if revoked:
                await write_entries(connection, [of_revocation(revoked[0], by=by, now_ms=now_ms)])
            found = revoked or await _select(connection, "get", id=key)
        if not found:
            raise no_grant(grant_id)
        return found[0]


async def _select(connection: Connection, query: str, **parameters: object) -> tuple[Grant, ...]:
    cursor = connection.cursor(row_factory=kwargs_row(_grant))
    await cursor.execute(_SQL[query], parameters)
    return tuple(await cursor.fetchall())


def _grant(scope: str, **columns: Any) -> Grant:  # noqa: ANN401  # as the query names them
    return Grant(scope=decode(GrantScope, scope), **columns)
