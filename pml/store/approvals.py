"""Requests for approval in PostgreSQL (`pml.store.ports.Approvals`)."""

from typing import Any

import msgspec
from psycopg.rows import kwargs_row

from pml.domain.approval import Approval, ApprovalState, ToolVersion
from pml.domain.record import encode
from pml.errors import FencedError
from pml.store.audit import write_entries
from pml.store.audited import noted, of_approval
from pml.store.connection import Connection
from pml.store.database import Database
from pml.store.messages import (
    answered,
    approval_exists,
    check_pending,
    no_approval,
    no_run_to_approve,
)
from pml.store.printable import printable
from pml.store.queries import queries

_SQL = queries("approvals", Approval.__struct_fields__)


class PostgresApprovals:
    """One row per request; of one run, at most one is pending."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ask(self, approval: Approval, *, epoch: int) -> None:
        """See `Approvals.ask`."""
        check_pending(approval)
        run = {"run_id": printable(approval.run_id), "now_ms": approval.asked_at_ms}
        row = msgspec.structs.asdict(approval) | {
            "tools": encode(approval.tools).decode(),
            "calls": list(approval.calls),
            "state": approval.state.value,
            "note": noted(approval.note),
        }
        async with self._database.connection() as connection, connection.transaction():
            locked = await connection.execute(_SQL["lock_run"], run)
            found = await locked.fetchone()
            if found is None:
                raise no_run_to_approve(approval.run_id)
            if found != (epoch,):
                raise FencedError(approval.run_id)
            earlier = await _select(connection, "withdraw", run)
            inserted = await connection.execute(_SQL["ask"], row)
            if inserted.rowcount == 0:
                raise approval_exists(approval.id)
            await write_entries(connection, map(of_approval, (*earlier, approval)))

    async def get(self, approval_id: str) -> Approval:
        """See `Approvals.get`."""
        async with self._database.connection() as connection:
            return await _find(connection, approval_id)

    async def of_run(self, run_id: str) -> tuple[Approval, ...]:
        """See `Approvals.of_run`."""
        async with self._database.connection() as connection:
            return await _select(connection, "of_run", {"run_id": printable(run_id)})

    async def pending(self, limit: int) -> tuple[Approval, ...]:
        """See `Approvals.pending`."""
        async with self._database.connection() as connection:
            return await _select(connection, "pending", {"limit": limit})

    async def decide(
        self, approval_id: str, *, granted: bool, by: str, note: str = "", now_ms: int
    ) -> Approval:
        """See `Approvals.decide`."""
        state = ApprovalState.GRANTED if granted else ApprovalState.REFUSED
        row = {
            "id": printable(approval_id),
            "state": state.value,
            "by": printable(by),
            "note": noted(note),
            "now_ms": now_ms,
        }
        async with self._database.connection() as connection, connection.transaction():
            decided = await _select(connection, "decide", row)
            if not decided:
                return answered(await _find(connection, approval_id), state)
            await write_entries(connection, map(of_approval, decided))
        return decided[0]

    async def withdraw(self, run_id: str, *, now_ms: int) -> None:
        """See `Approvals.withdraw`."""
        run = {"run_id": printable(run_id), "now_ms": now_ms}
        async with self._database.connection() as connection, connection.transaction():
            await write_entries(
                connection, map(of_approval, await _select(connection, "withdraw", run))
            )

    async def expire(self, now_ms: int) -> tuple[Approval, ...]:
        """See `Approvals.expire`."""
        async with self._database.connection() as connection, connection.transaction():
            cursor = await connection.execute(_SQL["lock_expired"], {"now_ms": now_ms})
            ids = [approval_id for (approval_id,) in await cursor.fetchall()]
            over = await _select(connection, "expire", {"ids": ids, "now_ms": now_ms})
            over = tuple(sorted(over, key=lambda one: (one.expires_at_ms, one.id)))
            await write_entries(connection, map(of_approval, over))
        return over


async def _find(connection: Connection, approval_id: str) -> Approval:
    found = await _select(connection, "get", {"id": printable(approval_id)})
    if not found:
        raise no_approval(approval_id)
    return found[0]


async def _select(
    connection: Connection, query: str, parameters: dict[str, Any]
) -> tuple[Approval, ...]:
    cursor = connection.cursor(row_factory=kwargs_row(_approval))
    await cursor.execute(_SQL[query], parameters)
    return tuple(await cursor.fetchall())


def _approval(state: str, tools: object, calls: list[int], **columns: Any) -> Approval:  # noqa: ANN401  # as the query names them
    versions = msgspec.convert(tools, tuple[ToolVersion, ...])
    return Approval(state=ApprovalState(state), tools=versions, calls=tuple(calls), **columns)
