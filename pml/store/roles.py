"""The database role that PML works as: row level security must bind it (ST-6).

Superusers and roles with BYPASSRLS are not bound, so a connection that comes as one works
as `APP_ROLE` instead.
"""

from contextlib import suppress

import psycopg
from psycopg import sql

from pml.errors import StoreError
from pml.store.connection import Connection

APP_ROLE = "pml_app"
_UNBOUND = b"""
SELECT rolsuper OR rolbypassrls
FROM pg_roles
WHERE rolname = coalesce(%(role)s, current_user)
"""
_EXISTS = b"SELECT true FROM pg_roles WHERE rolname = %(role)s"
_MAY_SET = b"SELECT pg_has_role(%(role)s, 'SET')"


async def bound_role(connection: Connection) -> str | None:
    """`APP_ROLE`, created if need be, where the session's own role is not bound; else None.

    Raises:
        StoreError: the session's role is not bound and may not use or create `APP_ROLE`.
    """
    if not await _holds(connection, _UNBOUND, None):
        return None
    try:
        await _create(connection)
        usable = await _holds(connection, _MAY_SET, APP_ROLE)
    except psycopg.errors.InsufficientPrivilege:
        usable = False
    if not usable:
        message = (
            "the database role of PML_DATABASE_URL bypasses row level security and may not "
            f"create or become the role {APP_ROLE}: connect as an ordinary role that owns the "
            "database"
        )
        raise StoreError(message)
    if await _holds(connection, _UNBOUND, APP_ROLE):
        message = (
            f"the database role {APP_ROLE} bypasses row level security: "
            f"run ALTER ROLE {APP_ROLE} NOSUPERUSER NOBYPASSRLS"
        )
        raise StoreError(message)
    return APP_ROLE


async def _holds(connection: Connection, query: bytes, role: str | None) -> bool:
    cursor = await connection.execute(query, {"role": role})
    row = await cursor.fetchone()
    return row is not None and bool(row[0])


async def _create(connection: Connection) -> None:
    if await _holds(connection, _EXISTS, APP_ROLE):
        return
    # May log in: on the embedded server it does, on others it has no password to do so.
    create = sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS")
    # Another program may be faster, also one that uses another database of the server.
    with suppress(psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
        await connection.execute(create.format(sql.Identifier(APP_ROLE)))
