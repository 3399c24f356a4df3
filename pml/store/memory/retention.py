"""What is kept no longer, in memory."""

from pml.store.memory.data import Data
from pml.store.messages import check_retention
from pml.store.ports import Collected, RunLog, TaskResults

_LEASE_KEPT_S = 3_600


class MemoryRetention:
    """All at once."""

    def __init__(self, data: Data, run_log: RunLog, task_results: TaskResults) -> None:
        self._data = data
        self._run_log = run_log
        self._task_results = task_results

    async def collect(self, *, now_ms: int, traces_kept: int, trace_age_ms: int) -> Collected:
        """See `Retention.collect`."""
        check_retention(traces_kept, trace_age_ms)
        results = await self._task_results.delete_expired(now_ms)
        log_records = await self._run_log.delete_expired(now_ms)
        oldest_ms = now_ms - trace_age_ms
        latest = sorted(
            self._data.traces.values(), key=lambda trace: (-trace.executed_at_ms, trace.id)
        )
        if len(latest) > traces_kept:
            oldest_ms = max(oldest_ms, latest[traces_kept].executed_at_ms)
        kept = {one.id: one for one in latest[:traces_kept] if one.executed_at_ms >= oldest_ms}
        traces = len(latest) - len(kept)
        self._data.traces = kept
        return Collected(
            traces=traces,
            runs=self._delete_runs(oldest_ms),
            results=results,
            log_records=log_records,
            leases=self._delete_leases(),
        )

    def _delete_runs(self, before_ms: int) -> int:
        data = self._data
        traced = {trace.run_id for trace in data.traces.values()}
        gone = {
            run.id
            for run in data.runs.values()
            if run.id in data.log_expiry
            and run.updated_at_ms < before_ms
            and run.id not in data.programs
            and run.id not in traced
        }
        data.forget_runs(gone)
        return len(gone)

    def _delete_leases(self) -> int:
        before = self._data.clock() - _LEASE_KEPT_S
        gone = [owner for owner, end in self._data.leases.items() if end < before]
        for owner in gone:
            del self._data.leases[owner]
        return len(gone)
