"""The database role that PML works as: row level security must bind it (ST-6).

Superusers and roles with BYPASSRLS are not bound, so a connection that comes as one works
as `APP_ROLE` instead.
"""

import psycopg
from psycopg import AsyncConnection, sql

from pml.errors import StoreError

APP_ROLE = "pml_app"


async def bound_role(connection: AsyncConnection[tuple[object, ...]]) -> str | None:
    """`APP_ROLE`, created if need be, where the session's own role is not bound; else None.

    Raises:
        StoreError: the session's role is not bound and may not use or create `APP_ROLE`.
    """
    if not await _unbound(connection, None):
        return None
    try:
        await _create(connection)
    except psycopg.errors.InsufficientPrivilege as error:
        message = (
            "the database role of PML_DATABASE_URL bypasses row level security and may not "
            f"create the role {APP_ROLE}: connect as an ordinary role that owns the database"
        )
        raise StoreError(message) from error
    if await _unbound(connection, APP_ROLE):
        message = (
            f"the database role {APP_ROLE} bypasses row level security: "
            f"run ALTER ROLE {APP_ROLE} NOSUPERUSER NOBYPASSRLS"
        )
        raise StoreError(message)
    return APP_ROLE


async def _unbound(connection: AsyncConnection[tuple[object, ...]], role: str | None) -> bool:
    cursor = await connection.execute(
        "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = coalesce(%s, current_user)",
        (role,),
    )
    row = await cursor.fetchone()
    return row is not None and bool(row[0])


async def _create(connection: AsyncConnection[tuple[object, ...]]) -> None:
    cursor = await connection.execute("SELECT FROM pg_roles WHERE rolname = %s", (APP_ROLE,))
    if cursor.rowcount:
        return
    try:
        # May log in: on the embedded server it does, on others it has no password to do so.
        await connection.execute(
            sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS").format(sql.Identifier(APP_ROLE))
        )
    except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
        return  # another program was faster
