"""What is kept no longer, in PostgreSQL (`pml.store.ports.Retention`)."""

from pml.store.batches import in_batches
from pml.store.database import Database
from pml.store.messages import check_retention
from pml.store.ports import Collected, RunLog, TaskResults
from pml.store.queries import queries

_SQL = queries("retention")


class PostgresRetention:
    """Every statement deletes a bounded number of rows and is a transaction of its own."""

    def __init__(self, database: Database, run_log: RunLog, task_results: TaskResults) -> None:
        self._database = database
        self._run_log = run_log
        self._task_results = task_results

    async def collect(self, *, now_ms: int, traces_kept: int, trace_age_ms: int) -> Collected:
        """See `Retention.collect`."""
        check_retention(traces_kept, trace_age_ms)
        results = await self._task_results.delete_expired(now_ms)
        log_records = await self._run_log.delete_expired(now_ms)
        before_ms, from_id = await self._end(now_ms - trace_age_ms, traces_kept)
        return Collected(
            traces=await self._delete("delete_traces", before_ms=before_ms, from_id=from_id),
            runs=await self._delete("delete_runs", before_ms=before_ms),
            results=results,
            log_records=log_records,
            leases=await self._delete("delete_leases"),
        )

    async def _end(self, oldest_ms: int, traces_kept: int) -> tuple[int, str | None]:
        """Up to which time traces go and, of that time, from which id on; None: none of it."""
        async with self._database.connection() as connection:
            cursor = await connection.execute(_SQL["first_beyond"], {"traces_kept": traces_kept})
            row = await cursor.fetchone()
        if row is None:
            return oldest_ms, None
        executed_at_ms, trace_id = row
        assert isinstance(executed_at_ms, int)
        return (oldest_ms, None) if executed_at_ms < oldest_ms else (executed_at_ms, str(trace_id))

    async def _delete(self, query: str, **parameters: object) -> int:
        return await in_batches(self._database, _SQL[query], **parameters)
