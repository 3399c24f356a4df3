"""Bring the schema to the version that this program knows (ST-2).

Numbered files of ``migrations/`` are applied in order, all pending ones in one
transaction, under an advisory lock: two programs that start together, or one that dies in
the middle, leave the schema whole.  Applied files never change.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psycopg
from psycopg import sql

from pml.errors import SchemaTooNewError, StoreError
from pml.store.connection import Connection

_LOCK = 0x706D6C  # "pml"; advisory locks are per database
_FILES = Path(__file__).parent / "migrations"
_BOOKKEEPING = b"""
CREATE SCHEMA IF NOT EXISTS pml;
CREATE TABLE IF NOT EXISTS pml.schema_version (
  version    integer PRIMARY KEY,
  name       text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
);
"""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step forward."""

    version: int
    name: str
    text: bytes


@cache
def migrations() -> tuple[Migration, ...]:
    """The steps that this program knows, in order, numbered from 1 without gaps."""
    steps = []
    for number, path in enumerate(sorted(_FILES.glob("*.sql")), start=1):
        version, _, name = path.stem.partition("_")
        assert int(version) == number, f"{path.name} is not migration {number}"
        steps.append(Migration(number, name, path.read_bytes()))
    return tuple(steps)


async def migrate(
    connection: Connection,
    app_role: str | None,
    steps: tuple[Migration, ...] | None = None,
) -> None:
    """Apply what is missing; let ``app_role``, if it is not the owner, use the tables.

    Raises:
        SchemaTooNewError: the database is ahead of this program.
        StoreError: the extension pgvector is not to be had.
    """
    steps = migrations() if steps is None else steps
    if _missing(await _version(connection), steps) == 0:
        return
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        await connection.execute(_BOOKKEEPING)
        missing = _missing(await _version(connection), steps)
        await _create_vector(connection)
        found = await vector_schema(connection)
        await connection.execute(f"SET LOCAL search_path TO pml, {found}".encode())
        for step in steps[len(steps) - missing :]:
            await connection.execute(step.text)
            await connection.execute(
                "INSERT INTO schema_version (version, name) VALUES (%s, %s)",
                (step.version, step.name),
            )
        if app_role is not None:
            await _grant(connection, app_role)


def _missing(found: int, steps: tuple[Migration, ...]) -> int:
    if found > len(steps):
        raise SchemaTooNewError(found, len(steps))
    return len(steps) - found


async def _version(connection: Connection) -> int:
    cursor = await connection.execute("SELECT to_regclass('pml.schema_version') IS NOT NULL")
    row = await cursor.fetchone()
    if row is None or not row[0]:
        return 0
    cursor = await connection.execute("SELECT coalesce(max(version), 0) FROM pml.schema_version")
    row = await cursor.fetchone()
    assert row is not None
    assert isinstance(row[0], int)
    return row[0]


async def _create_vector(connection: Connection) -> None:
    try:
        await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except psycopg.Error as error:
        message = (
            f"the database lacks the extension pgvector and it cannot be created: {error}. "
            "Install pgvector on the server and run CREATE EXTENSION vector as its administrator"
        )
        raise StoreError(message) from error


async def vector_schema(connection: Connection) -> str:
    """The schema, quoted, where the extension's types are."""
    cursor = await connection.execute(
        "SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'vector'"
    )
    row = await cursor.fetchone()
    assert row is not None, "the migration creates the extension"
    return str(row[0])


async def _grant(connection: Connection, role: str) -> None:
    for statement in (
        "GRANT USAGE ON SCHEMA pml TO {}",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA pml TO {}",
        "REVOKE INSERT, UPDATE, DELETE ON pml.schema_version FROM {}",
    ):
        await connection.execute(sql.SQL(statement).format(sql.Identifier(role)))
