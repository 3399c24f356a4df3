"""One request through the loop (EX-1, EX-3, EX-4, EX-7, EX-8, HIL-1; design, section 5)."""

import asyncio
import json

import pytest

from pml.domain.dag import DagTask, ExplicitDag, read_dag
from pml.domain.events import Event, RunEnd, TaskEnd
from pml.domain.ledger import Ledger
from pml.domain.permissions import Effect
from pml.domain.record import JsonText, to_builtins
from pml.domain.response import ExecuteRequest, ExecuteResponse
from pml.domain.run import Attempted, Failed, Outcome, Returned, RunState, Undelivered
from pml.loop.act import Act
from tests.loop.outside import Outside, echo, lose

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def refuse(_tool: str, _arguments: JsonText) -> Outcome:
    return Failed(code="tool_error", message="no such file", data='{"errno": 2}')


async def hang(_tool: str, _arguments: JsonText) -> Outcome:
    await asyncio.Event().wait()
    raise AssertionError


ONE_TASK = ExplicitDag(tasks=(DagTask(id="a", tool="fs:read"),))


async def run(act: Act, code: str, **options: object) -> ExecuteResponse:
    return await act.execute(ExecuteRequest(intent="test", code=code, **options))  # type: ignore[arg-type]


async def ledger_of(act: Act, answer: ExecuteResponse) -> Ledger:
    assert answer.workflow_id is not None
    return Ledger(await act.store.run_log.read(answer.workflow_id))


async def attempts(act: Act, answer: ExecuteResponse) -> int:
    ledger = await ledger_of(act, answer)
    return sum(isinstance(record, Attempted) for record in ledger.records)


async def test_code_runs_as_written_and_the_trace_shows_the_executed_path_only(
    act: Act, outside: Outside
) -> None:
    outside.offer("fs:read", echo, Effect.READ)
    outside.offer("fs:write", echo)
    code = """
      const found = await mcp.fs.read({ path: args.path });
      if (found.path === "a") { return found.path + "!"; }
      await mcp.fs.write({ path: "b" });
    """
    answer = await run(act, code, args={"path": "a"})
    assert (answer.status, answer.result) == ("success", "a!")
    assert [tool for tool, _ in outside.requests] == ["fs:read"]
    assert answer.dag is not None
    assert answer.dag.executed_path == ("n1", "d1")
    assert answer.workflow_id is not None
    (trace,) = await act.store.traces.of_run(answer.workflow_id)
    assert trace.executed_path == ("n1", "d1")
    assert trace.initial_context == {"path": "a"}


async def test_parallel_calls_overlap_and_the_speed_up_is_measured(
    act: Act, outside: Outside
) -> None:
    both = asyncio.Barrier(2)

    async def meet(_tool: str, arguments: JsonText) -> Outcome:
        await both.wait()  # returns only when the other call is under way too
        return Returned(value=arguments)

    outside.offer("fs:read", meet, Effect.READ)
    code = "return (await Promise.all([1, 2].map((i) => mcp.fs.read({ i })))).map((r) => r.i);"
    answer = await run(act, code)
    assert answer.result == [1, 2]
    assert answer.dag is not None
    total = sum(task.duration_ms for task in answer.tasks)
    assert answer.dag.speedup == pytest.approx(total / answer.execution_time_ms, abs=0.01)
    edges = await act.store.tool_dependencies.all()
    assert ("fs:read", "fs:read", "co_occurrence") in {(e.source, e.target, e.type) for e in edges}


async def test_a_tool_error_is_thrown_and_can_be_caught(act: Act, outside: Outside) -> None:
    outside.offer("fs:read", refuse, Effect.READ)
    code = """
      try { await mcp.fs.read({}); } catch (e) {
        return [e instanceof ToolError, e.name, e.tool, e.code, e.message, e.data];
      }
    """
    answer = await run(act, code)
    expected = [True, "ToolError", "fs:read", "tool_error", "no such file", {"errno": 2}]
    assert answer.result == expected
    assert [(f.task_id, f.code) for f in answer.tool_failures] == [("n1", "tool_error")]


async def test_a_program_that_dies_says_where_and_what_completed(
    act: Act, outside: Outside
) -> None:
    outside.offer("fs:read", echo, Effect.READ)
    answer = await run(act, "await mcp.fs.read({});\n\nnull.x;")
    assert answer.status == "error"
    assert answer.error is not None
    assert (answer.error.code, answer.error.line) == ("program_error", 3)
    assert [(t.task_id, t.success) for t in answer.tasks] == [("n1", True)]


