"""What an answer holds of a result, however large it is (MCP-2, MCP-3, EX-7)."""

import json

import jsonschema_rs
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from pml.analysis.plan_text import plan_text
from pml.domain.limits import Limits
from pml.domain.plan import Plan, PlannedProgram
from pml.domain.record import encode
from pml.domain.response import DagMetadata, ExecuteResponse, TaskSummary
from pml.serve.definitions import tool_definitions
from pml.serve.results import PREVIEW_CHARS, Answer, executed

LIMITS = Limits(answer_bytes=3_000)
(SCHEMA,) = (t.output_schema for t in tool_definitions(LIMITS) if t.name == "pml_execute")
TEXTS = st.text("aé\U0001f600", max_size=40).map(lambda text: text * 100)


def answered(result: object) -> tuple[Answer, ExecuteResponse]:
    response = ExecuteResponse(status="success", workflow_id="w", result=result, warnings=("old",))
    answer = executed(response, LIMITS)
    assert isinstance(answer.record, ExecuteResponse)
    assert SCHEMA is not None
    jsonschema_rs.validate(SCHEMA, json.loads(answer.text))
    assert json.loads(answer.text) == json.loads(encode(answer.to_sdk().structured_content))
    return answer, answer.record


@given(result=st.lists(TEXTS) | TEXTS | st.none())
def test_a_result_is_there_whole_or_with_its_beginning_and_where_to_read_it(
    result: object,
) -> None:
    whole = encode(result)
    answer, record = answered(result)
    if len(whole) <= LIMITS.answer_bytes:
        assert (record.result, record.result_preview, record.result_chars) == (result, None, None)
        assert record.warnings == ("old",)
    else:
        text = json.dumps(result, ensure_ascii=False)
        assert record.result is UNSET
        assert record.result_preview == text[:PREVIEW_CHARS]
        assert record.result_chars == len(text)
        old, new = record.warnings
        assert (old, '{workflow_id: "w", task_id: "result"}' in new) == ("old", True)
        assert len(answer.text) < 3 * PREVIEW_CHARS
    assert not answer.is_error


def test_without_a_result_there_is_nothing_to_shorten() -> None:
    response = ExecuteResponse(status="error")
    assert executed(response, LIMITS).record is response


@given(st.text("a\U0001f600", max_size=2_000))
def test_a_plan_is_there_whole_or_not_at_all(value: str) -> None:
    program = PlannedProgram(source_hash="0" * 64)
    plan = Plan(program=program, arguments={"text": value})
    answer = executed(ExecuteResponse(status="approval_required", plan=plan), LIMITS)
    assert isinstance(answer.record, ExecuteResponse)
    if len(encode(plan)) <= LIMITS.answer_bytes:
        assert (answer.record.plan, answer.record.warnings) == (plan, ())
        assert plan_text(plan) in answer.text
    else:
        assert answer.record.plan is None
        assert "pml analyse FILE --plan" in answer.record.warnings[0]
    assert not answer.is_error


TASKS = st.builds(
    TaskSummary,
    task_id=st.integers(1, 99_999).map(lambda n: f"n1_{n}"),
    tool=st.just("fs:read"),
    success=st.booleans(),
    duration_ms=st.just(1.0),
    result_preview=st.text("a\U0001f600", max_size=240),
)


@given(st.lists(TASKS, max_size=60), st.integers(0, 400))
def test_the_calls_of_a_run_fit_into_an_answer_with_failures_before_others(
    tasks: list[TaskSummary], nodes: int
) -> None:
    """EX-7: 10,000 calls with 240 characters each are no answer."""
    path = tuple(f"n{number}" for number in range(nodes))
    dag = DagMetadata(tasks_count=len(tasks), layers_count=1, speedup=1.0, executed_path=path)
    whole = ExecuteResponse(status="success", workflow_id="w", tasks=tuple(tasks), dag=dag)
    shown = executed(whole, LIMITS).record
    assert isinstance(shown, ExecuteResponse)
    assert shown.dag is not None
    size = len(encode(shown.tasks)) + len(encode(shown.dag.executed_path))
    assert size <= LIMITS.answer_bytes
    if len(encode(whole.tasks)) + len(encode(path)) + 50 <= LIMITS.answer_bytes:
        assert shown is whole
    left = list(tasks)
    for task in shown.tasks:  # in their order, each once
        left = left[left.index(task) + 1 :]
    failed, shown_failed = (sum(not t.success for t in each) for each in (tasks, shown.tasks))
    assert shown_failed == failed or all(not task.success for task in shown.tasks)
    if len(shown.tasks) < len(tasks):
        (said,) = shown.warnings
        assert f"tasks: {len(shown.tasks):,} of {len(tasks):,} are shown" in said
        assert 'pml_get_task_result({workflow_id: "w", task_id})' in said
