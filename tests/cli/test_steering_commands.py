"""Runs that wait, and what people say to them: continue, abort, replan, approve (EX-5, HIL-4)."""

import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pml.cli.exits import ExitCode
from pml.cli.main import app
from tests.cli.conftest import PML, RunPml

INTENT = ("--intent", "say it twice")
LAYERS = """\
const first = await mcp.fixture.echo({ text: args.word });
return await mcp.fixture.echo({ text: first + "!" });
"""
WRITES = 'await mcp.fixture.put({ path: args.path, text: "agreed" });\nreturn "written";\n'


def calls(workspace: Path) -> list[str]:
    """The tools that the server was asked for."""
    counter = workspace / "calls.jsonl"
    lines = counter.read_text().splitlines() if counter.exists() else []
    return [json.loads(line)["tool"] for line in lines]


def started(pml: RunPml, source: str, *options: str) -> tuple[int, dict[str, Any]]:
    """Exit code and answer of a program."""
    done = pml("execute", *INTENT, "--code-file", "-", *options, "--json", stdin=source)
    return done.returncode, json.loads(done.stdout)


def paused(pml: RunPml) -> str:
    code, answer = started(pml, LAYERS, "--per-layer", "--args", '{"word": "hi"}')
    assert code == ExitCode.PAUSED
    return str(answer["workflowId"])


def test_a_run_stops_after_a_layer_and_goes_on_by_the_command_that_it_names(
    pml: RunPml, workspace: Path
) -> None:
    """EX-5: over processes, each call once."""
    code, answer = started(pml, LAYERS, "--per-layer", "--args", '{"word": "hi"}')
    assert (code, answer["status"]) == (ExitCode.PAUSED, "layer_complete")
    assert calls(workspace) == ["echo"]

    command = answer["next"][0]["command"].split()
    assert command == ["pml", "continue", answer["workflowId"][:8]]
    done = pml(*command[1:])
    assert done.returncode == ExitCode.OK, done.stderr
    assert '"hi!"' in done.stdout
    assert calls(workspace) == ["echo", "echo"]

    again = pml(*command[1:])
    assert again.returncode == ExitCode.OK
    assert "had ended before" in again.stderr
    assert calls(workspace) == ["echo", "echo"]


def test_people_read_what_is_held_until_when_and_what_to_do(pml: RunPml) -> None:
    done = pml(
        *("execute", *INTENT, "--code-file", "-", "--per-layer", "--args", '{"word": "hi"}'),
        stdin=LAYERS,
    )

    assert "held: not sent before somebody says so (layer 2)\n  n2  fixture:echo" in done.stdout
    assert "failed" not in done.stdout
    assert "It waits until 20" in done.stdout
    assert "  pml abort " in done.stdout
    assert "run waits: paused" in done.stderr


def test_an_aborted_run_says_why_and_is_over(pml: RunPml) -> None:
    run_id = paused(pml)
    mistaken = pml("continue", run_id, "--resolve", "n2=skip")
    assert (mistaken.returncode, "not in doubt" in mistaken.stderr) == (ExitCode.USAGE, True)
    assert "held: not sent" in pml("trace", run_id).stdout

    done = pml("abort", run_id[:8], "--reason", "wrong word")
    assert done.returncode == ExitCode.OK
    assert "aborted by local: wrong word" in done.stdout
    assert "never sent" in done.stdout
    assert "before layer 2: there it ended: aborted" in pml("trace", run_id).stdout
    late = pml("continue", run_id)
    assert late.returncode == ExitCode.FAILED
    assert "had ended before" in late.stderr


def test_other_code_goes_on_with_what_was_done(pml: RunPml, workspace: Path) -> None:
    """The finished results are `context` of the new run, and nothing is called again."""
    run_id = paused(pml)

    waiting = pml("runs", "--waiting").stdout
    assert f"to be continued: pml continue {run_id[:8]}" in waiting
    again = ("replan", run_id, "--code-file", "-", "--json")
    done = pml(*again, stdin='return context.n1 + "?";')
    assert done.returncode == ExitCode.OK, done.stderr
    answer = json.loads(done.stdout)
    assert answer["result"] == "hi?"
    assert "it was replanned before" in pml(*again, stdin="return 1;").stdout
    assert calls(workspace) == ["echo"]
    assert f"replaced by run {answer['workflowId']}" in pml("trace", run_id[:8]).stdout
    assert f"replaces run {run_id}" in pml("trace", answer["workflowId"]).stdout


def test_a_write_in_doubt_is_settled_by_what_somebody_says(pml: RunPml, workspace: Path) -> None:
    """EX-3: not sent again, unless that is what was said."""
    code, answer = started(pml, "return await mcp.fixture.die({});")
    assert code == ExitCode.IN_DOUBT
    run_id = answer["workflowId"]
    offered = [each["command"] for each in answer["next"]]
    assert f"pml continue {run_id[:8]} --resolve n1=skip" in offered

    unsaid = pml("continue", run_id)
    assert unsaid.returncode == ExitCode.IN_DOUBT
    unknown = pml("continue", run_id, "--resolve", "n9=skip")
    assert (unknown.returncode, "no task 'n9'" in unknown.stderr) == (ExitCode.USAGE, True)
    done = pml("continue", run_id, "--resolve", 'n1=result:{"ok": true}', "--json")
    assert json.loads(done.stdout)["result"] == {"ok": True}
    assert calls(workspace) == ["die"]
    told = pml("trace", run_id).stdout
    assert "n1: in doubt; somebody gave the result" in told
    replayed = pml("trace", run_id, "--replay")
    assert (replayed.returncode, "no call, the same way" in replayed.stdout) == (0, True)
    assert calls(workspace) == ["die"]


