"""`pml evaluate`: tables or JSON on stdout, a report in a folder, exit codes (RW-6, OP-2)."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pml.cli.evaluate import EvaluationProgress
from pml.cli.exits import ExitCode, for_error
from pml.cli.main import app
from pml.cli.render_evaluation import LEGEND, render_evaluation
from pml.domain.evaluation import Evaluation
from pml.domain.record import decode
from pml.errors import ConfigError, PmlError, RequestError
from pml.evaluation.page import page
from pml.evaluation.run import Progress
from tests.cli.conftest import COMMAND_TIMEOUT_S, PML, RunPml
from tests.evaluation.folders import write
from tests.evaluation.guessing import FAILING, TASK, written
from tests.evaluation.test_run import report

WAITING = """
import os
from pathlib import Path


class Waits:
    name = "waits"
    task = "guess"

    def answers(self, question):
        try:
            first = os.open({first!r}, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            os.write(first, str(os.getpid()).encode())
        except FileExistsError:
            if Path({first!r}).read_text() != str(os.getpid()):
                told = os.open({fifo!r}, os.O_WRONLY)
                os.write(told, b"waiting")
                os.read(os.pipe()[0], 1)
        return question
"""
"""The process that is first answers; the other waits for ever."""


@pytest.fixture
def given(workspace: Path) -> list[str]:
    """A set, and a task of its own: words of the command line."""
    write(workspace / "set")
    (path,) = written(workspace, task=TASK)
    return ["evaluate", "set", "--tasks", "guess", "--method-file", str(path)]


def test_json_is_alone_on_stdout_progress_on_stderr_and_the_report_in_its_folder(
    pml: RunPml, given: list[str], workspace: Path
) -> None:
    printing = TASK.replace("return question\n", "print('chatter')\n        return question\n", 1)
    written(workspace, task=printing)

    done = pml(*given, "--json", "--out", "some/report", "--quiet")

    found = decode(Evaluation, done.stdout)
    folder = workspace / "some" / "report"
    assert done.returncode == ExitCode.OK
    assert [each.label for each in found.problems] == ["even", "odd"]
    assert done.stderr.splitlines() == [
        *["chatter"] * 2,
        "wrote some/report/report.json and some/report/report.html",
    ]
    assert (folder / "report.json").read_text() == done.stdout
    assert (folder / "report.html").read_text().startswith("<!doctype html>")


def test_tables_tell_who_is_best_and_who_failed_and_the_code_says_so(
    given: list[str], workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    (path,) = written(workspace, failing=FAILING)

    outcome = CliRunner().invoke(app, [*given, "--method-file", str(path), "-q"])

    assert outcome.exit_code == ExitCode.FAILED
    assert "set: Guessing (even), 100 cases" in outcome.stdout
    assert "*  right" in outcome.stdout
    assert "raises failed: RuntimeError: no <idea>" in outcome.stdout
    assert LEGEND in " ".join(outcome.stdout.split())
    assert outcome.stderr == ""


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["gone"], ExitCode.CONFIG, "there is nothing of that name"),
        (["set", "--tasks", "tool"], ExitCode.USAGE, "did you mean 'tools'"),
        (["set", "--methods", "bm52"], ExitCode.USAGE, "did you mean 'bm25"),
        (["set", "--method-file", "gone.py"], ExitCode.CONFIG, "gone.py"),
        (["set", "--tasks", "tools", "--out", "set/tools.parquet/x"], 5, "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], code: ExitCode, said: str
) -> None:
    write(tmp_path / "set")
    monkeypatch.chdir(tmp_path)

    outcome = CliRunner().invoke(app, ["evaluate", *words, "--quiet", "--processes", "1"])

    assert isinstance(outcome.exception, PmlError)
    assert (for_error(outcome.exception), outcome.stdout) == (code, "")
    assert said in str(outcome.exception)


@pytest.mark.parametrize("in_the_way", ["out", "out/report.json/", "out/report.html/"])
def test_a_report_that_has_no_place_is_said_before_anything_is_evaluated(
    given: list[str], workspace: Path, monkeypatch: pytest.MonkeyPatch, in_the_way: str
) -> None:
    monkeypatch.chdir(workspace)
    if in_the_way.endswith("/"):
        Path(in_the_way).mkdir(parents=True)
    else:
        Path(in_the_way).write_text("of somebody")
    telling = TASK.replace("return question\n", "open('asked', 'w')\n        return question\n", 1)
    written(workspace, task=telling)

    outcome = CliRunner().invoke(app, [*given, "--out", "out"])

    assert isinstance(outcome.exception, ConfigError)
    assert re.search(rf"cannot be written \(.*: {in_the_way.rstrip('/')}\)", str(outcome.exception))
    assert not Path("asked").exists()


def test_looking_whether_a_report_can_be_written_leaves_an_older_one_alone(
    given: list[str], workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workspace)
    Path("out").mkdir()
    Path("out/report.json").write_text("older")

    outcome = CliRunner().invoke(app, [*given, "--out", "out", "--methods", "bm25"])

    assert isinstance(outcome.exception, RequestError)  # that method is of another task
    assert Path("out/report.json").read_text() == "older"
    assert not Path("out/report.html").exists()


def test_ctrl_c_leaves_a_report_of_what_was_finished_and_no_process(
    environment: dict[str, str], workspace: Path
) -> None:
    fifo, first = workspace / "fifo", workspace / "first"
    os.mkfifo(fifo)
    waiting = WAITING.format(fifo=str(fifo), first=str(first))
    files = written(workspace, task=TASK, waits=waiting)
    words = [word for path in files for word in ("--method-file", str(path))]
    folders = [str(write(workspace / name)) for name in ("one", "two")]
    process = subprocess.Popen(
        [str(PML), "evaluate", *folders, "--tasks", "guess", *words, "--out", "report", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=workspace,
        env=environment,
        start_new_session=True,
    )
    assert process.stderr is not None
    with fifo.open("rb") as told:
        assert told.read(len(b"waiting")) == b"waiting"
        assert process.stderr.readline().startswith(b"[1/2]")
        os.killpg(process.pid, signal.SIGINT)
        out, error = process.communicate(timeout=COMMAND_TIMEOUT_S)
        assert told.read() == b""  # comes when no process has it open any more

    report = decode(Evaluation, out)
    assert process.returncode == ExitCode.INTERRUPTED, error
    assert report.interrupted
    assert (workspace / "report" / "report.json").read_bytes() == out
    waiting_at = next(each for each in report.problems if each.interrupted)
    assert [(each.label, each.interrupted) for each in report.problems if each != waiting_at] == [
        ("even", False),
        ("odd", False),
    ]
    assert [(each.method, each.error is None) for each in waiting_at.methods] == [
        ("right", True),
        ("half", True),
        ("waits", False),
    ]
    assert "(even), 100 cases, interrupted and not compared" in render_evaluation(report, width=90)
    assert "interrupted: not all methods were asked" in page(report)


def test_a_table_leaves_out_metrics_rather_than_lines(tmp_path: Path) -> None:
    found = report(tmp_path)

    wide, narrow = (render_evaluation(found, width=width) for width in (100, 50))

    assert " sum " in wide
    assert " sum " not in narrow
    assert "-.500 (p < .001)" in wide
    lines = [shown[: shown.index("* best,")].count("\n") for shown in (wide, narrow)]
    assert lines[0] == lines[1]


def test_in_a_terminal_progress_is_one_line_that_goes_away(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = EvaluationProgress(in_place=True, quiet=False)

    progress(Progress(done=0, of=2, what="errands tools: bm25"))
    progress.close()

    assert capsys.readouterr().err == "\r\x1b[K[0/2] errands tools: bm25\r\x1b[K"


def test_what_a_set_is_called_cannot_move_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    progress = EvaluationProgress(in_place=True, quiet=False)

    progress(Progress(done=0, of=1, what="\x1b[2J tools"))

    assert "\x1b[2J" not in capsys.readouterr().err


def test_help_of_the_command_imports_nothing_heavy() -> None:
    code = (
        "import sys, pml.cli.main as m\n"
        "from typer.testing import CliRunner\n"
        "assert CliRunner().invoke(m.app, ['evaluate', '--help']).exit_code == 0\n"
        "print([n for n in ('polars', 'numpy', 'sklearn', 'matplotlib') if n in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout == "[]\n"
