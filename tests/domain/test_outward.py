"""What leaves by the one door holds no secret but a program's own result (ST-5)."""

import json
import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pml.domain.outward import outward
from pml.domain.plan import Plan, PlannedArgument, PlannedCall, PlannedProgram
from pml.domain.program import Diagnostic, Severity
from pml.domain.record import decode, encode
from pml.domain.response import ExecuteError, ExecuteResponse, TaskSummary, ToolFailure
from tests.domain.test_sanitising import VALUES, tokens

HASH = "0" * 64


def response(text: str, value: Any) -> ExecuteResponse:  # noqa: ANN401  # any JSON
    """A response with a text wherever one can stand."""
    arguments = {
        "password": PlannedArgument(value="short"),
        "path": PlannedArgument(value={"a": [text, value]}, expression=text),
        "user": PlannedArgument(default=text),
    }
    call = PlannedCall(id="n1", tool="a:b", arguments=arguments)
    return ExecuteResponse(
        status="error",
        workflow_id="45a307c5-380c-43e6-a450-0e993f6965a7",
        result={"a": text},
        tasks=(TaskSummary(task_id="n1", tool="a:b", success=True, duration_ms=1, error=text),),
        tool_failures=(ToolFailure(task_id="n1", tool="a:b", code="x", error=text),),
        diagnostics=(
            Diagnostic(
                severity=Severity.ERROR, code="c", message=text, line=1, column=1, text=text
            ),
        ),
        warnings=(text, "harmless"),
        error=ExecuteError(code="program_error", message=text, data={"why": [text], "n": 1}),
        plan=Plan(
            program=PlannedProgram(source_hash=HASH, calls=(call,)),
            arguments={"apiKey": {"old": "short"}, "note": text},
        ),
    )


@given(VALUES, st.randoms(use_true_random=False), st.data())
def test_no_text_of_a_record_keeps_a_secret(
    value: Any,  # noqa: ANN401
    rng: random.Random,
    data: st.DataObject,
) -> None:
    secret = data.draw(st.sampled_from(tokens(rng)))
    whole = response(f"it was {secret} then", value)
    left = outward(whole)
    assert left.result == whole.result
    said = json.loads(encode(left))
    del said["result"]
    text = json.dumps(said, ensure_ascii=False)
    assert secret not in text
    assert json.dumps(secret)[1:-1] not in text
    assert "short" not in text
    assert text.count("it was [REDACTED] then") == 11
    assert outward(left) == left


def test_what_holds_no_secret_passes_as_it_is() -> None:
    whole = response("in order", 1)
    left = outward(whole)
    assert left.error == whole.error
    assert left.plan is not None
    assert left.plan.arguments == {"apiKey": "[REDACTED]", "note": "in order"}
    assert left.workflow_id == whole.workflow_id
    assert decode(ExecuteResponse, encode(left)) == left


def test_a_schema_of_a_secret_is_no_secret() -> None:
    schema = {"properties": {"password": {"type": "string"}}, "required": ["password"]}
    whole = ExecuteResponse(status="error", error=ExecuteError(code="c", message="m", data=schema))
    assert outward(whole) == whole