async def test_nothing_runs_before_a_person_has_agreed(act: Act, outside: Outside) -> None:
    outside.offer("fs:read", echo, Effect.READ)
    outside.offer("fs:write", echo)
    outside.needs_approval.add("fs:write")
    answer = await run(act, "await mcp.fs.read({}); await mcp.fs.write({});")
    assert answer.status == "approval_required"
    assert [permission.tool for permission in answer.approvals] == ["fs:write"]
    assert answer.plan is not None
    assert [call.tool for call in answer.plan.program.calls] == ["fs:read", "fs:write"]
    assert [permission.tool for permission in answer.plan.tools] == ["fs:read", "fs:write"]
    assert outside.requests == []
    assert answer.workflow_id is not None
    assert (await act.store.runs.get(answer.workflow_id)).state is RunState.APPROVAL_REQUIRED


async def test_a_tool_known_only_at_run_time_needs_approval(act: Act, outside: Outside) -> None:
    outside.offer("fs:write", echo)
    answer = await run(act, "const s = args.s; await mcp[s]['write']({});", args={"s": "fs"})
    assert answer.status == "approval_required"
    assert outside.requests == []


async def test_a_write_without_an_answer_is_in_doubt_and_never_repeated(
    act: Act, outside: Outside
) -> None:
    outside.offer("fs:write", lose)
    answer = await run(act, "try { await mcp.fs.write({}) } catch { return 'caught' }")
    assert answer.status == "in_doubt"
    assert [task.task_id for task in answer.in_doubt] == ["n1"]
    assert len(outside.requests) == await attempts(act, answer) == 1
    assert answer.workflow_id is not None
    assert (await act.store.runs.get(answer.workflow_id)).state is RunState.IN_DOUBT


async def test_a_read_without_an_answer_is_retried_then_thrown(act: Act, outside: Outside) -> None:
    outside.offer("fs:read", lose, Effect.READ)
    answer = await run(act, "try { await mcp.fs.read({}) } catch (e) { return e.code }")
    assert (answer.status, answer.result) == ("success", "unavailable")
    assert len(outside.requests) == await attempts(act, answer) == 3


async def test_the_loser_of_a_race_is_awaited_and_recorded_as_undelivered(
    act: Act, outside: Outside
) -> None:
    settled = asyncio.Event()

    async def slow(_tool: str, _arguments: JsonText) -> Outcome:
        await settled.wait()
        return Returned(value='"slow"')

    async def fast(_tool: str, _arguments: JsonText) -> Outcome:
        asyncio.get_running_loop().call_later(0.2, settled.set)
        return Returned(value='"fast"')

    outside.offer("fs:slow", slow)
    outside.offer("fs:fast", fast)
    answer = await run(act, "return Promise.race([mcp.fs.slow({}), mcp.fs.fast({})]);")
    assert (answer.status, answer.result) == ("success", "fast")
    ledger = await ledger_of(act, answer)
    assert [r.call for r in ledger.records if isinstance(r, Undelivered)] == [0]


async def test_a_write_under_way_at_the_deadline_is_in_doubt(act: Act, outside: Outside) -> None:
    outside.offer("fs:write", hang)
    answer = await run(act, "await mcp.fs.write({});", timeout_ms=500)
    assert answer.status == "in_doubt"


async def test_a_read_without_an_answer_until_the_deadline_says_so(
    act: Act, outside: Outside
) -> None:
    outside.offer("fs:read", hang, Effect.READ)
    answer = await run(act, "await mcp.fs.read({});", timeout_ms=500)
    (task,) = answer.tasks
    assert task.error == "no answer until the run ended"
    assert [(failure.tool, failure.code) for failure in answer.tool_failures] == [
        ("fs:read", "unanswered")
    ]


async def test_an_endless_program_is_stopped_at_its_deadline(act: Act) -> None:
    answer = await run(act, "while (true) {}", timeout_ms=500)
    assert answer.status == "error"
    assert answer.error is not None
    assert answer.error.code == "timeout"
    assert "500 ms" in answer.error.message


async def test_cancelling_a_request_closes_its_run(
    act: Act, outside: Outside, events: list[Event]
) -> None:
    outside.offer("fs:read", hang, Effect.READ)
    request = asyncio.create_task(run(act, "await mcp.fs.read({});"))
    await outside.called.wait()
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    (recent,) = await act.store.runs.recent(1)
    assert recent.state is RunState.CANCELLED
    assert isinstance(events[-1], RunEnd)


async def test_a_server_that_is_down_says_so_and_nothing_runs(act: Act, outside: Outside) -> None:
    outside.offer("fs:read", echo, Effect.READ)
    outside.down.add("fs")
    answer = await run(act, "await mcp.fs.read({});")
    assert answer.error is not None
    assert (answer.error.code, answer.workflow_id) == ("server_unavailable", None)


