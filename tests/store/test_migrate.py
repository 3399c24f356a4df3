"""Numbered forward migrations (ST-2)."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest
from psycopg import AsyncConnection

from pml.errors import SchemaTooNewError, StoreError
from pml.store.connection import Connection
from pml.store.database import Database
from pml.store.embedded import EmbeddedPostgres
from pml.store.migrate import Migration, migrate, migrations
from pml.store.roles import bound_role


@pytest.fixture
async def empty_database(postgres_dir: Path) -> AsyncIterator[str]:
    """How a superuser connects to a database without tables."""
    server = EmbeddedPostgres(postgres_dir)
    server.start()
    name = f"empty_{secrets.token_hex(4)}"
    async with await AsyncConnection.connect(
        server.conninfo("postgres"), autocommit=True
    ) as connection:
        await bound_role(connection)  # roles are the server's, not the database's
        await connection.execute(f"CREATE DATABASE {name}".encode())
        yield server.conninfo("postgres").replace("dbname=postgres", f"dbname={name}")
        await connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
    server.close()


async def connect(conninfo: str) -> Connection:
    return await AsyncConnection.connect(conninfo, autocommit=True)


async def versions(conninfo: str) -> list[object]:
    async with await connect(conninfo) as connection:
        cursor = await connection.execute("SELECT version FROM pml.schema_version ORDER BY version")
        return [row[0] for row in await cursor.fetchall()]


async def test_a_second_time_does_nothing(empty_database: str) -> None:
    for _ in range(2):
        async with await connect(empty_database) as connection:
            await migrate(connection, "pml_app")
    assert await versions(empty_database) == [step.version for step in migrations()]


async def test_programs_that_start_together_apply_each_step_once(empty_database: str) -> None:
    async def start() -> None:
        async with await connect(empty_database) as connection:
            await migrate(connection, "pml_app")

    await asyncio.gather(*(start() for _ in range(6)))
    assert await versions(empty_database) == [step.version for step in migrations()]


async def test_a_step_that_fails_leaves_the_schema_as_it_was(empty_database: str) -> None:
    steps = migrations()
    broken = Migration(len(steps) + 1, "broken", b"CREATE TABLE half (); SELECT 1 / 0")
    async with await connect(empty_database) as connection:
        await migrate(connection, "pml_app")
        with pytest.raises(psycopg.errors.DivisionByZero):
            await migrate(connection, "pml_app", (*steps, broken))
        cursor = await connection.execute("SELECT to_regclass('pml.half')")
        assert await cursor.fetchone() == (None,)
    assert await versions(empty_database) == [step.version for step in steps]


async def test_a_new_step_is_applied_to_an_old_database(empty_database: str) -> None:
    steps = migrations()
    new = Migration(len(steps) + 1, "new", b"CREATE TABLE fresh (user_id text)")
    async with await connect(empty_database) as connection:
        await migrate(connection, "pml_app")
        await migrate(connection, "pml_app", (*steps, new))
        cursor = await connection.execute(
            "SELECT has_table_privilege('pml_app', 'pml.fresh', 'INSERT')"
        )
        assert await cursor.fetchone() == (True,)
    assert await versions(empty_database) == [*range(1, len(steps) + 2)]


@pytest.mark.parametrize("bound", [False, True], ids=["superuser", "ordinary owner"])
async def test_what_version_2_held_is_kept(empty_database: str, bound: bool) -> None:
    """Row level security hides all rows from the migration that an ordinary owner runs."""
    steps = migrations()
    conninfo = await owned(empty_database) if bound else empty_database
    async with await connect(conninfo) as connection:
        await migrate(connection, None, steps[:2])
        await connection.execute(VERSION_2)
        await connection.execute("RESET pml.user_id")
        await migrate(connection, None, steps[:3])
        await connection.execute("SET pml.user_id = 'someone'")
        cursor = await connection.execute(
            "SELECT created_at_ms, updated_at_ms, dag_structure::text, parameters::text, tools,"
            " instrumented FROM pml.workflow_pattern"
        )
        (pattern,) = await cursor.fetchall()
        assert pattern[:2] == (1_000_500, 2_000_000)
        assert pattern[2:] == ('{"learning": {}, "static_structure": {}}', "[]", [], "")
        cursor = await connection.execute(
            "SELECT run.capability_id, run.parent_run_id, trace.capability_id, tool.name"
            " FROM pml.run JOIN pml.execution_trace AS trace ON trace.run_id = run.id"
            " CROSS JOIN pml.tool_schema AS tool"
        )
        assert await cursor.fetchall() == [(None, None, "c", "read")]
    assert await versions(empty_database) == [1, 2, 3]


@pytest.mark.parametrize("bound", [False, True], ids=["superuser", "ordinary owner"])
async def test_what_version_4_held_is_kept(empty_database: str, bound: bool) -> None:
    """Runs may be taken over, tools are accepted as they are, the audit log outlives its runs."""
    conninfo = await owned(empty_database) if bound else empty_database
    async with await connect(conninfo) as connection:
        await migrate(connection, None, migrations()[:2])
        await connection.execute(VERSION_2)
        await migrate(connection, None, migrations()[:4])
        await connection.execute("SET pml.user_id = 'someone'")
        await connection.execute(
            "INSERT INTO pml.permission_audit_log (user_id, at_ms, event, actor, run_id)"
            " VALUES ('someone', 1, 'granted', 'ada', 'r')"
        )
        await connection.execute("RESET pml.user_id")
        await migrate(connection, None)
        await connection.execute("SET pml.user_id = 'someone'")
        cursor = await connection.execute(
            "SELECT epoch, started_at_ms, per_layer, dry_run, expires_at_ms, accepted_hash"
            " FROM pml.run CROSS JOIN pml.tool_schema"
        )
        assert await cursor.fetchall() == [(0, None, False, False, None, None)]
        await connection.execute("DELETE FROM pml.run")
        cursor = await connection.execute("SELECT actor, run_id FROM pml.permission_audit_log")
        assert await cursor.fetchall() == [("ada", "r")]


async def owned(conninfo: str) -> str:
    """How an ordinary role connects that owns the database from now on."""
    role = f"owner_{secrets.token_hex(4)}"
    async with await connect(conninfo) as connection:
        database = connection.info.dbname
        await connection.execute("CREATE EXTENSION vector")
        await connection.execute(f"CREATE ROLE {role} LOGIN".encode())
        await connection.execute(f"ALTER DATABASE {database} OWNER TO {role}".encode())
    return conninfo.replace("user=postgres", f"user={role}")


VERSION_2 = b"""
SET search_path TO pml, public;
SET pml.user_id = 'someone';
INSERT INTO tool_server (server) VALUES ('fs');
INSERT INTO tool_schema (server, name, position, description, input_schema, annotations,
                         schema_hash, embedding)
