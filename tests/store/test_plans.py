"""The statements of every call and every second find their rows by an index (design, D10).

Also where row level security adds its condition.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pml.domain.approval import ApiKey, Approval
from pml.domain.run import Run
from pml.store.database import Database
from pml.store.embedded import EmbeddedPostgres
from pml.store.queries import queries
from pml.store.supervisor.cluster import SUPERUSER

COLUMNS = {
    "runs": Run.__struct_fields__,
    "approvals": Approval.__struct_fields__,
    "api_keys": ApiKey.__struct_fields__,
}
ROW: dict[str, Any] = {
    "bodies": [b""],
    "before_ms": 1,
    "by": "",
    "epoch": 0,
    "expires_at_ms": None,
    "final": ["error"],
    "first": 0,
    "from_states": ["running"],
    "id": "r",
    "key_hash": "h",
    "kinds": ["issued"],
    "limit": 1,
    "log_expires_at_ms": 1,
    "note": "",
    "now_ms": 1,
    "offset": 0,
    "old_owner": "a",
    "owner": "b",
    "parent_run_id": "r",
    "reason": "",
    "run_id": "r",
    "runs": 1,
    "started_at_ms": None,
    "state": "refused",
    "task_id": "n1",
    "traces_kept": 1,
    "updated_at_ms": 1,
    "waiting": ["paused"],
}
BY = {
    ("run_log", "append"): ("run_pkey", "run_log_pkey", "(id = 'r'", "(run_id = 'r'"),
    ("run_log", "read"): ("run_log_pkey", "(run_id = 'r'"),
    ("run_log", "delete_expired"): ("(log_expires_at_ms <= ", "(id = run.parent_run_id)"),
    ("runs", "get"): ("(id = 'r'",),
    ("runs", "running"): ("(state = 'running'",),
    ("runs", "children"): ("(parent_run_id = 'r'",),
    ("runs", "expired"): ("(expires_at_ms <= ",),
    ("runs", "move"): ("(id = 'r'",),
    ("runs", "claim"): ("(id = 'r'",),
    ("approvals", "pending"): ("approval_user_id_asked_at_ms_id_idx",),
    ("approvals", "of_run"): ("(run_id = 'r'",),
    ("approvals", "lock_expired"): ("(expires_at_ms <= ",),
    ("approvals", "withdraw"): ("(run_id = 'r'",),
    ("approvals", "decide"): ("(id = 'r'",),
    ("audit", "recent"): ("permission_audit_log_user_id_at_ms_id_idx",),
    ("audit", "recent_of_run"): ("(run_id = 'r'",),
    ("api_keys", "find"): ("(key_hash = 'h'",),
    ("task_results", "page"): ("(run_id = 'r'", "(task_id = 'n1'"),
    ("retention", "first_beyond"): ("execution_trace_user_id_executed_at_ms_id_idx",),
    ("retention", "delete_runs"): ("(updated_at_ms < ",),
}
"""Index, or condition that it answers."""


MANY = """
INSERT INTO run (id, intent, state, reason, source_hash, owner, created_at_ms, updated_at_ms,
                 timeout_ms, program, parent_run_id, expires_at_ms, log_expires_at_ms)
  SELECT n, '', CASE WHEN n % 10 = 0 THEN 'paused' ELSE 'success' END, '', '', '', n, n, n, '',
         CASE WHEN n > 1 THEN n - 1 END, CASE WHEN n % 10 = 0 THEN n END, n
  FROM generate_series(1, 2000) AS n;
INSERT INTO run_log (run_id, seq, kind, body)
  SELECT n, 0, '', '' FROM generate_series(1, 2000) AS n;
INSERT INTO approval (id, run_id, source_hash, arguments_hmac, tools, calls, state, asked_at_ms,
                      expires_at_ms, decided_by, note)
  SELECT n, n, '', '', '[]', '{}', CASE WHEN n % 100 = 0 THEN 'pending' ELSE 'granted' END, n,
         n, '', ''
  FROM generate_series(1, 2000) AS n;
INSERT INTO api_key (id, name, role, key_hash, created_at_ms)
  SELECT n, n, 'agent', n, n FROM generate_series(1, 2000) AS n;
INSERT INTO permission_audit_log (at_ms, event, actor, run_id)
  SELECT n, 'used', '', n FROM generate_series(1, 2000) AS n;
"""


@pytest.fixture
async def filled(data_dir: Path, server: EmbeddedPostgres) -> AsyncIterator[Database]:
    """The tables hold so much, and the planner knows it, that reading it all does not pay."""
    async with Database.open(url=None, data_dir=data_dir) as database:
        async with database.connection() as connection:
            await connection.execute(MANY.encode(), prepare=False)
        admin = server.conninfo(SUPERUSER)
        async with await psycopg.AsyncConnection.connect(admin, autocommit=True) as connection:
            await connection.execute("ANALYZE")
        yield database


async def test_hot_statements_find_their_rows_by_an_index(filled: Database) -> None:
    lacking = {}
    for (noun, name), parts in BY.items():
        statement = b"EXPLAIN (COSTS OFF) " + queries(noun, COLUMNS.get(noun, ()))[name]
        async with filled.connection() as connection, connection.transaction():
            await connection.execute("SET LOCAL enable_seqscan = off")  # some tables are small
            cursor = await connection.execute(statement, ROW)
            plan = "\n".join(str(line) for (line,) in await cursor.fetchall())
        found = "\n".join(line for line in plan.splitlines() if "Filter" not in line)
        if any(part not in found for part in parts) or "Seq Scan" in plan:
            lacking[noun, name] = plan
    assert lacking == {}
