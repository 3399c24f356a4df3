"""Runs in PostgreSQL (`pml.store.ports.Runs`)."""

from collections.abc import Callable
from typing import Any

import msgspec
import psycopg
from psycopg.rows import kwargs_row

from pml.domain.record import decode, encode
from pml.domain.run import NEXT_STATES, Run, RunProgram, RunState
from pml.errors import FencedError, RunStateError
from pml.store.connection import Connection
from pml.store.database import Database
from pml.store.ledger_key import LedgerKey
from pml.store.messages import (
    no_capability,
    no_parent,
    no_program,
    no_replaced,
    no_run,
    run_exists,
)
from pml.store.printable import printable
from pml.store.queries import queries

_SQL = queries("runs", Run.__struct_fields__)
_PROGRAM = "the program"
_FROM_STATES = {
    to: [state.value for state, following in NEXT_STATES.items() if to in following]
    for to in RunState
}
_WAITING = [state.value for state in RunState if state.waits]
_FINAL = [state.value for state in RunState if state.final]
_NOT_FINAL = [state.value for state in RunState if not state.final]


class PostgresRuns:
    """One row per run, its program encrypted beside it."""

    def __init__(self, database: Database, key: LedgerKey, log_ttl_ms: int) -> None:
        self._database = database
        self._key = key
        self._log_ttl_ms = log_ttl_ms

    async def create(self, run: Run, program: RunProgram) -> None:
        """See `Runs.create`."""
        row = msgspec.structs.asdict(run) | {
            "intent": printable(run.intent),
            "state": run.state.value,
            "reason": printable(run.reason),
            "program": self._key.encrypt(run.id, _PROGRAM, encode(program)),
        }
        async with self._database.connection() as connection:
            try:
                cursor = await connection.execute(_SQL["create"], row)
            except psycopg.errors.ForeignKeyViolation as violation:
                raise _missing(run, violation) from violation
        if cursor.rowcount == 0:
            raise run_exists(run.id)

    async def get(self, run_id: str) -> Run:
        """See `Runs.get`."""
        async with self._database.connection() as connection:
            return await find_run(connection, run_id)

    async def program(self, run_id: str) -> RunProgram:
        """See `Runs.program`."""
        async with self._database.connection() as connection:
            cursor = await connection.execute(_SQL["program"], {"id": printable(run_id)})
            row = await cursor.fetchone()
        if row is None:
            raise no_run(run_id)
        (sealed,) = row
        if sealed is None:
            raise no_program(run_id)
        assert isinstance(sealed, bytes)
        return decode(RunProgram, self._key.decrypt(run_id, _PROGRAM, sealed))

    async def recent(self, limit: int, state: RunState | None = None) -> tuple[Run, ...]:
        """See `Runs.recent`."""
        if state is None:
            return await self._select("recent", limit=limit)
        return await self._select("recent_in_state", limit=limit, state=state.value)

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
        async with self._database.connection() as connection:
            return await move_run(
                connection,
                run_id,
                to,
                reason=reason,
                now_ms=now_ms,
                epoch=epoch,
                expires_at_ms=expires_at_ms,
                log_expires_at_ms=now_ms + self._log_ttl_ms,
            )

    async def claim(
        self, run: Run, *, owner: str, now_ms: int, started_at_ms: int | None = None
    ) -> Run:
        """See `Runs.claim`."""
        parameters = {
            "id": printable(run.id),
            "epoch": run.epoch,
            "state": run.state.value,
            "old_owner": run.owner,
            "updated_at_ms": run.updated_at_ms,
            "final": _FINAL,
            "owner": owner,
            "now_ms": now_ms,
            "started_at_ms": started_at_ms,
        }
        async with self._database.connection() as connection:
            cursor = connection.cursor(row_factory=kwargs_row(_run))
            await cursor.execute(_SQL["claim"], parameters)
            claimed = await cursor.fetchone()
            if claimed is None:
                found = await find_run(connection, run.id)
                raise RunStateError(run.id, found.state, RunState.RUNNING)
        return claimed

    async def orphans(self, alive: Callable[[str], bool]) -> tuple[Run, ...]:
        """See `Runs.orphans`."""
        async with self._database.connection() as connection:
            cursor = connection.cursor(row_factory=kwargs_row(_run_and_lease))
            await cursor.execute(_SQL["running"])
            running = await cursor.fetchall()
        return tuple(run for run, leased in running if not (leased and alive(run.owner)))

    async def children(self, run_id: str) -> tuple[Run, ...]:
        """See `Runs.children`."""
        return await self._select("children", parent_run_id=printable(run_id))

    async def left_behind(self) -> tuple[Run, ...]:
        """See `Runs.left_behind`."""
        return await self._select("left_behind", final=_FINAL, not_final=_NOT_FINAL)

    async def expired(self, now_ms: int) -> tuple[Run, ...]:
        """See `Runs.expired`."""
        return await self._select("expired", now_ms=now_ms, waiting=_WAITING)

    async def _select(self, query: str, **parameters: object) -> tuple[Run, ...]:
        async with self._database.connection() as connection:
            cursor = connection.cursor(row_factory=kwargs_row(_run))
            await cursor.execute(_SQL[query], parameters)
            return tuple(await cursor.fetchall())


async def find_run(connection: Connection, run_id: str) -> Run:
    """The run.

    Raises:
        NotFoundError: there is none.
    """
    cursor = connection.cursor(row_factory=kwargs_row(_run))
    await cursor.execute(_SQL["get"], {"id": printable(run_id)})
    run = await cursor.fetchone()
    if run is None:
        raise no_run(run_id)
    return run


async def move_run(
    connection: Connection,
    run_id: str,
    to: RunState,
    *,
    reason: str,
    now_ms: int,
    epoch: int,
    log_expires_at_ms: int,
    expires_at_ms: int | None = None,
) -> Run:
    """`Runs.move`, as a part of what else happens on the connection."""
    cursor = connection.cursor(row_factory=kwargs_row(_run))
    parameters = {
        "id": printable(run_id),
        "state": to.value,
        "from_states": _FROM_STATES[to],
        "reason": printable(reason),
        "now_ms": now_ms,
        "epoch": epoch,
        "expires_at_ms": expires_at_ms if to.waits else None,
        "log_expires_at_ms": log_expires_at_ms if to.final else None,
    }
    await cursor.execute(_SQL["move"], parameters)
    moved = await cursor.fetchone()
    if moved is None:
        found = await find_run(connection, run_id)
        if found.epoch != epoch:
            raise FencedError(run_id)
        raise RunStateError(run_id, found.state, to)
    return moved


def _missing(run: Run, violation: psycopg.errors.ForeignKeyViolation) -> ValueError:
    broken = str(violation.diag.constraint_name)
    if "capability" in broken:
        return no_capability(str(run.capability_id))
    if "replaces" in broken:
        return no_replaced(str(run.replaces_run_id))
    return no_parent(str(run.parent_run_id))


def _run(state: str, **columns: Any) -> Run:  # noqa: ANN401  # as the query names them
    return Run(state=RunState(state), **columns)


def _run_and_lease(*, leased: bool, **columns: Any) -> tuple[Run, bool]:  # noqa: ANN401  # as above
    return _run(**columns), leased
