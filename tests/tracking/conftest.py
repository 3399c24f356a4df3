"""A store of MLflow as it is made, its tables made once a session."""

import itertools
import shutil
from pathlib import Path

import pytest
from mlflow import MlflowClient

from pml.tracking.mlflow_runs import Tracking, open_tracking, sqlite_uri


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an empty SQLite store: making its tables takes seconds.

    Without our experiment, which says where the files of its runs lie.
    """
    folder = tmp_path_factory.mktemp("tracking")
    MlflowClient(sqlite_uri(folder)).search_experiments()
    return folder


@pytest.fixture
def tracking(migrated: Path, tmp_path: Path) -> Tracking:
    """A real store of its own, in ``tmp_path / "tracking"``, with a clock that counts."""
    folder = tmp_path / "tracking"
    folder.mkdir()
    shutil.copyfile(migrated / "mlflow.db", folder / "mlflow.db")
    return open_tracking(folder, itertools.count(1).__next__)
