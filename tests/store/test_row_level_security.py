"""No user sees or touches another's rows, in any table (ST-6)."""

from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from pml.errors import StoreError
from pml.store.database import Database

# One valid row per table, without user_id, in the order of the foreign keys.
ROWS = {
    "tool_server": "(server) VALUES ('fs')",
    "tool_schema": "(server, name, position, description, input_schema, annotations, schema_hash)"
    " VALUES ('fs', 'read', 0, '', '{}', '{}', '')",
    "tool_dependency": "(source, target, edge_type, edge_source, weight, count)"
    " VALUES ('a', 'b', 'sequence', 'observed', 0.5, 1)",
    "workflow_pattern": "(pattern_id, name, source, canonical_hash, dag_structure, created_at_ms,"
    " updated_at_ms) VALUES ('c', 'c', 'code', 'h', '{}', 0, 0)",
    "capability_dependency": "(source, target, edge_type, edge_source, weight, count)"
    " VALUES ('c', 'c', 'contains', 'inferred', 0.8, 1)",
    "past_intent": "(capability_id, intent_key, intent, success_count, failure_count,"
    " last_success, last_at_ms) VALUES ('c', '', '', 1, 0, true, 0)",
    "embedding": "(encoder, key_hash, key, text_hash, vector) VALUES ('e', '', '', '', '[1,2]')",
    "run": "(id, intent, state, reason, source_hash, owner, created_at_ms, updated_at_ms,"
    " timeout_ms) VALUES ('r', '', 'running', '', '', '', 0, 0, 0)",
    "lease": "(owner, expires_at) VALUES ('o', now())",
    "approval": "(id, run_id, source_hash, arguments_hmac, tools, calls, state, asked_at_ms,"
    " expires_at_ms, decided_by, note)"
    " VALUES ('a', 'r', '', '', '[]', '{}', 'pending', 0, 1, '', '')",
    "approval_grant": "(id, scope, granted_at_ms, granted_by, note) VALUES ('g', '{}', 0, '', '')",
    "api_key": "(id, name, role, key_hash, created_at_ms) VALUES ('k', 'k', 'agent', 'h', 0)",
    "run_log": "(run_id, seq, kind, body) VALUES ('r', 0, 'issued', '')",
    "execution_trace": "(id, run_id, capability_id, intent_text, initial_context, executed_at_ms,"
    " success, state, duration_ms, executed_path, decisions, task_results, priority, exploratory,"
    " dry_run) VALUES ('t', 'r', 'c', '', '{}', 0, true, '', 0, '{}', '[]', '[]', 1, false, false)",
    "task_result": "(run_id, task_id, result, expires_at_ms) VALUES ('r', 'n1', '1', 0)",
    "imported_trace": "(id, source, executed_at_ms, trace, imported_at_ms)"
    " VALUES ('t', 's', 0, '{}', 0)",
    "imported_tool": "(source, tool_id, tool) VALUES ('s', 'fs:read', '{}')",
    "permission_audit_log": "(at_ms, event, actor, run_id, capability_id)"
    " VALUES (0, 'granted', 'someone', 'r', 'c')",
    "shgat_params": "(graph_hash, params) VALUES ('', '')",
    "thompson_arm": "(tool, updated_at_ms) VALUES ('fs:read', 0)",
    "mock_registry": "(id, tool, schema_hash, response, origin)"
    " VALUES ('m', 'fs:read', '', '1', 'observed')",
}


@pytest.fixture
async def others(postgres_dir: Path, database: Database) -> AsyncIterator[Database]:
    """The database of another user."""
    async with Database.open(
        url=None, data_dir=postgres_dir, user_id=f"{database.user_id}-other"
    ) as other:
        yield other


async def insert_a_row_everywhere(database: Database) -> None:
    async with database.connection() as connection:
        for table, row in ROWS.items():
            await connection.execute(f"INSERT INTO {table} {row}".encode())


async def count(database: Database, table: str) -> int:
    async with database.connection() as connection:
        cursor = await connection.execute(sql.SQL("SELECT FROM {}").format(sql.Identifier(table)))
        return cursor.rowcount


async def test_every_table_but_the_schemas_version_is_guarded(database: Database) -> None:
    async with database.connection() as connection:
        cursor = await connection.execute(
            "SELECT relname, relrowsecurity AND relforcerowsecurity FROM pg_class"
            " WHERE relnamespace = 'pml'::regnamespace AND relkind IN ('r', 'p', 'v', 'm')"
        )
        guarded = {str(name): forced for name, forced in await cursor.fetchall()}
    assert not guarded.pop("schema_version")
    assert set(guarded) == set(ROWS)
    assert all(guarded.values())


