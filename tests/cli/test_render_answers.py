"""Answers, diagnostics, lists and events as text for people (OP-2, SA-7)."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.cli.progress import Progress
from pml.cli.render_diagnostics import render_diagnostics
from pml.cli.render_found import Given
from pml.cli.render_records import render_runs, render_servers, render_tools
from pml.cli.render_response import render_response
from pml.cli.table import duration, shorten, table
from pml.domain.events import RunStarted, TaskEnd, TaskStart
from pml.domain.permissions import Permission
from pml.domain.program import Diagnostic, Severity
from pml.domain.response import (
    DagMetadata,
    ExecuteError,
    ExecuteResponse,
    HeldCall,
    TaskSummary,
)
from pml.domain.run import Run, RunState
from pml.runtime.upstream.status import ServerState, ServerStatus

SOURCE = "const a = 1;\nawait mcp.fs.raed({ path });\n"


def diagnostic(line: int, column: int, text: str) -> Diagnostic:
    return Diagnostic(
        severity=Severity.ERROR,
        code="unknown-tool",
        message="no tool fs:raed; did you mean fs:read?",
        line=line,
        column=column,
        text=text,
    )


def test_a_diagnostic_points_at_the_offending_text() -> None:
    text = render_diagnostics([diagnostic(2, 14, "raed")], SOURCE, name="a.ts", width=80)

    assert text == (
        "a.ts:2:14: error: no tool fs:raed; did you mean fs:read? [unknown-tool]\n"
        "    2 | await mcp.fs.raed({ path });\n"
        "                     ^^^^"
    )


@given(
    line=st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1),
    column=st.integers(1, 200),
    width=st.integers(30, 100),
)
def test_the_caret_stands_under_the_column_however_long_the_line(
    line: str, column: int, width: int
) -> None:
    column = min(column, len(line))

    shown = render_diagnostics([diagnostic(1, column, "")], line, name="a.ts", width=width)

    _, text, caret = shown.split("\n")
    assert text[caret.index("^")] == line[column - 1]
    assert len(text) <= width


def test_an_approval_names_the_tools_and_how_to_allow_them() -> None:
    response = ExecuteResponse(
        status=RunState.APPROVAL_REQUIRED,
        workflow_id="r1",
        approvals=(Permission(tool="git:git_reset", reason="no entry in permissions.yaml"),),
    )

    text = render_response(response, source="", name="a.ts", width=80)

    assert "git:git_reset" in text
    assert "no entry in permissions.yaml" in text
    assert "approval_mode: auto" in text


def test_calls_that_wait_are_shown_with_all_that_they_send() -> None:
    """HIL-2: who decides sees the arguments; something has run already, so that is not denied."""
    answer = ExecuteResponse(
        status="approval_required",
        approvals=(Permission(tool="fs:delete", reason="the test"),),
        held=(HeldCall(task_id="n2_3", tool="fs:delete", arguments={"path": "/tmp/a"}),),
    )
    text = render_response(answer, source="", name="p.ts", width=80)
    assert '  n2_3 fs:delete {"path":"/tmp/a"}' in text
    assert "Nothing ran" not in text
    assert "the plan did not have these calls" in text


def test_an_error_names_the_line_and_the_calls_that_ran() -> None:
    response = ExecuteResponse(
        status=RunState.ERROR,
        workflow_id="r1",
        error=ExecuteError(code="tool_error", message="no such file", line=3),
        tasks=(TaskSummary(task_id="n1", tool="fs:stat", success=True, duration_ms=2.0),),
    )

    text = render_response(response, source="", name="a.ts", width=80)

    assert "a.ts:3: error: no such file [tool_error]" in text
    assert "n1" in text
    assert "pml trace r1" in text


def test_a_warning_does_not_hide_the_error() -> None:
    warning = Diagnostic(
        severity=Severity.WARNING, code="unawaited-call", message="wait", line=1, column=1
    )
    response = ExecuteResponse(
        status=RunState.ERROR,
        workflow_id="r1",
        diagnostics=(warning,),
        error=ExecuteError(code="program_error", message="enough"),
    )

    text = render_response(response, source="x", name="a.ts", width=80)

    assert "error: enough" in text
    assert "warning: wait" in text


def test_an_approval_is_asked_for_once() -> None:
    response = ExecuteResponse(
        status=RunState.APPROVAL_REQUIRED,
        workflow_id="r1",
        approvals=(Permission(tool="git:git_reset"),),
        error=ExecuteError(code="approval_required", message="git:git_reset may not be called"),
    )

    assert render_response(response, source="", name="a", width=80).count("git:git_reset") == 1


@pytest.mark.parametrize(
    ("calls", "speedup", "shown"),
    [(1, 0.01, False), (1, 1.2, False), (3, 0.9, False), (3, 2.0, True)],
)
def test_a_speed_up_is_told_only_where_calls_overlapped(
    calls: int, speedup: float, *, shown: bool
) -> None:
    tasks = (TaskSummary(task_id="n1", tool="fs:stat", success=True, duration_ms=10.0),) * calls
    dag = DagMetadata(tasks_count=calls, layers_count=1, speedup=speedup)
    response = ExecuteResponse(
        status=RunState.SUCCESS,
        workflow_id="r",
        execution_time_ms=924.0,
        result=1,
        tasks=tasks,
        dag=dag,
    )

    head = render_response(response, source="", name="a.ts", width=80).split("\n")[0]

    assert head.startswith("success in 924 ms with connecting, ")
    assert head.endswith(f"speed-up {speedup:.1f}") is shown


def test_the_next_command_looks_where_the_data_lie() -> None:
    response = ExecuteResponse(status=RunState.ERROR, workflow_id="r1")
    to_command = Given(data_dir=Path("my data"))

    text = render_response(response, source="", name="a.ts", width=80, given=to_command)

    assert text.endswith("pml trace r1 --data-dir 'my data'  shows each step")


def test_writes_of_unknown_outcome_are_listed_apart() -> None:
    task = TaskSummary(
        task_id="n2", tool="mail:send", success=False, duration_ms=1.0, error="no answer"
    )
    response = ExecuteResponse(status=RunState.IN_DOUBT, tasks=(task,), in_doubt=(task,))

    text = render_response(response, source="", name="a.ts", width=80)

    assert "nobody knows" in text


def run(state: RunState) -> Run:
    return Run(
        id="r1",
        intent="read\nthe notes",
        state=state,
        source_hash="0" * 64,
        owner="o",
        created_at_ms=0,
        updated_at_ms=0,
        timeout_ms=1,
    )


def test_runs_take_one_line_each() -> None:
    lines = render_runs([run(RunState.SUCCESS), run(RunState.ERROR)], width=80).split("\n")

    assert [line.split()[1] for line in lines] == ["state", "success", "error"]


def test_empty_lists_say_what_to_do() -> None:
    assert "pml demo" in render_runs([], width=80)
    assert "mcp.json" in render_servers([], width=80)
    assert "pml servers" in render_tools([], width=80)


def test_a_failed_server_says_why_below_the_list() -> None:
    status = ServerStatus(
        name="git",
        state=ServerState.FAILED,
        transport="stdio",
        error="exited with status 1",
        last_words=("fatal: not a repository",),
    )

    text = render_servers([status], width=80)

    assert "git: exited with status 1" in text
    assert "fatal: not a repository" in text


def test_events_count_from_the_start_of_the_run() -> None:
    lines: list[str] = []
    progress = Progress(lines.append, width=60)

    progress(RunStarted(run_id="r1", at_ms=1_000, intent="look"))
    progress(TaskStart(run_id="r1", at_ms=1_005, task_id="n1", tool="fs:stat"))
    progress(
        TaskEnd(
            run_id="r1",
            at_ms=1_017,
            task_id="n1",
            tool="fs:stat",
            success=True,
            duration_ms=12.0,
            result={"text": "x" * 500},
        )
    )

    assert lines[0] == "     0 ms  run r1 starts"
    assert lines[1] == "     5 ms  n1 -> fs:stat"
    assert lines[2].startswith('    17 ms  n1 <- fs:stat 12 ms: {"text": "xxx')
    assert all(len(line) <= 60 for line in lines)


def test_a_run_within_a_run_does_not_turn_its_clock_back() -> None:
    lines: list[str] = []
    progress = Progress(lines.append, width=60)

    for run_id, at_ms in (("parent", 1_000), ("child", 1_010), ("parent", 1_030)):
        progress(TaskStart(run_id=run_id, at_ms=at_ms, task_id="n1", tool="fs:stat"))

    assert [line.split(" ms")[0].strip() for line in lines] == ["0", "0", "30"]


@given(text=st.text(), width=st.integers(3, 50))
def test_shortened_text_is_one_line_that_fits(text: str, width: int) -> None:
    short = shorten(text, width)

    assert len(short) <= width
    assert len(short.splitlines()) <= 1


@given(
    rows=st.lists(st.lists(st.text(max_size=30), min_size=3, max_size=3), max_size=5),
    width=st.integers(90, 120),
)
def test_a_table_has_a_line_per_row_and_fits(rows: list[list[str]], width: int) -> None:
    lines = table(("a", "b", "c"), rows, width=width).split("\n")

    assert len(lines) == len(rows) + 1
    assert all(len(line) <= width for line in lines)


def test_durations_are_named_in_their_natural_unit() -> None:
    shown = [duration(ms) for ms in (0.04, 12.3, 1_240.0, 185_000.0)]

    assert shown == ["0.0 ms", "12 ms", "1.24 s", "3 min 5 s"]
