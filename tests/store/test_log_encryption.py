"""What the database holds of a run that is not final is ciphertext (EX-3, ST-5; rule 8)."""

import secrets

import pytest

from pml.domain.permissions import Effect
from pml.domain.run import Issued
from pml.errors import LedgerKeyError
from pml.store.database import Database
from pml.store.ledger_key import LedgerKey
from pml.store.ports import Store
from pml.store.postgres import postgres_store
from tests.store.nouns import a_program, a_run, some_records

SECRET = "correct horse battery staple"


async def test_no_secret_of_a_run_is_in_a_column(database: Database, store: Store) -> None:
    await store.runs.create(a_run(), a_program(source=SECRET, arguments={"p": f'"{SECRET}"'}))
    issued = Issued(
        seq=0,
        at_ms=1,
        call=0,
        site="n1",
        occurrence=1,
        tool="fs:read",
        arguments=f'"{SECRET}"',
        effect=Effect.READ,
    )
    await store.run_log.append("run-1", [issued], epoch=0)
    async with database.connection() as connection:
        rows = [
            row
            for query in (b"SELECT * FROM run", b"SELECT * FROM run_log")
            for row in await (await connection.execute(query)).fetchall()
        ]
    assert len(rows) == 2
    stored = b"\n".join(
        value if isinstance(value, bytes) else str(value).encode() for row in rows for value in row
    )
    assert SECRET.encode() not in stored
    assert b"fs:read" not in stored
    assert await store.run_log.read("run-1") == (issued,)


async def test_another_key_reads_neither_log_nor_program(database: Database, store: Store) -> None:
    await store.runs.create(a_run(), a_program())
    await store.run_log.append("run-1", some_records(0, 2), epoch=0)
    other = postgres_store(database, LedgerKey(secrets.token_bytes(32), "PML_LEDGER_KEY"))
    for read in (other.run_log.read, other.runs.program):
        with pytest.raises(LedgerKeyError, match="of run run-1 cannot be decrypted with the key"):
            await read("run-1")


async def test_records_that_changed_places_are_noticed(database: Database, store: Store) -> None:
    await store.runs.create(a_run(), a_program())
    await store.run_log.append("run-1", some_records(0, 3), epoch=0)
    async with database.connection() as connection:
        await connection.execute(
            "UPDATE run_log SET body = (SELECT body FROM run_log WHERE seq = 2) WHERE seq = 0"
        )
    with pytest.raises(LedgerKeyError, match=r"record 0 \(issued\) of run run-1"):
        await store.run_log.read("run-1")