async def test_every_key_starts_with_the_user(database: Database) -> None:
    async with database.connection() as connection:
        cursor = await connection.execute(
            "SELECT conrelid::regclass::text, contype, attname FROM pg_constraint"
            " JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]"
            " WHERE connamespace = 'pml'::regnamespace AND contype IN ('p', 'f', 'u')"
            " AND conrelid <> 'schema_version'::regclass"
        )
        keys = await cursor.fetchall()
    assert len(keys) > len(ROWS)
    assert {name for _, _, name in keys} == {"user_id"}


async def test_a_user_sees_only_rows_of_their_own(database: Database, others: Database) -> None:
    await insert_a_row_everywhere(others)
    assert {table: await count(database, table) for table in ROWS} == dict.fromkeys(ROWS, 0)
    await insert_a_row_everywhere(database)
    assert {table: await count(database, table) for table in ROWS} == dict.fromkeys(ROWS, 1)


@pytest.mark.parametrize("table", ROWS)
async def test_a_user_changes_only_rows_of_their_own(
    database: Database, others: Database, table: str
) -> None:
    await insert_a_row_everywhere(others)
    name = sql.Identifier(table)
    async with database.connection() as connection:
        changed = await connection.execute(sql.SQL("UPDATE {} SET user_id = user_id").format(name))
        deleted = await connection.execute(sql.SQL("DELETE FROM {}").format(name))
    assert (changed.rowcount, deleted.rowcount) == (0, 0)
    assert await count(others, table) == 1


@pytest.mark.parametrize("table", [table for table in ROWS if table != "permission_audit_log"])
async def test_a_user_writes_no_row_for_another(
    database: Database, others: Database, table: str
) -> None:
    await insert_a_row_everywhere(database)
    name, other = sql.Identifier(table), sql.Literal(others.user_id)
    with pytest.raises(StoreError, match="violates row-level security policy"):
        async with database.connection() as connection:
            await connection.execute(sql.SQL("UPDATE {} SET user_id = {}").format(name, other))


async def test_the_audit_log_is_append_only(database: Database, others: Database) -> None:
    """HIL-3: nobody changes or deletes an entry, or writes one for another user."""
    await insert_a_row_everywhere(database)
    async with database.connection() as connection:
        for statement in (
            "UPDATE permission_audit_log SET actor = 'nobody'",
            "DELETE FROM permission_audit_log",
        ):
            changed = await connection.execute(statement.encode())
            assert changed.rowcount == 0
        cursor = await connection.execute("SELECT actor FROM permission_audit_log")
        assert await cursor.fetchall() == [("someone",)]
    theirs = sql.SQL(
        "INSERT INTO permission_audit_log (user_id, at_ms, event, actor)"
        " VALUES ({}, 0, 'granted', 'someone')"
    ).format(sql.Literal(others.user_id))
    with pytest.raises(StoreError, match="violates row-level security policy"):
        async with database.connection() as connection:
            await connection.execute(theirs)


async def test_a_child_row_cannot_point_to_another_users_parent(
    database: Database, others: Database
) -> None:
    await insert_a_row_everywhere(others)
    with pytest.raises(StoreError, match="violates foreign key"):
        async with database.connection() as connection:
            await connection.execute(f"INSERT INTO run_log {ROWS['run_log']}".encode())


async def test_a_session_without_a_user_sees_nothing(database: Database) -> None:
    await insert_a_row_everywhere(database)
    async with database.connection() as connection:
        await connection.execute("SET pml.user_id = ''")
        cursor = await connection.execute("SELECT FROM run")
        assert cursor.rowcount == 0
        await connection.execute("RESET pml.user_id")
        cursor = await connection.execute("SELECT FROM run")
        assert cursor.rowcount == 1


async def test_the_role_is_bound_and_owns_nothing(database: Database) -> None:
    async with database.connection() as connection:
        cursor = await connection.execute(
            "SELECT rolsuper, rolbypassrls, rolcreaterole FROM pg_roles"
            " WHERE rolname IN (current_user, session_user)"
        )
        assert await cursor.fetchall() == [(False, False, False)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await connection.execute("ALTER TABLE run DISABLE ROW LEVEL SECURITY")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await connection.execute("DELETE FROM schema_version")
