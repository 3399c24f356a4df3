"""The way to the database: by URL or embedded, lost and found again (ST-1, ST-6, OP-4)."""

import asyncio
import contextlib
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

import pytest
from psycopg import AsyncConnection
from psycopg.conninfo import make_conninfo

from pml.errors import StoreError
from pml.store.connection import Timeouts
from pml.store.database import Database
from pml.store.embedded import EmbeddedPostgres
from tests.store.clusters import ended, parent, postmaster, until

IMPATIENT = Timeouts(operation_s=4.0, pool_s=2.0, connect_s=2, recover_s=1.0)
"""Enough for what works on a busy machine; what does not is tried with it a few times only."""
OVER_S = 30.0
RECOVERING = Path(__file__).parents[1] / "fixtures" / "recovering_postgres.py"


async def count_runs(database: Database) -> object:
    async with database.connection() as connection:
        row = await (await connection.execute("SELECT count(*) FROM run")).fetchone()
    assert row is not None
    return row[0]


async def whoami(database: Database) -> tuple[object, ...] | None:
    async with database.connection() as connection:
        cursor = await connection.execute("SELECT current_user::text, session_user::text")
        return await cursor.fetchone()


@pytest.fixture
async def admin(postgres_dir: Path) -> AsyncIterator[str]:
    """How a superuser connects to the session's server."""
    server = EmbeddedPostgres(postgres_dir)
    server.start()
    yield server.conninfo("postgres")
    server.close()


async def run_sql(conninfo: str, *statements: str) -> None:
    async with await AsyncConnection.connect(conninfo, autocommit=True) as connection:
        for statement in statements:
            await connection.execute(statement.encode())


# As whom ---------------------------------------------------------------------------------------


async def test_a_superusers_url_works_as_a_bound_role(admin: str, tmp_path: Path) -> None:
    async with Database.open(url=admin, data_dir=tmp_path) as database:
        assert await whoami(database) == ("pml_app", "postgres")
        async with database.connection() as connection:
            await connection.execute("RESET ROLE")
        assert await whoami(database) == ("pml_app", "postgres")
    assert os.listdir(tmp_path) == []  # noqa: PTH208  # nothing embedded was started


async def test_an_ordinary_owner_is_bound_as_well(admin: str, tmp_path: Path) -> None:
    name = f"owner_{secrets.token_hex(4)}"
    await run_sql(admin, f"CREATE ROLE {name} LOGIN", f"CREATE DATABASE {name} OWNER {name}")
    owned = admin.replace("dbname=postgres", f"dbname={name}")
    await run_sql(owned, "CREATE SCHEMA extensions", "CREATE EXTENSION vector SCHEMA extensions")
    await run_sql(owned, f"GRANT USAGE ON SCHEMA extensions TO {name}")
    url = owned.replace("user=postgres", f"user={name}")
    async with (
        Database.open(url=url, data_dir=tmp_path, user_id="a") as first,
        Database.open(url=url, data_dir=tmp_path, user_id="b") as second,
    ):
        assert await whoami(first) == (name, name)
        async with first.connection() as connection:
            await connection.execute("INSERT INTO tool_server (server) VALUES ('fs')")
            await connection.execute("SELECT '[1,2]'::vector")
        async with second.connection() as connection:
            assert (await connection.execute("SELECT FROM tool_server")).rowcount == 0
    await run_sql(admin, f"DROP DATABASE {name} WITH (FORCE)", f"DROP ROLE {name}")


async def test_a_role_that_bypasses_row_level_security_is_refused(
    admin: str, tmp_path: Path
) -> None:
    name = f"bypass_{secrets.token_hex(4)}"
    await run_sql(admin, f"CREATE ROLE {name} LOGIN BYPASSRLS")
    url = admin.replace("user=postgres", f"user={name}")
    with pytest.raises(StoreError, match="connect as an ordinary role that owns the database"):
        async with Database.open(url=url, data_dir=tmp_path):
            pass
    await run_sql(admin, f"DROP ROLE {name}")


