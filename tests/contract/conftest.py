"""Contract tests run on PostgreSQL and on its in-memory twin."""

import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pml.store.database import Database
from pml.store.ledger_key import LedgerKey
from pml.store.memory import memory_store
from pml.store.ports import Store
from pml.store.postgres import postgres_store


@pytest.fixture(params=["postgres", "memory"])
async def any_store(request: pytest.FixtureRequest, ledger_key: LedgerKey) -> AsyncIterator[Store]:
    """An empty store of the user ``test-...``."""
    user_id = f"test-{secrets.token_hex(8)}"
    if request.param == "memory":
        yield memory_store(user_id)
        return
    data_dir: Path = request.getfixturevalue("postgres_dir")
    async with Database.open(url=None, data_dir=data_dir, user_id=user_id) as database:
        yield postgres_store(database, ledger_key)
