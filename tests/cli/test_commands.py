"""The commands as users run them: stdout, stderr and exit code of real processes (OP-2, OP-5)."""

import hashlib
import json
import signal
import subprocess
from pathlib import Path

import pytest

from pml.cli.exits import ExitCode
from pml.domain.plan import Plan
from pml.domain.record import decode
from pml.domain.response import ExecuteResponse
from pml.domain.run import Run, RunState
from pml.domain.structure import StaticStructure
from tests.cli.conftest import PML, RunPml

ECHO = "const said = await mcp.fixture.echo({ text: args.word });\nreturn said;\n"
INTENT = ("--intent", "say a word")


def calls(workspace: Path) -> int:
    """How many calls the server has seen."""
    counter = workspace / "calls.jsonl"
    return len(counter.read_text().splitlines()) if counter.exists() else 0


@pytest.fixture
def echo(workspace: Path) -> str:
    (workspace / "echo.ts").write_text(ECHO)
    return "echo.ts"


def test_execute_prints_the_response_and_nothing_else(
    pml: RunPml, echo: str, workspace: Path
) -> None:
    done = pml("execute", *INTENT, "--code-file", echo, "--args", '{"word": "hi"}', "--json")

    response = decode(ExecuteResponse, done.stdout)
    assert (response.status, response.result) == (RunState.SUCCESS, "hi")
    assert done.stdout.count("\n") == 1
    assert done.returncode == ExitCode.OK
    assert calls(workspace) == 1


def test_execute_shows_each_step_on_stderr_and_the_result_on_stdout(pml: RunPml, echo: str) -> None:
    done = pml("execute", *INTENT, "--code-file", echo, "--args", '{"word": "hi"}')

    assert "n1 -> fixture:echo" in done.stderr
    assert done.stdout.startswith("success in ")
    assert '"hi"' in done.stdout
    assert "pml trace " in done.stdout


def test_quiet_leaves_stderr_empty(pml: RunPml, echo: str) -> None:
    done = pml("execute", *INTENT, "--code-file", echo, "--args", '{"word": "hi"}', "-q")

    assert (done.returncode, done.stderr) == (ExitCode.OK, "")


def test_a_program_can_come_from_stdin(pml: RunPml) -> None:
    done = pml("execute", *INTENT, "--code-file", "-", "--json", stdin="return 1 + 1;")

    assert decode(ExecuteResponse, done.stdout).result == 2


def test_an_explicit_dag_runs_like_a_program(pml: RunPml, workspace: Path) -> None:
    tasks = [
        {"id": "a", "tool": "fixture:echo", "arguments": {"text": "x"}},
        {
            "id": "b",
            "tool": "fixture:echo",
            "arguments": {"text": "$OUTPUT[a]"},
            "depends_on": ["a"],
        },
    ]
    (workspace / "dag.json").write_text(json.dumps({"tasks": tasks}))

    done = pml("execute", *INTENT, "--dag-file", "dag.json", "--json")

    assert decode(ExecuteResponse, done.stdout).status == RunState.SUCCESS
    assert calls(workspace) == 2


def test_a_dry_run_calls_nothing_that_changes_anything(
    pml: RunPml, echo: str, workspace: Path
) -> None:
    """EX-6: mocks of the option, then of mocks.yaml beside permissions.yaml, then the default."""
    dry = ("execute", *INTENT, "--code-file", echo, "--args", '{"word": "hi"}', "--dry-run")

    said = pml(*dry, "--mocks", '{"fixture:*": "nothing sent"}')
    assert "mocked: nothing sent" in said.stdout
    configured = 'version: 1\nmocks:\n  "fixture:echo": {from: "mocks.yaml"}\n'
    (workspace / "mocks.yaml").write_text(configured)
    (workspace / "permissions.yaml").write_text("version: 1\n")
    done = pml(*dry, "--json")
    response = decode(ExecuteResponse, done.stdout)
    assert (response.status, response.result) == (RunState.SUCCESS, {"from": "mocks.yaml"})
    assert pml("trace", response.workflow_id or "").stdout.count("mocked") == 1
    assert calls(workspace) == 0


def test_a_program_that_throws_exits_with_failed_and_names_the_line(pml: RunPml) -> None:
    done = pml("execute", *INTENT, "--code-file", "-", stdin="\nthrow new Error('enough');")

    assert done.returncode == ExitCode.FAILED
    assert "<stdin>:2: error: " in done.stdout
    assert "enough" in done.stdout


def test_a_syntax_error_is_pointed_at_and_nothing_runs(pml: RunPml, workspace: Path) -> None:
    source = "await mcp.fixture.echo({ text: 'x' });\nif (;\n"
    done = pml("execute", *INTENT, "--code-file", "-", stdin=source)

    assert done.returncode == ExitCode.FAILED
    assert "    2 | if (;" in done.stdout
    assert "^" in done.stdout
    assert calls(workspace) == 0


def test_a_tool_without_permission_needs_approval_and_nothing_runs(
    pml: RunPml, workspace: Path
) -> None:
    source = "await mcp.fixture.echo({text: 'x'});\nawait mcp.fixture.write({text: 'x'});"
    done = pml("execute", *INTENT, "--code-file", "-", stdin=source)

    assert done.returncode == ExitCode.APPROVAL_REQUIRED
    assert "fixture:write" in done.stdout
    assert "n2 fixture:write (line 2)" in done.stdout
    assert calls(workspace) == 0