@pytest.mark.parametrize("user_id", ["a b\\c'd", "tab\there", "é⊥", "=,-c role=postgres"])
async def test_any_user_id_is_one_user(postgres_dir: Path, user_id: str) -> None:
    async with Database.open(url=None, data_dir=postgres_dir, user_id=user_id) as database:
        async with database.connection() as connection:
            cursor = await connection.execute("SELECT current_setting('pml.user_id')")
            assert await cursor.fetchone() == (user_id,)
        assert await whoami(database) == ("pml_app", "pml_app")


@pytest.mark.parametrize("user_id", ["", "a\0b"])
async def test_some_texts_are_no_user(postgres_dir: Path, user_id: str) -> None:
    with pytest.raises(ValueError, match="is no user id"):
        async with Database.open(url=None, data_dir=postgres_dir, user_id=user_id):
            pass


# Out of reach ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql://u:hidden@127.0.0.1:1/db", "(?s)cannot be used: .*refused"),
        ("host=/nowhere dbname=x", "cannot be used: .*No such file"),
        ("no url", "PML_DATABASE_URL is not the URL of a PostgreSQL"),
    ],
)
async def test_a_server_that_is_not_there_is_explained(
    tmp_path: Path, url: str, message: str
) -> None:
    with pytest.raises(StoreError, match=message) as caught:
        async with Database.open(url=url, data_dir=tmp_path, timeouts=IMPATIENT):
            pass
    assert "hidden" not in str(caught.value)


async def test_a_server_that_still_recovers_is_waited_for(admin: str, tmp_path: Path) -> None:
    """OP-4: as after a crash, the first connections are told that it is starting up."""
    async with (
        asyncio.timeout(OVER_S),
        recovering(admin, refusals=5) as url,
        Database.open(url=url, data_dir=tmp_path) as database,
    ):
        assert await count_runs(database) == 0


async def test_a_server_that_recovers_for_too_long_is_explained(admin: str, tmp_path: Path) -> None:
    async with recovering(admin, refusals=10_000) as url, asyncio.timeout(OVER_S):
        with pytest.raises(StoreError, match=r"cannot be used: .*is starting up"):
            async with Database.open(url=url, data_dir=tmp_path, timeouts=IMPATIENT):
                pass


@contextlib.asynccontextmanager
async def recovering(conninfo: str, *, refusals: int) -> AsyncIterator[str]:
    """A way to a server over one, in another process, that turns the first connections away."""
    seen_from_there = conninfo.replace("/proc/self/", f"/proc/{os.getpid()}/")
    arguments = (str(RECOVERING), seen_from_there, str(refusals))
    door = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert door.stdout is not None
        port = int(await asyncio.wait_for(door.stdout.readline(), OVER_S))
        yield make_conninfo(conninfo, host="127.0.0.1", port=port)
    finally:
        door.kill()
        await door.wait()


async def test_a_killed_embedded_server_costs_no_error_once_it_is_back(data_dir: Path) -> None:
    server = EmbeddedPostgres(data_dir)
    async with Database.open(url=None, data_dir=data_dir) as database:
        await asyncio.gather(*(count_runs(database) for _ in range(8)))  # several connections
        for kill_supervisor in (False, True, False):
            pid = postmaster(server)
            if kill_supervisor:  # then the next operation has to start the server
                os.kill(parent(pid), signal.SIGKILL)
                await asyncio.to_thread(until, partial(ended, pid), "the server is gone")
            else:
                os.kill(pid, signal.SIGKILL)
                await asyncio.to_thread(until, partial(replaced, server, pid), "another one runs")
            async with asyncio.timeout(OVER_S):
                counts = await asyncio.gather(*(count_runs(database) for _ in range(8)))
            assert counts == [0] * 8


def replaced(server: EmbeddedPostgres, pid: int) -> bool:
    """Whether another server runs, so that the children of the old one are gone."""
    try:
        lines = server.layout.pid_file.read_text().splitlines()
    except FileNotFoundError:
        return False
    return len(lines) > 0 and lines[0] != str(pid)


