"""Commands that cannot do what they are asked: what is said, and the exit code (OP-2, OP-5)."""

import json
from pathlib import Path

import pytest

from pml.cli.exits import ExitCode
from pml.cli.ports import DEFAULT_PORT
from tests.cli.conftest import RunPml

INTENT = ("--intent", "say a word")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("mcp.json", '{"mcpServers": {\n  "a": {"comand": "x"}}}', "mcp.json:2"),
        ("permissions.yaml", "version: 1\nserver: {}\n", "permissions.yaml:2"),
    ],
)
def test_a_wrong_file_is_named_with_its_line_in_one_paragraph(
    pml: RunPml, workspace: Path, name: str, text: str, said: str
) -> None:
    (workspace / name).write_text(text)

    done = pml("tools")

    assert done.returncode == ExitCode.CONFIG
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("execute", "--code-file", "a.ts"),
        ("execute", *INTENT, "--code-file", "a.ts", "--dag-file", "b.json"),
        ("execute", *INTENT, "--code-file", "-", "--args", "[1]"),
        ("execute", *INTENT, "--code-file", "-", "--timeout", "0"),
        ("exekute",),
        ("capabilities", "shaw", "x"),
        ("discover", "x", "--limit", "0"),
        ("serve", "--port", "70000"),
    ],
)
def test_a_wrong_command_line_is_a_usage_error(pml: RunPml, arguments: tuple[str, ...]) -> None:
    done = pml(*arguments)

    assert done.returncode == ExitCode.USAGE
    assert "Error: " in done.stderr


def test_a_missing_program_is_named(pml: RunPml) -> None:
    done = pml("execute", *INTENT, "--code-file", "gone.ts")

    assert done.returncode == ExitCode.CONFIG
    assert done.stderr == "pml: gone.ts: cannot be read: No such file or directory\n"


def test_a_database_out_of_reach_is_unavailable(pml: RunPml) -> None:
    done = pml("runs", PML_DATABASE_URL="postgresql://127.0.0.1:1/none")

    assert done.returncode == ExitCode.UNAVAILABLE
    assert "Traceback" not in done.stderr


def test_doctor_finds_everything_in_order(pml: RunPml) -> None:
    done = pml("doctor", "--json")

    verdicts = {check["name"]: check["verdict"] for check in json.loads(done.stdout)}
    port = f"port {DEFAULT_PORT}"
    assert done.returncode == ExitCode.OK
    assert verdicts.pop(port) in {"ok", "note"}  # whoever else uses it on this machine
    assert set(verdicts.values()) == {"ok"}
    assert {"server fixture", "encoder", "clients", "database", "sandbox"} <= set(verdicts)


def test_doctor_says_how_to_mend_what_fails(pml: RunPml, workspace: Path) -> None:
    (workspace / "permissions.yaml").write_text("version: 2\n")

    done = pml("doctor")

    assert done.returncode == ExitCode.UNAVAILABLE
    assert "failed  permissions" in done.stdout
    assert "-> " in done.stdout
