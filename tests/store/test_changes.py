"""Who follows the changes misses nothing, whatever the order of commits (ST-2, ST-4)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pml.domain.capability import Capability
from pml.domain.run import RunState
from pml.domain.tools import Tool
from pml.store.connection import Connection
from pml.store.database import Database
from pml.store.ports import Mark, Store
from pml.store.queries import queries
from tests.store.nouns import a_capability, a_program, a_run, a_structure, a_tool, a_trace


@asynccontextmanager
async def late(database: Database) -> AsyncIterator[Connection]:
    """A transaction that has begun to write (it has its number) and commits at the end."""
    async with database.connection() as connection, connection.transaction():
        await connection.execute("SELECT pg_current_xact_id()")
        yield connection


async def test_a_tool_that_is_committed_late_is_told(store: Store, database: Database) -> None:
    await store.tool_schemas.replace("fs", [a_tool("read"), a_tool("write")])
    begun = (await store.tool_schemas.changes(None)).mark
    async with late(database) as connection:
        gone = {"server": "fs", "names": ["read"]}
        await connection.execute(queries("tool_schemas")["mark_gone"], gone)
        await store.tool_schemas.replace("other", [a_tool("a", "other")])
        between = await store.tool_schemas.changes(begun)
        assert "other:a" in {tool.id for tool in between.tools}
        assert between.gone == ()
    after = await store.tool_schemas.changes(between.mark)
    assert after.gone == ("fs:write",)


async def test_a_capability_that_is_committed_late_is_told(
    store: Store, database: Database
) -> None:
    slow = await store.capabilities.keep(a_capability("slow"), now_ms=1)
    begun = (await store.capabilities.changes(None)).mark
    async with late(database) as connection:
        row = {"id": slow.id, "name": "renamed", "now_ms": 2}
        await connection.execute(queries("capabilities")["rename"], row)
        fast = await store.capabilities.keep(a_capability("fast"), now_ms=3)
        between = await store.capabilities.changes(begun)
        assert fast in between.capabilities
        assert "renamed" not in {one.name for one in between.capabilities}
    after = await store.capabilities.changes(between.mark)
    assert "renamed" in {one.name for one in after.capabilities}


async def test_a_change_that_meets_a_run_about_to_end_is_not_lost(
    store: Store, database: Database
) -> None:
    """The run ends that its capability is stale, and knows nothing of the second change."""
    await store.tool_schemas.replace("fs", [a_tool("read")])
    kept = await store.capabilities.keep(a_capability(), now_ms=1)
    await store.tool_schemas.replace("fs", [a_tool("read", description="1")])
    async with database.connection() as connection, connection.transaction():
        await connection.execute(queries("capabilities")["experience"], {"id": kept.id})
        second = asyncio.create_task(
            store.tool_schemas.replace("fs", [a_tool("read", description="2")])
        )
        while not second.done() and not await somebody_waits(connection):
            pass
        await connection.execute("UPDATE workflow_pattern SET stale = false")
    await second
    assert (await store.capabilities.get(kept.id)).stale


async def somebody_waits(connection: Connection) -> bool:
    """Whether a lock of this connection is waited for."""
    cursor = await connection.execute(
        "SELECT FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))"
    )
    return cursor.rowcount > 0


async def test_what_was_rolled_back_is_not_told(store: Store, database: Database) -> None:
    await store.tool_schemas.replace("fs", [a_tool("read")])
    begun = (await store.tool_schemas.changes(None)).mark
    async with database.connection() as connection:
        await connection.execute("BEGIN")
        gone: dict[str, object] = {"server": "fs", "names": []}
        await connection.execute(queries("tool_schemas")["mark_gone"], gone)
        await connection.execute("ROLLBACK")
    assert (await store.tool_schemas.changes(begun)).gone == ()


async def test_what_was_restored_from_another_cluster_is_told_once(
    store: Store, database: Database
) -> None:
    await store.tool_schemas.replace("fs", [a_tool("read")])
    kept = await store.capabilities.keep(a_capability(), now_ms=1)
    async with database.connection() as connection:
        for table in ("tool_schema", "workflow_pattern"):
            await connection.execute(f"UPDATE {table} SET changed_xid = '9000000000000'".encode())
    tools = await store.tool_schemas.changes(None)
    capabilities = await store.capabilities.changes(None)
    assert (tools.tools, capabilities.capabilities) == ((a_tool("read"),), (kept,))
    assert (await store.tool_schemas.changes(tools.mark)).tools == ()
    assert (await store.capabilities.changes(capabilities.mark)).capabilities == ()
    await store.tool_schemas.replace("fs", [])
    assert (await store.tool_schemas.changes(tools.mark)).gone == ("fs:read",)
    changed = await store.capabilities.changes(capabilities.mark)
    assert [one.stale for one in changed.capabilities] == [True]


async def test_servers_that_change_together_do_not_wait_in_a_circle(store: Store) -> None:
    servers = [f"s{number}" for number in range(4)]
    everything = a_structure(*(f"{server}:shared" for server in servers))
    made = [
        await store.capabilities.keep(a_capability(f"c{number}", structure=everything), now_ms=1)
        for number in range(20)
    ]

    async def listings(server: str) -> None:
        for number in range(8):
            tool = a_tool("shared", server, description=str(number))
            await store.tool_schemas.replace(server, [tool])

    await asyncio.gather(
        *(listings(server) for server in servers),
        *(finish(store, number, one.id) for number, one in enumerate(made)),
    )
    found = await store.capabilities.recent(99)
    assert sum(one.usage_count for one in found) == 20


async def test_a_follower_of_many_writers_sees_what_there_is_in_the_end(store: Store) -> None:
    tools: dict[str, Tool] = {}
    capabilities: dict[str, Capability] = {}
    marks: list[Mark | None] = [None, None]

    async def follow() -> None:
        listed = await store.tool_schemas.changes(marks[0])
        tools.update({tool.id: tool for tool in listed.tools})
        for tool_id in listed.gone:
            tools.pop(tool_id, None)
        changed = await store.capabilities.changes(marks[1])
        capabilities.update({one.id: one for one in changed.capabilities})
        marks[:] = [listed.mark, changed.mark]

    async def write(number: int) -> None:
        server = f"s{number % 3}"
        names = [f"t{number}", "shared"]
        description = str(number)
        await store.tool_schemas.replace(
            server, [a_tool(name, server, description=description) for name in names]
        )
        structure = a_structure("s0:shared", "s1:shared")
        name = f"c{number % 4}"
        kept = await store.capabilities.keep(a_capability(name, structure=structure), now_ms=1)
        await finish(store, number, kept.id)

    writers = asyncio.gather(*(write(number) for number in range(30)))
    while not writers.done():
        await follow()
    await writers
    await follow()
    assert tools == {tool.id: tool for tool in (await store.tool_schemas.changes(None)).tools}
    everything = await store.capabilities.changes(None)
    assert capabilities == {one.id: one for one in everything.capabilities}
    assert sum(one.usage_count for one in everything.capabilities) == 30


async def finish(store: Store, number: int, capability_id: str) -> None:
    run_id = f"run-{number}"
    await store.runs.create(a_run(run_id, capability_id=capability_id), a_program())
    await store.traces.finish(
        run_id,
        RunState.SUCCESS,
        reason="",
        now_ms=2,
        epoch=0,
        trace=a_trace(f"trace-{number}", run_id, capability_id=capability_id),
        results=(),
        dependencies=(),
        result_expires_at_ms=2,
    )
