"""The demo where there is no history to report, and where there is no git (OP-1).

With a history it is run by tests/acceptance/test_readme.py.
"""

import os
import subprocess
from pathlib import Path

import pytest

from pml.cli.demo_scene import HISTORY, WORDS
from tests.cli.conftest import COMMAND_TIMEOUT_S, PML, Done

COLUMNS = 80


def pml(environment: dict[str, str], folder: Path, *arguments: str, stdin: str = "") -> Done:
    """A command in ``folder``, with a database of its own there."""
    return subprocess.run(
        [str(PML), *arguments, "--data-dir", str(folder / "data")],
        cwd=folder,
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=COMMAND_TIMEOUT_S,
        check=False,
    )


@pytest.mark.parametrize(
    ("path", "program"),
    [(os.environ["PATH"], "history.ts"), ("/nowhere", "files.ts")],
    ids=["no history", "no git"],
)
def test_the_demo_makes_do_with_what_there_is(
    environment: dict[str, str], tmp_path: Path, path: str, program: str
) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n")

    done = pml({**environment, "PATH": path}, tmp_path, "demo", "--output", "reports")

    assert done.returncode == 0, done.stdout + done.stderr
    found = done.stdout.partition("\n7. ")[2].split("\n")[1]
    assert found.startswith(" 1  capability report_wh")
    assert done.stdout.count("mode speculation") == 2  # by itself and for the agent
    assert f"/{program}  the program" in done.stdout
    assert len(list((tmp_path / "reports").glob("*.md"))) == 2
    assert max(map(len, done.stdout.partition("\nWhere ")[0].splitlines())) <= COLUMNS


def test_the_demo_names_its_capability_where_its_words_mean_another_too(
    environment: dict[str, str], workspace: Path
) -> None:
    other = ("execute", "--intent", WORDS[HISTORY].intent, "--code-file", "-")
    code = "return await mcp.fixture.echo({ text: 'nothing' });"
    assert pml(environment, workspace, *other, stdin=code).returncode == 0

    done = pml(environment, workspace, "demo")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing ran: no capability is clearly what was meant" in done.stdout
    assert done.stdout.count("mode speculation") == 2
