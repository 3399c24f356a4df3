"""Runs and their logs in memory."""

from collections.abc import Callable, Sequence

import msgspec

from pml.domain.run import IDLE_RECORDS, NEXT_STATES, LogRecord, Run, RunProgram, RunState
from pml.errors import FencedError, RunStateError
from pml.store.memory.data import Data, stored
from pml.store.messages import (
    log_gap,
    no_capability,
    no_parent,
    no_program,
    no_replaced,
    run_exists,
)
from pml.store.printable import printable


class MemoryRuns:
    """By id."""

    def __init__(self, data: Data, log_ttl_ms: int) -> None:
        self._data = data
        self._log_ttl_ms = log_ttl_ms

    async def create(self, run: Run, program: RunProgram) -> None:
        """See `Runs.create`."""
        if run.id in self._data.runs:
            raise run_exists(run.id)
        if run.capability_id is not None and run.capability_id not in self._data.capabilities:
            raise no_capability(run.capability_id)
        if run.parent_run_id is not None and run.parent_run_id not in self._data.runs:
            raise no_parent(run.parent_run_id)
        if run.replaces_run_id is not None and run.replaces_run_id not in self._data.runs:
            raise no_replaced(run.replaces_run_id)
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
        epoch: int,
        expires_at_ms: int | None = None,
    ) -> Run:
        """See `Runs.move`."""
        return self.moved(
            run_id,
            to,
            reason=reason,
            now_ms=now_ms,
            epoch=epoch,
            expires_at_ms=expires_at_ms,
            log_expires_at_ms=now_ms + self._log_ttl_ms,
        )

    def moved(
        self,
        run_id: str,
        to: RunState,
        *,
        reason: str,
        now_ms: int,
        epoch: int,
        log_expires_at_ms: int,
        expires_at_ms: int | None = None,
    ) -> Run:
        """`move`, as a part of what else happens."""
        run = self._data.run(run_id)
        if run.epoch != epoch:
            raise FencedError(run_id)
        if to not in NEXT_STATES[run.state]:
            raise RunStateError(run_id, run.state, to)
        moved = msgspec.structs.replace(
            run,
            state=to,
            reason=printable(reason),
            updated_at_ms=now_ms,
            expires_at_ms=expires_at_ms if to.waits else None,
        )
        self._data.runs[run_id] = moved
        if to.final:
            self._data.log_expiry[run_id] = log_expires_at_ms
        return moved

    async def claim(
        self, run: Run, *, owner: str, now_ms: int, started_at_ms: int | None = None
    ) -> Run:
        """See `Runs.claim`."""
        found = self._data.run(run.id)
        if found.state.final or _version(found) != _version(run):
            raise RunStateError(run.id, found.state, RunState.RUNNING)
        claimed = msgspec.structs.replace(
            found,
            state=RunState.RUNNING,
            reason="",
            owner=owner,
            epoch=found.epoch + 1,
            started_at_ms=started_at_ms if found.started_at_ms is None else found.started_at_ms,
            updated_at_ms=now_ms,
            expires_at_ms=None,
        )
        self._data.runs[run.id] = claimed
        return claimed

    async def orphans(self, alive: Callable[[str], bool]) -> tuple[Run, ...]:
        """See `Runs.orphans`."""
        now, leases = self._data.clock(), self._data.leases
        return self._earliest(
            lambda run: (
                run.state is RunState.RUNNING
                and not (leases.get(run.owner, now) > now and alive(run.owner))
            )
        )

    async def children(self, run_id: str) -> tuple[Run, ...]:
        """See `Runs.children`."""
        return self._earliest(lambda run: run.parent_run_id == run_id)

    async def left_behind(self) -> tuple[Run, ...]:
        """See `Runs.left_behind`."""
        final = {run.id for run in self._data.runs.values() if run.state.final}
        return self._earliest(lambda run: not run.state.final and run.parent_run_id in final)

    async def expired(self, now_ms: int) -> tuple[Run, ...]:
        """See `Runs.expired`."""
        over = [
            (run.expires_at_ms, run.id, run)
            for run in self._data.runs.values()
            if run.state.waits and run.expires_at_ms is not None and run.expires_at_ms <= now_ms
        ]
        return tuple(run for _, _, run in sorted(over, key=lambda one: one[:2]))

    def _earliest(self, wanted: Callable[[Run], bool]) -> tuple[Run, ...]:
        found = filter(wanted, self._data.runs.values())
        return tuple(sorted(found, key=lambda run: (run.created_at_ms, run.id)))


def _version(run: Run) -> tuple[object, ...]:
    return run.epoch, run.state, run.owner, run.updated_at_ms


class MemoryRunLog:
    """By run."""

    def __init__(self, data: Data) -> None:
        self._data = data

    async def append(self, run_id: str, records: Sequence[LogRecord], *, epoch: int) -> None:
        """See `RunLog.append`."""
        if not records:
            return
        places = [record.seq for record in records]
        run = self._data.runs.get(run_id)
        if run is None or places != [*range(places[0], places[0] + len(places))]:
            raise log_gap(run_id, records)
        if run.epoch != epoch:
            raise FencedError(run_id)
        log = self._data.logs.setdefault(run_id, [])
        if run_id not in self._data.programs or places[0] != len(log):
            raise log_gap(run_id, records)
        log.extend([stored(record) for record in records])
        if not all(isinstance(record, IDLE_RECORDS) for record in records):
            self._data.progressed[run_id] = epoch

    async def read(self, run_id: str) -> tuple[LogRecord, ...]:
        """See `RunLog.read`."""
        return tuple(self._data.logs.get(run_id, ()))

    async def progressed(self, run_id: str) -> int:
        """See `RunLog.progressed`."""
        return self._data.progressed.get(run_id, 0) if run_id in self._data.logs else 0

    async def delete_expired(self, now_ms: int) -> int:
        """See `RunLog.delete_expired`."""
        over = [
            run_id
            for run_id, end in self._data.log_expiry.items()
            if end <= now_ms and not self._parent_goes_on(run_id)
        ]
        for run_id in over:
            self._data.programs.pop(run_id, None)
        return sum(len(self._data.logs.pop(run_id, ())) for run_id in over)

    def _parent_goes_on(self, run_id: str) -> bool:
        parent = self._data.runs[run_id].parent_run_id
        return parent is not None and parent not in self._data.log_expiry
