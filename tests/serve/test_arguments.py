"""Arguments of tool calls: taken, or refused with the field's name (MCP-2, MCP-6)."""

import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.dag import DagTask, ExplicitDag
from pml.domain.discovery import DiscoverFilter, DiscoverRequest
from pml.domain.limits import Limits
from pml.domain.response import ExecuteRequest
from pml.domain.task_result import TaskResultRequest
from pml.serve.arguments import (
    ArgumentChecker,
    InvalidArgumentsError,
    discover_request,
    execute_request,
    task_result_request,
)
from pml.serve.definitions import tool_definitions

CHECKERS = {tool.name: ArgumentChecker(tool) for tool in tool_definitions(Limits())}
READERS: dict[str, Any] = {
    "pml_discover": discover_request,
    "pml_execute": execute_request,
    "pml_get_task_result": task_result_request,
}
FIELDS = [
    *["intent", "code", "options", "context", "timeout", "args", "filter", "type", "minScore"],
    *["limit", "offset", "detail", "workflow_id", "task_id", "format", "dryRun", ""],
]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
VALUES = st.recursive(
    SCALARS | st.sampled_from(["tool", "full", "brief", "raw"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5)


def read(name: str, arguments: dict[str, Any]) -> Any:  # noqa: ANN401
    CHECKERS[name].check(arguments)
    return READERS[name](arguments)


@given(name=st.sampled_from(list(READERS)), arguments=ARGUMENTS)
def test_whatever_comes_is_taken_or_refused_with_its_field(
    name: str, arguments: dict[str, Any]
) -> None:
    problems: tuple[str, ...] | None = None
    try:
        read(name, arguments)
    except InvalidArgumentsError as exc:
        problems = exc.problems
    assert problems is None or problems
    assert all(re.match(r".+: .+", problem, re.DOTALL) for problem in problems or ())


@pytest.mark.parametrize(
    ("name", "arguments", "problems"),
    [
        (
            "pml_execute",
            {"intent": "x", "options": {"timeout": "soon"}},
            'options.timeout: expected a number of milliseconds from 1 to 3,600,000, got "soon"',
        ),
        (
            "pml_execute",
            {"intent": "x", "options": {"timeout": 0}},
            "options.timeout: expected a number of milliseconds from 1 to 3,600,000, got 0",
        ),
        (
            "pml_execute",
            {"intent": "x", "explorePath": True},
            "explorePath: is not available yet in this version of PML: leave it out",
        ),
        (
            "pml_execute",
            {"intent": "x", "cod": "1"},
            (
                "cod: no such field; did you mean 'code' or 'context'?; "
                "expected only code, context, dag, intent, options"
            ),
        ),
        (
            "pml_execute",
            {"intent": "x", "options": {"args": {}}, "context": {}},
            "context: means the same as options.args: give one of them",
        ),
        (
            "pml_execute",
            {"intent": " "},
            (
                "intent: expected a sentence that says what is wanted, at most 10,000 characters, "
                'got " "'
            ),
        ),
        (
            "pml_execute",
            {"intent": "x" * 10_003},
            (
                "intent: expected a sentence that says what is wanted, at most 10,000 characters, "
                f'got "{"x" * 59}... (10,003 characters)'
            ),
        ),
        (
            "pml_execute",
            {"intent": "x", "code": "\n```ts\nreturn 1\n```"},
            ('code: expected TypeScript without Markdown fences, got "\\n```ts\\nreturn 1\\n```"'),
        ),
        (
            "pml_discover",
            {"intent": "x", "filter": {"type": "tools"}},
            'filter.type: expected one of "tool", "capability", "all", got "tools"',
        ),
        (
            "pml_get_task_result",
            {"workflow_id": "w", "task_id": "n1", "offset": -1},
            "offset: expected a whole number from 0 on, got -1",
        ),
        (
            "pml_get_task_result",
            {"task_id": 3},
            "workflow_id: expected text, got nothing; task_id: expected text, got 3",
        ),
        (
            "pml_execute",
            {"intent": "x", "options": {"dryRun": "yes"}},
            'options.dryRun: expected true or false, got "yes"',
        ),
        (
            "pml_execute",
            {"intent": "x", "dag": {"tasks": [{"id": "a", "tool": "read"}]}},
            "dag.tasks[0].tool: expected server:tool",
        ),
        (
            "pml_execute",
            {"intent": "x", "context": {"a": "\ud800"}},
            "arguments: expected text, found half of a surrogate pair",
        ),
        (
            "pml_execute",
            {"intent": "x", "context": {"a": math.nan}},
            "arguments: expected JSON: Out of range float values are not JSON compliant",
        ),
    ],
)
def test_a_refusal_says_field_expectation_and_finding(
    name: str, arguments: dict[str, Any], problems: str
) -> None:
    with pytest.raises(InvalidArgumentsError) as refused:
        read(name, arguments)
    assert sorted(str(refused.value).split("; ")) == sorted(problems.split("; "))


def test_a_workflow_and_a_dry_run_become_the_request() -> None:
    tasks = [{"id": "a", "tool": "fs:read", "args": {"path": "x"}}]
    options = {"dryRun": True, "dryRunMocks": {"fs:write": [1, 2]}}
    request = read("pml_execute", {"intent": "x", "dag": {"tasks": tasks}, "options": options})
    task = DagTask(id="a", tool="fs:read", arguments={"path": "x"})
    assert (request.dag, request.code) == (ExplicitDag(tasks=(task,)), None)
    assert (request.dry_run, request.dry_run_mocks) == (True, {"fs:write": [1, 2]})


@pytest.mark.parametrize("field", ["explorePath", "confirm"])
def test_fields_of_later_versions_are_refused_and_not_ignored(field: str) -> None:
    with pytest.raises(InvalidArgumentsError, match="not available yet"):
        read("pml_execute", {"intent": "x", field: {}})


@pytest.mark.parametrize(
    ("arguments", "request_"),
    [
        ({"intent": "x"}, ExecuteRequest(intent="x")),
        (
            {"intent": "x", "code": "1", "options": {"timeout": 5.0, "args": {"a": 1}}},
            ExecuteRequest(intent="x", code="1", args={"a": 1}, timeout_ms=5),
        ),
        ({"intent": "x", "context": {"a": 1}}, ExecuteRequest(intent="x", args={"a": 1})),
        ({"intent": "x", "code": ""}, ExecuteRequest(intent="x")),
        ({"intent": "x", "code": " \n\t"}, ExecuteRequest(intent="x")),
        ({"intent": "x", "code": "\n 1"}, ExecuteRequest(intent="x", code="\n 1")),
        ({"intent": "x", "code": "return '```'"}, ExecuteRequest(intent="x", code="return '```'")),
    ],
)
def test_an_execution_is_read(arguments: dict[str, Any], request_: ExecuteRequest) -> None:
    assert read("pml_execute", arguments) == request_


def test_a_question_is_read() -> None:
    arguments = {
        "intent": "x",
        "filter": {"type": "tool", "minScore": 0.5},
        "limit": 3,
        "offset": 6,
        "detail": "brief",
    }
    assert read("pml_discover", arguments) == DiscoverRequest(
        intent="x",
        filter=DiscoverFilter(type="tool", min_score=0.5),
        limit=3,
        offset=6,
        detail="brief",
    )


def test_a_page_is_read() -> None:
    arguments = {"workflow_id": "w", "task_id": "n1", "limit": 5.0, "format": "pretty"}
    page = TaskResultRequest(workflow_id="w", task_id="n1", limit=5, format="pretty")
    assert read("pml_get_task_result", arguments) == page


def test_a_whole_number_stays_one_however_it_was_written() -> None:
    arguments = {"workflow_id": "w", "task_id": "n1", "offset": 1.0, "limit": 5.0}
    page = read("pml_get_task_result", arguments)
    assert [type(page.offset), type(page.limit)] == [int, int]
    question = read("pml_discover", {"intent": "x", "offset": 1.0, "limit": 5.0})
    assert [type(question.offset), type(question.limit)] == [int, int]
