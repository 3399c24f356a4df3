"""A `pml` as users have it: a process of its own, over one database for the whole session."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

PML = Path(sys.executable).with_name("pml")
SERVER = Path(__file__).parents[1] / "fixtures" / "upstream_server.py"
COMMAND_TIMEOUT_S = 60
PERMISSIONS = """\
version: 1
servers:
  fixture:
    tools:
      echo: {scope: minimal, effect: read, approval_mode: auto}
      hang: {scope: minimal, effect: read, approval_mode: auto}
      die: {scope: full, effect: write, approval_mode: auto}
"""

Done: TypeAlias = "subprocess.CompletedProcess[str]"
RunPml: TypeAlias = Callable[..., Done]


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Ours without PML's own variables, and with a data folder for this session."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PML_")}
    data, home = tmp_path_factory.mktemp("data") / "pml", tmp_path_factory.mktemp("home")
    ours |= {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}  # no clients of ours
    return {**ours, "PML_DATA_DIR": str(data), "COLUMNS": "80"}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder with mcp.json and permissions.yaml, as a user would have it."""
    counter = tmp_path / "calls.jsonl"
    server = {"command": sys.executable, "args": [str(SERVER), "--counter", str(counter)]}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"fixture": server}}))
    (tmp_path / "permissions.yaml").write_text(PERMISSIONS)
    return tmp_path


@pytest.fixture
def pml(environment: dict[str, str], workspace: Path) -> RunPml:
    """Runs one command in the workspace, to its end."""

    def run(*arguments: str, stdin: str = "", **variables: str) -> Done:
        return subprocess.run(
            [str(PML), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
            cwd=workspace,
            env={**environment, **variables},
        )

    return run
