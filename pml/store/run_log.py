"""The ledger in PostgreSQL (`pml.store.ports.RunLog`).

``seq`` and ``kind`` are in clear, so that gaps show and counts can be taken; the record
itself is ciphertext, bound to its run, its ``seq`` and its ``kind``.
"""

from collections.abc import Sequence

import psycopg

from pml.domain.record import decode, encode
from pml.domain.run import IDLE_RECORDS, LogRecord
from pml.errors import FencedError, NotFoundError
from pml.store.connection import Connection
from pml.store.database import Database
from pml.store.ledger_key import LedgerKey
from pml.store.messages import log_gap
from pml.store.printable import printable
from pml.store.queries import queries
from pml.store.runs import find_run

_SQL = queries("run_log")
_IDLE = [str(kind.__struct_config__.tag) for kind in IDLE_RECORDS]
_RUNS_AT_ONCE = 20
"""Whose logs one statement deletes: the longest have some 100,000 records."""


class PostgresRunLog:
    """One row per record; `append` is one round trip and one commit."""

    def __init__(self, database: Database, key: LedgerKey) -> None:
        self._database = database
        self._key = key

    async def append(self, run_id: str, records: Sequence[LogRecord], *, epoch: int) -> None:
        """See `RunLog.append`."""
        if not records:
            return
        first = records[0].seq
        if any(record.seq != first + place for place, record in enumerate(records)):
            raise log_gap(run_id, records)
        kinds = [_kind(record) for record in records]
        row = {
            "run_id": printable(run_id),
            "epoch": epoch,
            "first": first,
            "kinds": kinds,
            "bodies": [
                self._key.encrypt(run_id, _label(record.seq, kind), encode(record))
                for record, kind in zip(records, kinds, strict=True)
            ],
        }
        async with self._database.connection() as connection:
            try:
                cursor = await connection.execute(_SQL["append"], row)
            except psycopg.errors.UniqueViolation as error:
                raise log_gap(run_id, records) from error
            if cursor.rowcount != len(records):
                await _check_fence(connection, run_id, epoch)
                raise log_gap(run_id, records)

    async def read(self, run_id: str) -> tuple[LogRecord, ...]:
        """See `RunLog.read`."""
        async with self._database.connection() as connection:
            cursor = await connection.execute(_SQL["read"], {"run_id": printable(run_id)})
            rows = await cursor.fetchall()
        return tuple(self._record(run_id, *row) for row in rows)

    async def progressed(self, run_id: str) -> int:
        """See `RunLog.progressed`."""
        row = {"run_id": printable(run_id), "idle": _IDLE}
        async with self._database.connection() as connection:
            cursor = await connection.execute(_SQL["progressed"], row)
            ((epoch,),) = await cursor.fetchall()
        assert isinstance(epoch, int)
        return epoch

    def _record(self, run_id: str, seq: object, kind: object, sealed: object) -> LogRecord:
        assert isinstance(sealed, bytes)
        assert isinstance(seq, int)
        plain = self._key.decrypt(run_id, _label(seq, str(kind)), sealed)
        return decode(LogRecord, plain)  # type: ignore[arg-type]  # a union is no class

    async def delete_expired(self, now_ms: int) -> int:
        """See `RunLog.delete_expired`."""
        records = 0
        while True:
            async with self._database.connection() as connection:
                row = {"now_ms": now_ms, "runs": _RUNS_AT_ONCE}
                cursor = await connection.execute(_SQL["delete_expired"], row)
                ((runs, deleted),) = await cursor.fetchall()
            assert isinstance(runs, int)
            assert isinstance(deleted, int)
            records += deleted
            if runs < _RUNS_AT_ONCE:
                return records


async def _check_fence(connection: Connection, run_id: str, epoch: int) -> None:
    try:
        run = await find_run(connection, run_id)
    except NotFoundError:
        return
    if run.epoch != epoch:
        raise FencedError(run_id)


def _kind(record: LogRecord) -> str:
    return str(record.__struct_config__.tag)


def _label(seq: int, kind: str) -> str:
    return f"record {seq} ({kind})"
