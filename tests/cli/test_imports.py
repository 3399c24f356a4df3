"""What answers does not wait for what learns: heavy libraries stay out of the way (OP-1, D5)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    "bm25s",
    "dgl",
    "dvc",
    "jupyterlab",
    "matplotlib",
    "mlflow",
    "networkx",
    "numba",
    "optuna",
    "pandas",
    "polars",
    "pyarrow",
    "rustworkx",
    "scipy",
    "sentence_transformers",
    "sklearn",
    "sqlalchemy",
    "torch",
)
"""Each takes from a tenth of a second to 15 s to import."""
SAY_AT_EXIT = f"""
import atexit, json, sys
heavy = {HEAVY!r}
atexit.register(lambda: print(json.dumps([n for n in heavy if n in sys.modules]), file=sys.stderr))
from pml.cli.main import main
main()
"""
TIMEOUT_S = 60


def imported_by(environment: dict[str, str], workspace: Path, *arguments: str) -> list[str]:
    """Which heavy modules a command had imported when it ended."""
    done = subprocess.run(
        [sys.executable, "-c", SAY_AT_EXIT, *arguments],
        cwd=workspace,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stderr.splitlines()[-1])
    return found


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("export-traces", "--help"),
        ("train", "--help"),
        ("tune", "--help"),
        ("models", "--help"),
        ("execute", "--intent", "say", "--code-file", "say.ts"),
        ("discover", "say something"),
        ("runs",),
    ],
    ids=" ".join,
)
def test_a_command_that_answers_imports_nothing_heavy(
    environment: dict[str, str], workspace: Path, arguments: tuple[str, ...]
) -> None:
    (workspace / "say.ts").write_text("return await mcp.fixture.echo({ text: 'hello' });")

    assert imported_by(environment, workspace, *arguments) == []


def test_the_server_of_agents_imports_nothing_heavy(
    environment: dict[str, str], workspace: Path
) -> None:
    """All that `pml serve` is made of, without serving."""
    program = SAY_AT_EXIT.replace(
        "main()\n", "import pml.cli.serve, pml.serve.http, pml.serve.stdio, pml.serve.compose\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=workspace,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )

    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, "[]")