async def test_a_lost_server_is_an_error_in_time_and_is_found_again(data_dir: Path) -> None:
    server = EmbeddedPostgres(data_dir)
    server.start()
    url = server.conninfo("postgres")
    async with Database.open(url=url, data_dir=data_dir, timeouts=IMPATIENT) as database:
        await count_runs(database)
        pid = postmaster(server)
        os.kill(parent(pid), signal.SIGTERM)  # nobody starts it again: this is no embedded one
        await asyncio.to_thread(until, lambda: ended(pid), "the server is gone")
        for _ in range(2):
            async with asyncio.timeout(OVER_S):
                with pytest.raises(StoreError, match=r"cannot be reached: .*connection"):
                    await count_runs(database)
        await asyncio.to_thread(server.start)
        async with asyncio.timeout(OVER_S):
            assert await eventually(database) == 0
    server.close()


async def eventually(database: Database) -> object:
    while True:
        with contextlib.suppress(StoreError):
            return await count_runs(database)


async def test_a_connection_that_dies_in_an_operation_is_an_error(data_dir: Path) -> None:
    server = EmbeddedPostgres(data_dir)
    async with Database.open(url=None, data_dir=data_dir) as database:
        with pytest.raises(StoreError, match="was lost"):
            await sleep_while(database, lambda _: os.kill(postmaster(server), signal.SIGKILL))
        async with asyncio.timeout(OVER_S):
            assert await eventually(database) == 0


async def test_a_server_that_does_not_answer_is_an_error_in_time(data_dir: Path) -> None:
    async with Database.open(url=None, data_dir=data_dir, timeouts=IMPATIENT) as database:
        stopped: list[int] = []

        def stop(pid: int) -> None:
            stopped.append(pid)
            os.kill(pid, signal.SIGSTOP)

        try:
            async with asyncio.timeout(OVER_S):
                with pytest.raises(StoreError, match="did not answer within 4 s"):
                    await sleep_while(database, stop)
        finally:
            os.kill(stopped[0], signal.SIGCONT)
        async with asyncio.timeout(OVER_S):
            assert await eventually(database) == 0


async def sleep_while(database: Database, happens: Callable[[int], None]) -> None:
    """Do something to the server process of a connection while a statement runs there."""
    async with database.connection() as connection:
        happens(connection.info.backend_pid)
        await connection.execute("SELECT pg_sleep(60)")


async def test_a_statement_that_takes_too_long_is_refused(data_dir: Path) -> None:
    short = Timeouts(statement_s=0.5)
    async with Database.open(url=None, data_dir=data_dir, timeouts=short) as database:
        with pytest.raises(StoreError, match=r"refused: .*statement timeout"):
            await sleep_while(database, lambda _: None)
        assert await count_runs(database) == 0


async def test_a_full_disk_is_named(database: Database) -> None:
    with pytest.raises(StoreError, match="is full: no space; free some space"):
        async with database.connection() as connection:
            await connection.execute(
                "DO $$ BEGIN RAISE 'no space' USING ERRCODE = 'disk_full'; END $$"
            )


async def test_a_cancelled_operation_leaves_the_pool_whole(database: Database) -> None:
    sleeps = [sleep_while(database, lambda _: None) for _ in range(9)]
    tasks = [asyncio.create_task(sleep) for sleep in sleeps]
    await wait_for_sleepers(database, len(tasks))
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    async with asyncio.timeout(OVER_S):
        assert await asyncio.gather(*(count_runs(database) for _ in range(10))) == [0] * 10


async def wait_for_sleepers(database: Database, wanted: int) -> None:
    """Wait until so many connections of the user sleep; the pool has one more."""
    async with asyncio.timeout(OVER_S):
        while True:
            async with database.connection() as connection:
                cursor = await connection.execute(
                    "SELECT FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)'"
                    " AND state = 'active'"
                )
            if cursor.rowcount >= wanted:
                return
