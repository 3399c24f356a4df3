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
from pml.domain.response import ExecuteResponse
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
