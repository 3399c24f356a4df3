"""Exit codes: each state and each error has one, and the pages say so (OP-2)."""

from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from docs.reference.generate import COMMANDS, PAGES, commands
from pml import errors
from pml.cli.exits import ExitCode, for_error, for_response
from pml.cli.main import app
from pml.domain.response import ExecuteError, ExecuteResponse
from pml.domain.run import RunState

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.ConfigError("mcp.json", "expected JSON", line=3), ExitCode.CONFIG),
        (errors.DatasetError("tools.parquet", "no rows"), ExitCode.CONFIG),
        (errors.RequestError("intent: expected a few words"), ExitCode.USAGE),
        (errors.EmbeddedPostgresError("did not start"), ExitCode.UNAVAILABLE),
        (errors.SandboxError("did not start"), ExitCode.UNAVAILABLE),
        (errors.UpstreamUnavailableError("git", "gone"), ExitCode.UNAVAILABLE),
        (errors.NotFoundError("run", "r1"), ExitCode.NOT_FOUND),
        (errors.RunStateError("r1", "success", "running"), ExitCode.FAILED),
    ],
)
def test_an_error_ends_with_the_code_of_its_branch(error: errors.PmlError, code: ExitCode) -> None:
    assert for_error(error) is code


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (RunState.SUCCESS, ExitCode.OK),
        (RunState.ERROR, ExitCode.FAILED),
        (RunState.APPROVAL_REQUIRED, ExitCode.APPROVAL_REQUIRED),
        (RunState.IN_DOUBT, ExitCode.IN_DOUBT),
        ("suggestions", ExitCode.SUGGESTIONS),
    ],
)
def test_a_run_ends_with_the_code_of_its_state(state: str, code: ExitCode) -> None:
    assert for_response(ExecuteResponse(status=state)) is code


def test_a_lost_database_is_no_fault_of_the_program() -> None:
    lost = ExecuteError(code="store_unavailable", message="gone")

    assert for_response(ExecuteResponse(status=RunState.ERROR, error=lost)) is ExitCode.UNAVAILABLE


@pytest.mark.parametrize("page", PAGES)
def test_the_reference_pages_are_what_the_code_says(page: str) -> None:
    committed = (ROOT / "docs" / "reference" / page).read_text(encoding="utf-8")

    assert committed == PAGES[page](), "run .venv/bin/python docs/reference/generate.py"


def test_every_command_is_in_the_reference_and_has_an_example() -> None:
    group = get_command(app)
    assert isinstance(group, TyperGroup)

    assert set(group.commands) == set(COMMANDS)
    assert [path for path, epilog in commands() if "Examples:" not in epilog] == []
