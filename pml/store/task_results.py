"""Results of tasks in PostgreSQL (`pml.store.ports.TaskResults`)."""

from pml.store.batches import in_batches
from pml.store.database import Database
from pml.store.messages import check_page, no_result
from pml.store.ports import ResultPage
from pml.store.printable import printable
from pml.store.queries import queries

_SQL = queries("task_results")
_INTEGER_MAX = 2**31 - 2  # no text is longer; PostgreSQL counts characters in 32 bits


class PostgresTaskResults:
    """One row per task; past its TTL the row stays without the text, to say so."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(
        self, run_id: str, task_id: str, *, offset: int, limit: int, now_ms: int
    ) -> ResultPage:
        """See `TaskResults.page`."""
        check_page(offset, limit)
        parameters = {
            "run_id": printable(run_id),
            "task_id": printable(task_id),
            "offset": min(offset, _INTEGER_MAX),
            "limit": min(limit, _INTEGER_MAX),
        }
        async with self._database.connection() as connection:
            cursor = await connection.execute(_SQL["page"], parameters)
            row = await cursor.fetchone()
        if row is None:
            raise no_result(run_id, task_id, None)
        text, total_chars, expires_at_ms = row
        assert isinstance(expires_at_ms, int)
        if text is None or expires_at_ms <= now_ms:
            raise no_result(run_id, task_id, expires_at_ms)
        assert isinstance(text, str)
        assert isinstance(total_chars, int)
        return ResultPage(
            text=text, offset=offset, total_chars=total_chars, expires_at_ms=expires_at_ms
        )

    async def delete_expired(self, now_ms: int) -> int:
        """See `TaskResults.delete_expired`."""
        return await in_batches(self._database, _SQL["delete_expired"], now_ms=now_ms)
