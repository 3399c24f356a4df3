"""API keys in PostgreSQL (`pml.store.ports.ApiKeys`)."""

from typing import Any

import msgspec
from psycopg.rows import kwargs_row

from pml.domain.approval import ApiKey, Role
from pml.store.audit import write_entries
from pml.store.audited import of_key
from pml.store.connection import Connection
from pml.store.database import Database
from pml.store.messages import key_exists, no_key
from pml.store.printable import printable
from pml.store.queries import queries

_SQL = queries("api_keys", ApiKey.__struct_fields__)


class PostgresApiKeys:
    """One row per key; of those that are not revoked, names are unique."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def create(self, key: ApiKey, *, key_hash: str, by: str = "local") -> None:
        """See `ApiKeys.create`."""
        row = msgspec.structs.asdict(key) | {
            "name": printable(key.name),
            "role": key.role.value,
            "key_hash": key_hash,
        }
        async with self._database.connection() as connection, connection.transaction():
            cursor = await connection.execute(_SQL["create"], row)
            if cursor.rowcount == 0:
                raise key_exists(key)
            await write_entries(connection, [of_key(key, by=by)])

    async def find(self, key_hash: str) -> ApiKey | None:
        """See `ApiKeys.find`."""
        found = await self._select("find", key_hash=printable(key_hash))
        return found[0] if found else None

    async def used(self, key_id: str, *, now_ms: int) -> None:
        """See `ApiKeys.used`."""
        row = {"id": printable(key_id), "now_ms": now_ms}
        async with self._database.connection() as connection:
            await connection.execute(_SQL["used"], row)

    async def all(self) -> tuple[ApiKey, ...]:
        """See `ApiKeys.all`."""
        return await self._select("all")

    async def revoke(self, key_id: str, *, now_ms: int, by: str = "local") -> ApiKey:
        """See `ApiKeys.revoke`."""
        row = {"id": printable(key_id), "now_ms": now_ms}
        async with self._database.connection() as connection, connection.transaction():
            if revoked := await _select(connection, "revoke", row):
                await write_entries(connection, [of_key(revoked[0], by=by)])
                return revoked[0]
            if known := await _select(connection, "get", row):
                return known[0]
        raise no_key(key_id)

    async def _select(self, query: str, **parameters: object) -> tuple[ApiKey, ...]:
        async with self._database.connection() as connection:
            return await _select(connection, query, parameters)


async def _select(
    connection: Connection, query: str, parameters: dict[str, Any]
) -> tuple[ApiKey, ...]:
    cursor = connection.cursor(row_factory=kwargs_row(_key))
    await cursor.execute(_SQL[query], parameters)
    return tuple(await cursor.fetchall())


def _key(role: str, **columns: Any) -> ApiKey:  # noqa: ANN401  # as the query names them
    return ApiKey(role=Role(role), **columns)
