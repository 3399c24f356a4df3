"""Servers of a test's own, to be killed."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pml.store.embedded import EmbeddedPostgres
from tests.conftest import wait_until_stopped


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory whose cluster is initialised and stopped: copying it is quick."""
    data_dir = tmp_path_factory.mktemp("template")
    server = EmbeddedPostgres(data_dir)
    server.start()
    server.close()
    wait_until_stopped(data_dir)
    return data_dir


@pytest.fixture
def data_dir(template: Path, tmp_path: Path) -> Iterator[Path]:
    """An initialised data directory of this test's own; its server is stopped at the end."""
    copy = tmp_path / "data"
    subprocess.run(["cp", "-a", str(template), str(copy)], check=True)
    yield copy
    wait_until_stopped(copy)


@pytest.fixture
def server(data_dir: Path) -> Iterator[EmbeddedPostgres]:
    server = EmbeddedPostgres(data_dir)
    server.start()
    yield server
    server.close()
