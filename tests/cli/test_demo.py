"""The demo where there is no history to report, and where there is no git (OP-1).

With a history it is run by tests/acceptance/test_readme.py.
"""

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND_TIMEOUT_S, PML


@pytest.mark.parametrize(
    ("path", "program"),
    [(os.environ["PATH"], "history.ts"), ("/nowhere", "files.ts")],
    ids=["no history", "no git"],
)
def test_the_demo_makes_do_with_what_there_is(
    environment: dict[str, str], tmp_path: Path, path: str, program: str
) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n")

    done = subprocess.run(
        [str(PML), "demo", "--output", "reports", "--data-dir", str(tmp_path / "data")],
        cwd=tmp_path,
        env={**environment, "PATH": path},
        capture_output=True,
        text=True,
        timeout=COMMAND_TIMEOUT_S,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    found = done.stdout.partition("\n7. ")[2].split("\n")[1]
    assert found.startswith(" 1  capability report_wh")
    assert done.stdout.count("mode speculation") == 2  # by itself and for the agent
    assert f"/{program}  the program" in done.stdout
    assert len(list((tmp_path / "reports").glob("*.md"))) == 2
