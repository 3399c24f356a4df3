"""Shared by all tests: one embedded PostgreSQL per worker, one user of it per test."""

import logging
import os
import secrets
import signal
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

# Before numpy and torch are imported.  Workers of xdist fill the cores: more threads, and each tiny
# product of matrices waits until all of them had their turn.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import structlog
from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

# Shapes in annotations are checked while tests run.  The tower lets `float` take an `int`, as type
# checkers do.  Before the first import of these packages.
install_import_hook(
    ["pml.embedding", "pml.evaluation", "pml.features", "pml.learning", "pml.models"],
    "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))",
)

from pml.store.database import Database
from pml.store.embedded import EmbeddedPostgres
from pml.store.ledger_key import LedgerKey
from pml.store.ports import Store
from pml.store.postgres import postgres_store

_STOP_S = 30.0

# No wall-clock assertions: hypothesis would fail an example for a slow moment of the machine.
# A build says the same each time; HYPOTHESIS_PROFILE=search looks for what no build has seen.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("pml", settings.get_profile("search"), derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "pml"))

# Started in the background a shell makes us ignore Ctrl-C, and what we start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# As the CLI logs.  Unconfigured, structlog renders each traceback of a server that was meant to
# fail with all its locals: a second in which the event loop stands still.
structlog.configure(
    wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
    processors=[
        structlog.processors.add_log_level,
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ],
)


@pytest.fixture(scope="session")
def postgres_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data directory whose server runs for the whole session; do not kill this one."""
    data_dir = tmp_path_factory.mktemp("postgres")
    server = EmbeddedPostgres(data_dir)
    server.start()
    yield data_dir
    server.close()
    wait_until_stopped(data_dir)


@pytest.fixture
async def database(postgres_dir: Path) -> AsyncIterator[Database]:
    """A database without rows: its user is new."""
    user_id = f"test-{secrets.token_hex(8)}"
    async with Database.open(url=None, data_dir=postgres_dir, user_id=user_id) as database:
        yield database


@pytest.fixture
def ledger_key() -> LedgerKey:
    return LedgerKey(secrets.token_bytes(32), "the test")


@pytest.fixture
def store(database: Database, ledger_key: LedgerKey) -> Store:
    """The store in PostgreSQL, empty."""
    return postgres_store(database, ledger_key)


def wait_until_stopped(data_dir: Path) -> None:
    """Return once the server of ``data_dir`` and its supervisor are gone."""
    pid_file = EmbeddedPostgres(data_dir).layout.pid_file
    deadline = time.monotonic() + _STOP_S
    while pid_file.exists():
        assert time.monotonic() < deadline, f"the server in {data_dir} still runs"
        time.sleep(0.02)
