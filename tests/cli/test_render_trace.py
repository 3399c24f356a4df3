"""A trace as text: every call, and bars that overlap where calls overlapped (EX-4, EX-7)."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from pml.cli.render_trace import render_timeline, render_trace
from pml.domain.run import RunState
from pml.domain.trace import BranchDecision, ExecutionTrace, TaskResult


def task(task_id: str, start: int, length: float, **changes: object) -> TaskResult:
    fields: dict[str, object] = {
        "task_id": task_id,
        "node_id": task_id.partition("_")[0],
        "tool": "git:log",
        "args": {"path": "."},
        "result": "text",
        "success": True,
        "started_at_ms": 1_000 + start,
        "duration_ms": length,
        "attempts": 1,
        "delivered": True,
    }
    return TaskResult(**{**fields, **changes})  # type: ignore[arg-type]


def trace(*tasks: TaskResult, decisions: tuple[BranchDecision, ...] = ()) -> ExecutionTrace:
    return ExecutionTrace(
        id="t1",
        run_id="r1",
        intent_text="read the history",
        executed_at_ms=0,
        success=True,
        state=RunState.SUCCESS,
        duration_ms=100.0,
        executed_path=tuple(dict.fromkeys(t.node_id for t in tasks)),
        decisions=decisions,
        task_results=tasks,
    )


PARALLEL = trace(
    task("n1", 0, 60.0),
    task("n2", 0, 60.0),
    task("n3", 60, 30.0, success=False, error="no such file", error_code="tool_error", result=None),
    decisions=(
        BranchDecision(node_id="d1", outcome="true"),
        BranchDecision(node_id="d1", outcome="true"),
        BranchDecision(node_id="d1", outcome="false"),
    ),
)
PARALLEL_TEXT = """\
run r1
success in 100 ms, 3 calls, 1970-01-01 00:00:00 UTC
intent: read the history

call  tool         time  0                                           90 ms
n1    git:log     60 ms  #################################................
n2    git:log     60 ms  #################################................
n3    git:log     30 ms  ................................#################  failed
150 ms of calls within 90 ms, speed-up 1.7

decisions
  d1: true x2, false

arguments (<-) and results (->)
  n1  <- {"path": "."}
      -> text
  n2  <- {"path": "."}
      -> text
  n3  <- {"path": "."}
      !! no such file"""


def test_calls_side_by_side_show_as_bars_that_overlap() -> None:
    text = render_trace(PARALLEL, width=84)

    assert [line.rstrip() for line in text.split("\n")] == PARALLEL_TEXT.split("\n")


def test_a_write_of_unknown_outcome_is_shown_as_in_doubt() -> None:
    text = render_timeline(
        trace(task("n1", 0, 5.0, success=False, error_code="in_doubt", delivered=False)), width=80
    )

    assert "in doubt" in text


def test_a_run_that_waits_for_a_person_says_so() -> None:
    waiting = msgspec.structs.replace(trace(), state=RunState.APPROVAL_REQUIRED)

    assert "a person has to agree" in render_trace(waiting, width=80)


def test_a_run_without_calls_has_no_timeline() -> None:
    assert render_timeline(trace(), width=80) == ""


tasks = st.lists(
    st.tuples(st.integers(0, 10_000), st.floats(0.01, 10_000)), min_size=1, max_size=8
).map(lambda pairs: [task(f"n{i}", start, length) for i, (start, length) in enumerate(pairs)])


@given(tasks=tasks, width=st.integers(70, 120))
def test_every_call_has_a_bar_of_the_same_room_that_is_never_empty(
    tasks: list[TaskResult], width: int
) -> None:
    lines = render_timeline(trace(*tasks), width=width).split("\n")[1:-1]

    bars = [next(word for word in line.split() if set(word) <= {"#", "."}) for line in lines]
    assert len(bars) == len(tasks)
    assert len({len(bar) for bar in bars}) == 1
    assert all("#" in bar for bar in bars)
    assert all(len(line) <= width for line in lines)