def test_what_waits_for_a_person_is_listed_shown_and_goes_on_with_yes(
    pml: RunPml, workspace: Path
) -> None:
    """HIL-2, HIL-4: never a silent wait; the answer lets it go on at once."""
    path = workspace / "out.txt"
    code, answer = started(pml, WRITES, "--args", json.dumps({"path": str(path)}))
    run_id = answer["workflowId"]
    assert code == ExitCode.APPROVAL_REQUIRED
    assert f"pml approve {run_id[:8]}" in [each["command"] for each in answer["next"]]

    listed = pml("approve")
    assert f"{run_id[:8]}  asked " in listed.stdout
    assert "fixture:put" in listed.stdout
    assert run_id in [
        each["approval"]["runId"] for each in json.loads(pml("approve", "--json").stdout)
    ]
    unanswered = pml("approve", run_id)
    assert unanswered.returncode == ExitCode.APPROVAL_REQUIRED
    assert f'path = "{path}"' in unanswered.stdout
    assert "nothing was decided" in unanswered.stderr

    done = pml("approve", run_id[:8], "--yes")
    assert done.returncode == ExitCode.OK, done.stderr
    assert '"written"' in done.stdout
    assert (path.read_text(), calls(workspace)) == ("agreed", ["put"])
    assert "granted by local" in pml("trace", run_id).stdout
    assert pml("approve", run_id, "--deny").returncode == ExitCode.FAILED
    assert run_id[:8] not in pml("approve").stdout


def test_a_refusal_ends_the_run_and_calls_nothing(pml: RunPml, workspace: Path) -> None:
    _, answer = started(pml, WRITES, "--args", '{"path": "x"}')

    done = pml("approve", answer["workflowId"], "--deny", "--note", "not on a Friday")
    assert done.returncode == ExitCode.OK
    assert "refused by local: not on a Friday" in done.stdout
    assert calls(workspace) == []


@pytest.mark.parametrize(
    ("typed", "code", "called"),
    [("y", ExitCode.OK, ["put"]), ("", ExitCode.APPROVAL_REQUIRED, [])],
)
def test_a_person_at_a_terminal_is_shown_the_plan_and_asked(  # noqa: PLR0917  # fixtures
    pml: RunPml,
    environment: dict[str, str],
    workspace: Path,
    typed: str,
    code: int,
    called: list[str],
) -> None:
    path = workspace / "out.txt"
    _, answer = started(pml, WRITES, "--args", json.dumps({"path": str(path)}))

    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [str(PML), "approve", answer["workflowId"]],
        stdin=theirs,
        stderr=theirs,
        stdout=subprocess.PIPE,
        cwd=workspace,
        env=environment,
    ) as process:
        os.close(theirs)
        shown = b""
        while b"decides later: " not in shown:
            shown += os.read(ours, 1_000)
        os.write(ours, f"{typed}\n".encode())
        assert process.stdout is not None
        printed = process.stdout.read()
    os.close(ours)

    assert f"for: {INTENT[1]}".encode() in shown
    assert f'path = "{path}"'.encode() in shown
    assert (process.returncode, calls(workspace)) == (code, called)
    assert (b"written" in printed) == (typed == "y")


def test_a_run_of_a_living_process_is_left_alone_until_it_is_aborted(
    pml: RunPml, environment: dict[str, str], workspace: Path
) -> None:
    with subprocess.Popen(
        [str(PML), "execute", *INTENT, "--code-file", "-"],
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
        run_id = json.loads(pml("runs", "--limit", "1", "--json").stdout)[0]["id"]
        left = pml("continue", run_id)
        assert left.returncode == ExitCode.UNDER_WAY
        assert "under way" in left.stdout
        ended = pml("abort", run_id)
        assert ended.returncode == ExitCode.OK
        assert "aborted by local" in ended.stdout
        process.stderr.read()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("continue", "3f2a", "--resolve", "n2"), "CALL=retry"),
        (("continue", "3f2a", "--resolve", "n2=again"), "CALL=retry"),
        (("continue", "3f2a", "--resolve", "n2=result:x"), "expected JSON"),
        (("replan", "3f2a"), "--code-file or --dag-file"),
        (("approve", "3f2a", "--yes", "--deny"), "--yes or --deny"),
        (("approve", "3f2a", "--deny", "--remember", "a:b"), "--remember"),
        (("approve", "3f2a", "--for", "8h"), "--remember TOOL"),
        (("approve", "3f2a", "--remember", "a:b", "--for", "soon"), "such as 8h"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(arguments: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(app, arguments)

    assert done.exit_code == ExitCode.USAGE
    assert said in " ".join(done.stderr.split())


def test_an_unknown_run_is_not_found_and_the_list_is_named(pml: RunPml) -> None:
    done = pml("continue", "no-such-run")

    assert done.returncode == ExitCode.NOT_FOUND
    assert "no run 'no-such-run': `pml runs` lists them" in done.stderr
