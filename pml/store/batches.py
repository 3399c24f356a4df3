"""Deleting much in small steps, so that nobody waits long for what a step holds."""

from pml.store.database import Database

ROWS_AT_ONCE = 1_000


async def in_batches(database: Database, query: bytes, **parameters: object) -> int:
    """Repeat a statement that changes at most ``limit`` rows until it finds fewer; how many."""
    total = 0
    while True:
        async with database.connection() as connection:
            cursor = await connection.execute(query, {**parameters, "limit": ROWS_AT_ONCE})
        total += cursor.rowcount
        if cursor.rowcount < ROWS_AT_ONCE:
            return total