def dag_of(**task: str) -> ExplicitDag:
    given: dict[str, object] = {"id": "a", "depends_on": ["b"] if "id" in task else [], **task}
    return read_dag({"tasks": [given]})


@pytest.mark.parametrize(
    ("request_", "code", "expected"),
    [
        (ExecuteRequest(intent=" ", code="1"), "bad_request", "intent"),
        (ExecuteRequest(intent="x", code="1", dag=ONE_TASK), "bad_request", "at most one"),
        (ExecuteRequest(intent="x", code="1", timeout_ms=0), "bad_request", "timeout"),
        (ExecuteRequest(intent="x", code="1", args={"a": "b" * 2_000_000}), "bad_request", "args"),
        (ExecuteRequest(intent="x", code="return ("), "syntax", "line"),
        (ExecuteRequest(intent="x", code="await mcp.fs.raed({});"), "unknown-tool", "read"),
        (ExecuteRequest(intent="x", code="await mcp.sf.read({});"), "unknown-server", "fs"),
        (ExecuteRequest(intent="x", code="return path;", args={"paht": 1}), "*", "paht"),
        (ExecuteRequest(intent="x", dag=dag_of(tool="fs:raed")), "unknown-tool", "task 'a': "),
        (ExecuteRequest(intent="x", dag=dag_of(tool="fs:raed")), "unknown-tool", "did you mean"),
        (
            ExecuteRequest(intent="x", dag=dag_of(type="capability", tool="raed_it")),
            "unknown-capability",
            "task 'a': ",
        ),
        (
            ExecuteRequest(
                intent="x", dag=dag_of(type="code_execution", code="\nawait mcp.fs.raed()")
            ),
            "unknown-tool",
            "task 'a', line 2 of its code: ",
        ),
        (ExecuteRequest(intent="x", dag=dag_of(tool="fs:read", id="b")), "bad_dag", "itself"),
    ],
)
async def test_bad_input_is_refused_before_anything_runs(
    act: Act, outside: Outside, request_: ExecuteRequest, code: str, expected: str
) -> None:
    outside.offer("fs:read", echo, Effect.READ)
    answer = await act.execute(request_)
    assert answer.status == "error"
    assert answer.error is not None
    assert code in ("*", answer.error.code)
    assert expected in json.dumps(to_builtins(answer))
    assert outside.requests == []


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ("undefined", "success"),
        ("NaN", "success"),
        ("10n", "error"),
        ("() => 1", "error"),
        ("(() => { const a = {}; a.a = a; return a; })()", "error"),
        ("'x'.repeat(11_000_000)", "error"),
    ],
)
async def test_a_result_that_is_no_json_is_a_clear_error(act: Act, value: str, status: str) -> None:
    answer = await run(act, f"return {value};")
    assert answer.status == status
    assert ("result" in to_builtins(answer)) == (status == "success")
    assert status == "success" or (answer.error is not None and len(answer.error.message) > 20)


async def test_events_tell_the_run_as_it_happens(
    act: Act, outside: Outside, events: list[Event]
) -> None:
    outside.offer("fs:read", echo, Effect.READ)
    await run(act, "if (args.x) await mcp.fs.read({ path: 'a' });", args={"x": 1})
    kinds = [to_builtins(event)["type"] for event in events]
    assert kinds == ["run_started", "decision", "task_start", "task_end", "run_end"]
    (end,) = [event for event in events if isinstance(event, TaskEnd)]
    assert end.success


async def test_an_explicit_dag_takes_the_same_path(act: Act, outside: Outside) -> None:
    outside.offer("fs:read", echo, Effect.READ)
    dag = ExplicitDag(
        tasks=(
            DagTask(id="a", tool="fs:read", arguments={"path": "x"}),
            DagTask(id="b", tool="fs:read", arguments={"p": "$OUTPUT[a].path"}, depends_on=("a",)),
        )
    )
    answer = await act.execute(ExecuteRequest(intent="dag", dag=dag))
    assert answer.result == {"a": {"path": "x"}, "b": {"p": "x"}}


async def test_code_that_hands_a_server_out_of_sight_needs_approval(
    act: Act, outside: Outside
) -> None:
    outside.offer("fs:write", echo)
    code = "const all = [mcp.fs]; await all.pop().write({ path: 'a' });"
    answer = await run(act, code)
    assert answer.status == "approval_required"
    assert [permission.tool for permission in answer.approvals] == ["*"]
    assert outside.requests == []