VALUES ('fs', 'read', 0, '', '{}', '{}', '', '[1,2]');
INSERT INTO workflow_pattern (pattern_id, name, source, canonical_hash, dag_structure, created_at,
                              updated_at)
VALUES ('c', 'c', 'code', 'h', '{"static_structure": {}, "learning": {}}',
        to_timestamp(1000.5), to_timestamp(2000));
INSERT INTO run (id, intent, state, reason, source_hash, owner, created_at_ms, updated_at_ms,
                 timeout_ms)
VALUES ('r', '', 'running', '', '', '', 0, 0, 0);
INSERT INTO execution_trace (id, run_id, capability_id, intent_text, initial_context,
                             executed_at_ms, success, state, duration_ms, executed_path,
                             decisions, task_results, priority, exploratory, dry_run)
VALUES ('t', 'r', 'c', '', '{}', 0, true, '', 0, '{}', '[]', '[]', 1, false, false);
RESET search_path;
"""


async def test_an_older_program_refuses_a_newer_schema(empty_database: str, tmp_path: Path) -> None:
    async with await connect(empty_database) as connection:
        await migrate(connection, "pml_app")
        await connection.execute("INSERT INTO pml.schema_version VALUES (999, 'of tomorrow')")
    with pytest.raises(SchemaTooNewError, match=r"schema version 999, .* update PML") as caught:
        async with Database.open(url=empty_database, data_dir=tmp_path):
            pass
    assert (caught.value.found, caught.value.known) == (999, len(migrations()))


async def test_a_database_without_pgvector_is_explained(empty_database: str) -> None:
    async with await connect(empty_database) as connection:
        cursor = await connection.execute("SELECT current_database()")
        row = await cursor.fetchone()
        assert row is not None
        # Who may not create the extension meets what a server without it says.
        await connection.execute(f"GRANT CREATE ON DATABASE {row[0]} TO pml_app".encode())
    async with await connect(empty_database.replace("user=postgres", "user=pml_app")) as bound:
        with pytest.raises(StoreError, match="run CREATE EXTENSION vector as its administrator"):
            await migrate(bound, None)