def test_a_plan_is_shown_with_the_permissions_in_force_and_nothing_runs(
    pml: RunPml, workspace: Path
) -> None:
    source = "if (args.loud) await mcp.fixture.write({ text: args.text });"
    done = pml("analyse", "-", "--plan", "--args", '{"text": "x"}', stdin=source)

    assert done.returncode == ExitCode.OK
    assert "fixture:write: write, full, needs approval" in done.stdout
    assert "if d1: args.loud is true" in done.stdout
    assert 'text = "x"' in done.stdout
    assert calls(workspace) == 0


def test_a_plan_as_json_is_bound_to_the_source_as_sent(pml: RunPml) -> None:
    source = "// as sent\nawait mcp.fixture.echo({ text: 'x' });"
    done = pml("analyse", "-", "--plan", "--json", stdin=source)

    plan = decode(Plan, done.stdout)
    assert plan.program.source_hash == hashlib.sha256(source.encode()).hexdigest()


def test_an_unanswered_write_ends_in_doubt(pml: RunPml) -> None:
    done = pml("execute", *INTENT, "--code-file", "-", stdin="await mcp.fixture.die({});")

    assert done.returncode == ExitCode.IN_DOUBT
    assert "nobody knows" in done.stdout


def test_ctrl_c_ends_the_run_and_says_so(
    environment: dict[str, str], workspace: Path, pml: RunPml
) -> None:
    command = [str(PML), "execute", *INTENT, "--code-file", "-"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=workspace,
        env=environment,
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write("await mcp.fixture.hang({});")
        process.stdin.close()
        for line in process.stderr:
            if "n1 -> fixture:hang" in line:
                break
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()

    assert process.returncode == ExitCode.INTERRUPTED
    assert "Traceback" not in rest
    latest, *_ = json.loads(pml("runs", "--json").stdout)
    assert decode(Run, json.dumps(latest)).state is RunState.CANCELLED


def test_analyse_prints_the_structure_and_runs_nothing(pml: RunPml, workspace: Path) -> None:
    (workspace / "echo.ts").write_text(ECHO)

    done = pml("analyse", "echo.ts", "--json")

    structure = decode(StaticStructure, done.stdout)
    assert structure.tools() == ("fixture:echo",)
    assert done.returncode == ExitCode.OK
    assert calls(workspace) == 0


def test_analyse_needs_no_servers(pml: RunPml, workspace: Path) -> None:
    (workspace / "mcp.json").unlink()

    done = pml("analyse", "-", stdin="if (args.deep) await mcp.nowhere.dig({ depth: 3 });")

    assert done.returncode == ExitCode.OK
    assert "nowhere:dig(depth: 3)" in done.stdout
    assert "d1=true" in done.stdout


def test_an_unknown_tool_is_named_with_the_nearest(pml: RunPml) -> None:
    done = pml("analyse", "-", stdin="await mcp.fixture.ecco({ text: 'x' });")

    assert done.returncode == ExitCode.FAILED
    assert "echo" in done.stderr


def test_a_run_can_be_looked_at_afterwards(pml: RunPml, echo: str) -> None:
    ran = pml("execute", *INTENT, "--code-file", echo, "--args", '{"word": "later"}', "--json")
    run_id = decode(ExecuteResponse, ran.stdout).workflow_id
    assert run_id is not None

    listed = pml("runs", "--limit", "1")
    shown = pml("trace", run_id)
    whole = pml("trace", run_id, "--task", "n1")
    as_json = pml("trace", "--json")

    assert run_id[:8] in listed.stdout
    assert "-> later" in shown.stdout
    assert json.loads(whole.stdout) == "later"
    story = json.loads(as_json.stdout)
    assert (story["runId"], story["run"]["id"]) == (run_id, run_id)


def test_an_unknown_run_is_not_found(pml: RunPml) -> None:
    done = pml("trace", "no-such-run")

    assert done.returncode == ExitCode.NOT_FOUND
    assert done.stderr.startswith("pml: no run 'no-such-run'")


def test_servers_shows_why_one_failed_beside_the_others(pml: RunPml, workspace: Path) -> None:
    config = json.loads((workspace / "mcp.json").read_text())
    script = "import sys; sys.exit('cannot find the key')"
    config["mcpServers"]["broken"] = {"command": "python3", "args": ["-c", script]}
    (workspace / "mcp.json").write_text(json.dumps(config))

    done = pml("servers")

    assert done.returncode == ExitCode.UNAVAILABLE
    assert "fixture  ready" in done.stdout
    assert "cannot find the key" in done.stdout


def test_tools_shows_schema_and_permission_of_one(pml: RunPml) -> None:
    done = pml("tools", "fixture:echo")

    assert done.returncode == ExitCode.OK
    assert "effect read" in done.stdout
    assert '"text"' in done.stdout


def test_tools_provides_shows_whose_result_can_be_whose_argument(pml: RunPml) -> None:
    """SA-10, with the tools of epic 10: `stat` knows the encoding that `read` takes."""
    shown = pml("tools", "fixture:stat", "--provides")
    (edge,) = json.loads(pml("tools", "fixture:read", "--provides", "--json").stdout)

    assert shown.stdout.splitlines()[1].split() == [
        *("fixture:stat", "fixture:read", "optional", "encoding", "->", "encoding")
    ]
    assert (edge["provider"], edge["consumer"]) == ("fixture:stat", "fixture:read")
    assert edge["fieldMapping"][0]["toField"] == "encoding"
    assert pml("tools", "fixture:echo", "--provides", "--json").stdout.strip() == "[]"


def test_a_misspelt_tool_is_not_found_but_guessed(pml: RunPml) -> None:
    done = pml("tools", "fixture:ecco")

    assert done.returncode == ExitCode.NOT_FOUND
    assert "did you mean fixture:echo" in done.stderr
