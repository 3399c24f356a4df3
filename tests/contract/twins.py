"""A state machine that asks PostgreSQL and its twin the same, step by step.

Whatever is asked, in whatever order, both answer the same: values, kinds of error, and
nothing written when an error was raised.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeAlias

import msgspec
from hypothesis import Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from pml.domain.capability import Capability
from pml.domain.run import Run
from pml.errors import PmlError
from pml.store.database import Database
from pml.store.ledger_key import LedgerKey
from pml.store.memory import memory_store
from pml.store.ports import Store
from pml.store.postgres import postgres_store

# Without shrinking, which takes minutes on a database; the steps that failed are few.
_SETTINGS = settings(
    max_examples=25,
    stateful_step_count=30,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
_TABLES = (
    "run",
    "tool_dependency",
    "workflow_pattern",
    "tool_server",
    "embedding",
    "lease",
    "approval_grant",
    "api_key",
)
"""What hangs from their rows goes with them."""

Question: TypeAlias = Callable[[Store], Awaitable[object]]


class Twins(RuleBasedStateMachine):
    """Asks both stores the same; `database` and `runner` are set by `run_twins`."""

    database: Database
    runner: asyncio.Runner

    def begin(self) -> None:
        """To be called first by the machine's one `initialize`."""
        self.runner.run(self._empty())
        key = LedgerKey(bytes(32), "the test")
        self.stores = (postgres_store(self.database, key), memory_store(self.database.user_id))

    async def _empty(self) -> None:
        async with self.database.connection() as connection:
            for table in _TABLES:
                await connection.execute(f"DELETE FROM {table}".encode())

    def ask(self, question: Question) -> object:
        """The one answer of both; an error counts as its type and text."""
        real, twin = (self.runner.run(_answer(question(store))) for store in self.stores)
        assert real == twin
        return real


async def _answer(question: Awaitable[object]) -> object:
    try:
        said = await question
    except (PmlError, ValueError) as error:
        return type(error).__name__, str(error)
    return msgspec.to_builtins(said) if isinstance(said, (Run, Capability)) else said


def run_twins(machine: type[Twins], postgres_dir: Path) -> None:
    """Run the machine on an empty database."""
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        user_id = f"test-{secrets.token_hex(8)}"
        opened = Database.open(url=None, data_dir=postgres_dir, user_id=user_id)
        database = runner.run(stack.enter_async_context(opened))
        bound = type("Machine", (machine,), {"database": database, "runner": runner})
        try:
            run_state_machine_as_test(bound, settings=_SETTINGS)
        finally:
            runner.run(stack.aclose())
