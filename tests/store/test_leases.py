"""Leases by the database's clock, whatever the clocks of the processes say (OP-4)."""

from pml.store.database import Database
from pml.store.ports import Store
from tests.store.nouns import a_program, a_run


async def set_back(database: Database, span: str) -> None:
    """Let time pass for every lease."""
    async with database.connection() as connection:
        await connection.execute(
            "UPDATE lease SET expires_at = expires_at - %(span)s::interval", {"span": span}
        )


async def test_a_lease_is_over_when_its_time_has_passed(store: Store, database: Database) -> None:
    await store.runs.create(a_run(owner="a"), a_program())
    await store.leases.renew("a", ttl_s=6.5)
    await set_back(database, "5 s")
    assert await store.runs.orphans(lambda _: True) == ()
    await set_back(database, "2 s")
    assert [run.id for run in await store.runs.orphans(lambda _: True)] == ["run-1"]
    await store.leases.renew("a", ttl_s=6.5)
    assert await store.runs.orphans(lambda _: True) == ()


async def test_a_lease_is_deleted_an_hour_after_it_was_over(
    store: Store, database: Database
) -> None:
    for owner in "ab":
        await store.leases.renew(owner, ttl_s=60)
    await set_back(database, "50 min")
    await store.leases.renew("b", ttl_s=60)
    await set_back(database, "12 min")
    collected = await store.retention.collect(now_ms=1, traces_kept=0, trace_age_ms=0)
    assert collected.leases == 1
    async with database.connection() as connection:
        cursor = await connection.execute("SELECT owner FROM lease")
        assert await cursor.fetchall() == [("b",)]
