"""Nothing is told to MLflow's makers, whichever module of ours imports it first (RW-3)."""

import os
import subprocess
import sys

import pytest

_ASK = """
import pml.tracking.{module}
from mlflow.telemetry.client import get_telemetry_client
print(get_telemetry_client())
"""
# MLflow keeps quiet under these by itself; what is asked here is whether it does without them.
_TESTING = ("PYTEST_CURRENT_TEST", "CI", "GITHUB_ACTIONS", "MLFLOW_TESTING", "DO_NOT_TRACK")


@pytest.mark.parametrize("module", ["mlflow_runs", "mlflow_registry"])
def test_importing_it_starts_no_telemetry(module: str) -> None:
    chosen = {*_TESTING, "MLFLOW_DISABLE_TELEMETRY"}
    environment = {name: value for name, value in os.environ.items() if name not in chosen}

    found = subprocess.run(
        [sys.executable, "-c", _ASK.format(module=module)],
        env=environment, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip

    assert found.stdout.split() == ["None"]
