"""Runs and their logs in memory."""

from collections.abc import Callable, Sequence

import msgspec

from pml.domain.limits import Limits
from pml.domain.run import NEXT_STATES, LogRecord, Run, RunProgram, RunState
from pml.errors import RunStateError
from pml.store.memory.data import Data, stored
from pml.store.messages import log_gap, no_capability, no_parent, no_program, run_exists
from pml.store.printable import printable


class MemoryRuns:
    """By id."""

    def __init__(self, data: Data) -> None:
        self._data = data

    async def create(self, run: Run, program: RunProgram) -> None:
        """See `Runs.create`."""
        if run.id in self._data.runs:
            raise run_exists(run.id)
        if run.capability_id is not None and run.capability_id not in self._data.capabilities:
            raise no_capability(run.capability_id)
        if run.parent_run_id is not None and run.parent_run_id not in self._data.runs:
            raise no_parent(run.parent_run_id)
        self._data.runs[run.id] = msgspec.structs.replace(
            run,
            user_id=self._data.user_id,
            intent=printable(run.intent),
            reason=printable(run.reason),
        )
        self._data.programs[run.id] = stored(program)

    async def get(self, run_id: str) -> Run:
        """See `Runs.get`."""
        return self._data.run(run_id)

    async def program(self, run_id: str) -> RunProgram:
        """See `Runs.program`."""
        self._data.run(run_id)
        if run_id not in self._data.programs:
            raise no_program(run_id)
        return self._data.programs[run_id]

    async def recent(self, limit: int, state: RunState | None = None) -> tuple[Run, ...]:
        """See `Runs.recent`."""
        runs = [run for run in self._data.runs.values() if state in (None, run.state)]
        runs.sort(key=lambda run: (-run.created_at_ms, run.id))
        return tuple(runs[:limit])

    async def move(
        self,
        run_id: str,
        to: RunState,
        *,
        reason: str = "",
        now_ms: int,
        owner: str | None = None,
    ) -> Run:
        """See `Runs.move`."""
        return self.moved(
            run_id, to, reason, now_ms, now_ms + Limits().result_ttl_s * 1000, owner=owner
        )

    def moved(
        self,
        run_id: str,
        to: RunState,
        reason: str,
        now_ms: int,
        log_expires_at_ms: int,
        *,
        owner: str | None = None,
    ) -> Run:
        """`move`, as a part of what else happens."""
        run = self._data.run(run_id)
        if to not in NEXT_STATES[run.state]:
            raise RunStateError(run_id, run.state, to)
        moved = msgspec.structs.replace(
            run,
            state=to,
            reason=printable(reason),
            updated_at_ms=now_ms,
            owner=run.owner if owner is None else owner,
        )
        self._data.runs[run_id] = moved
        if to.final:
            self._data.log_expiry[run_id] = log_expires_at_ms
        return moved

    async def unfinished_of_others(self, alive: Callable[[str], bool]) -> tuple[Run, ...]:
        """See `Runs.unfinished_of_others`."""
        running = [run for run in self._data.runs.values() if run.state is RunState.RUNNING]
        running.sort(key=lambda run: (run.created_at_ms, run.id))
        return tuple(run for run in running if not alive(run.owner))


class MemoryRunLog:
    """By run."""

    def __init__(self, data: Data) -> None:
        self._data = data

    async def append(self, run_id: str, records: Sequence[LogRecord]) -> None:
        """See `RunLog.append`."""
        if not records:
            return
        log = self._data.logs.get(run_id, [])
        expected = range(len(log), len(log) + len(records))
        if run_id not in self._data.programs or [r.seq for r in records] != list(expected):
            raise log_gap(run_id, records)
        self._data.logs[run_id] = [*log, *(stored(record) for record in records)]

    async def read(self, run_id: str) -> tuple[LogRecord, ...]:
        """See `RunLog.read`."""
        return tuple(self._data.logs.get(run_id, ()))

    async def delete_expired(self, now_ms: int) -> int:
        """See `RunLog.delete_expired`."""
        over = [run_id for run_id, end in self._data.log_expiry.items() if end <= now_ms]
        for run_id in over:
            self._data.programs.pop(run_id, None)
        return sum(len(self._data.logs.pop(run_id, ())) for run_id in over)
