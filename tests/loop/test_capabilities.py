"""What ran becomes a capability, and runs again (SA-9, ST-4, ST-5, ST-8, LE-1, LE-2, MCP-2)."""

import json

import pytest

from pml.domain.capability import Capability, Lifecycle
from pml.domain.permissions import Effect
from pml.domain.record import JsonText
from pml.domain.response import ExecuteRequest, ExecuteResponse
from pml.domain.run import Failed, Outcome
from pml.domain.tools import Tool
from pml.loop.act import Act
from tests.loop.outside import Outside, echo

pytestmark = pytest.mark.asyncio(loop_scope="module")

READ = 'return await mcp.fs.read({ path: "notes.txt" });'
INTENT = "read my notes"


async def refuse(_tool: str, _arguments: JsonText) -> Outcome:
    return Failed(code="tool_error", message="no such file")


@pytest.fixture(autouse=True)
def files(outside: Outside) -> None:
    outside.offer("fs:read", echo, Effect.READ)
    outside.offer("fs:write", echo)


async def run(act: Act, code: str | None, intent: str = INTENT, **args: object) -> ExecuteResponse:
    return await act.execute(ExecuteRequest(intent=intent, code=code, args=args))


async def kept(act: Act) -> tuple[Capability, ...]:
    return await act.store.capabilities.recent(10, hidden=True)


def sent(outside: Outside) -> list[object]:
    return [json.loads(arguments) for _tool, arguments in outside.requests]


async def test_a_run_that_succeeds_is_kept_as_a_capability_whose_trace_points_to_it(
    act: Act,
) -> None:
    answer = await run(act, READ)
    (capability,) = await kept(act)
    assert answer.capability_id == capability.id
    assert not capability.hidden
    assert (capability.intent, capability.usage_count, capability.success_count) == (INTENT, 1, 1)
    (trace,) = await act.store.traces.of_run(answer.workflow_id or "")
    assert trace.capability_id == capability.id
    assert trace.priority == 1.0
    assert capability.learning.dominant_path == trace.executed_path


async def test_the_same_procedure_is_one_capability_with_more_usage(act: Act) -> None:
    await run(act, READ)
    again = await run(
        act, "const p = 'b.txt' // another\nreturn (await mcp.fs.read({path: 'x.txt'}))", "look"
    )
    assert again.status == "success"
    other = await run(act, 'const text = await mcp.fs.read({ "path": "other.txt" });\nreturn text')
    assert other.status == "success"
    counts = sorted(c.usage_count for c in await kept(act))
    assert counts == [1, 1, 1]
    await run(act, 'return await mcp . fs["read"]({path:`third.txt`})  // reformatted', "see")
    assert sorted(c.usage_count for c in await kept(act)) == [1, 1, 2]


async def test_a_failing_run_is_traced_and_makes_nothing_discoverable(
    act: Act, outside: Outside
) -> None:
    outside.answers["fs:read"] = refuse
    answer = await run(act, READ)
    assert (answer.status, answer.capability_id) == ("error", None)
    (capability,) = await kept(act)
    assert capability.hidden
    assert await act.store.capabilities.recent(10) == ()
    await act.library.refresh()
    assert act.library.index.rank(INTENT).hits == ()
    suggested = await run(act, None)
    assert suggested.status == "suggestions"
    outside.answers["fs:read"] = echo
    await run(act, READ)
    assert len(await act.store.capabilities.recent(10)) == 1


async def test_an_intent_alone_runs_the_capability_with_other_arguments(
    act: Act, outside: Outside
) -> None:
    learned = await run(act, READ)
    again = await run(act, None, path="other.txt")
    assert (again.status, again.mode) == ("success", "speculation")
    assert again.capability_id == learned.capability_id
    assert again.result == {"path": "other.txt"}
    assert sent(outside) == [{"path": "notes.txt"}, {"path": "other.txt"}]
    (capability,) = await kept(act)
    assert (capability.usage_count, capability.distinct_arguments) == (2, 2)


async def test_without_arguments_the_literals_of_the_code_hold(act: Act) -> None:
    await run(act, READ)
    again = await run(act, None, "Read  my notes.")
    assert again.result == {"path": "notes.txt"}


async def test_a_direct_run_cannot_have_its_literals_replaced(act: Act) -> None:
    answer = await run(act, READ, path="other.txt")
    assert answer.result == {"path": "notes.txt"}
    assert [d.code for d in answer.diagnostics] == ["unknown-parameter"]


async def test_an_argument_that_is_missing_is_named_and_nothing_runs(
    act: Act, outside: Outside
) -> None:
    await run(act, "return await mcp.fs.read({ path: args.file });", file="a.txt")
    answer = await run(act, None)
    assert answer.status == "suggestions"
    assert answer.suggestions is not None
    assert answer.suggestions.candidates[0].missing == ("file",)
    assert "file" in answer.suggestions.why
    assert len(outside.requests) == 1


async def test_an_unknown_intent_gives_ranked_suggestions_with_signatures(act: Act) -> None:
    await run(act, READ)
    answer = await run(act, None, "read something else entirely")
    assert answer.status == "suggestions"
    assert answer.suggestions is not None
    first = answer.suggestions.candidates[0]
    assert first.signature.startswith("capabilities.")
    assert first.reasons
    assert answer.suggestions.confidence < 1


async def test_what_needs_approval_does_not_run_on_an_intent_alone(
    act: Act, outside: Outside
) -> None:
    await run(act, READ)
    outside.needs_approval.add("fs:read")
    answer = await run(act, None)
    assert answer.status == "suggestions"
    assert answer.suggestions is not None
    assert "fs:read" in answer.suggestions.why
    assert len(outside.requests) == 1


async def test_a_capability_whose_tool_changed_waits_until_its_code_ran_again(
    act: Act, outside: Outside
) -> None:
    await act.store.tool_schemas.replace("fs", outside.tools_by_server["fs"])
    await run(act, READ)
    changed = Tool(server="fs", name="read", description="reads otherwise")
    outside.tools_by_server["fs"] = (changed, outside.tools_by_server["fs"][1])
    await act.store.tool_schemas.replace("fs", outside.tools_by_server["fs"])
    act.library.outdated()
    answer = await run(act, None)
    assert answer.status == "suggestions"
    assert answer.suggestions is not None
    assert "changed" in answer.suggestions.why
    await act.store.tool_schemas.accept(
        "fs:read", schema_hash=changed.schema_hash(), by="ann", now_ms=1
    )
    act.library.outdated()
    await run(act, READ)
    assert (await run(act, None)).mode == "speculation"


async def test_evidence_promotes_a_capability(act: Act) -> None:
    await run(act, READ)
    assert (await kept(act))[0].lifecycle is Lifecycle.CANDIDATE
    for number in range(6):
        await run(act, None, path=f"{number}.txt")
    assert (await kept(act))[0].lifecycle is Lifecycle.VERIFIED


async def test_a_secret_in_the_code_is_kept_nowhere_and_asked_for(act: Act) -> None:
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"  # made up
    await run(act, f'return await mcp.fs.write({{ path: "a", token: "{secret}" }});')
    (capability,) = await kept(act)
    assert secret not in repr(capability)
    answer = await run(act, None)
    assert answer.suggestions is not None
    assert answer.suggestions.candidates[0].missing == ("token",)
    again = await run(act, None, token="another")
    assert (again.status, again.result) == ("success", {"path": "a", "token": "another"})


async def test_an_explicit_name_runs_the_capability(act: Act) -> None:
    await run(act, READ)
    (capability,) = await kept(act)
    answer = await run(act, None, capability.name, path="b")
    assert (answer.status, answer.result) == ("success", {"path": "b"})


TIME = 'return await mcp.fs.read({{ path: "{place}" }});'


async def test_an_intent_means_the_literals_that_it_was_submitted_with(act: Act) -> None:
    """Two intents are one procedure with other literals: each stands for its own."""
    for place in ("Tokyo", "Paris"):
        await run(act, TIME.format(place=place), f"what time is it in {place}")
    assert len(await kept(act)) == 1
    for place in ("Tokyo", "Paris", "Paris"):
        answer = await run(act, None, f"What time is it in {place}?")
        assert (answer.mode, answer.result) == ("speculation", {"path": place})
    given = await run(act, None, "what time is it in Paris", path="Rome")
    assert given.result == {"path": "Rome"}
    again = await run(act, None, "what time is it in Paris")
    assert again.result == {"path": "Paris"}


async def test_a_literal_that_was_a_secret_is_asked_for_whatever_the_kept_code_says(
    act: Act,
) -> None:
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"  # made up
    code = 'return await mcp.fs.write({{ path: "a", note: "{note}" }});'
    await run(act, code.format(note="harmless"), "write the note")
    await run(act, code.format(note=secret), "write the other note")
    answer = await run(act, None, "write the other note")
    assert answer.suggestions is not None
    assert "note" in answer.suggestions.why
    assert secret not in repr(await act.store.capabilities.changes(None))


async def test_names_of_inputs_are_the_interface_of_a_procedure(act: Act) -> None:
    await run(
        act, "return await mcp.fs.write({ src: args.a, dst: args.b });", "move a to b", a="1", b="2"
    )
    await run(
        act, "return await mcp.fs.write({ src: args.b, dst: args.a });", "move b to a", a="1", b="2"
    )
    assert len(await kept(act)) == 2
    answer = await run(act, None, "move b to a", a="A", b="B")
    assert answer.result == {"src": "B", "dst": "A"}


async def test_an_input_never_falls_back_to_a_literal_of_another_submission(
    act: Act, outside: Outside
) -> None:
    await run(act, 'return await mcp.fs.write({ path: "tmp" });', "delete tmp")
    await run(act, "return await mcp.fs.write({ path: args.path });", "delete it", path="x")
    answer = await run(act, None, "delete it")
    assert answer.status == "suggestions"
    assert len(outside.requests) == 2


async def test_a_secret_argument_is_masked_under_any_name(act: Act) -> None:
    answer = await run(act, "return await mcp.fs.write({ token: args.t });", t="hunter2")
    (trace,) = await act.store.traces.of_run(answer.workflow_id or "")
    assert "hunter2" not in repr(trace)


async def test_after_failures_the_exact_name_still_runs_it_and_the_answer_says_so(
    act: Act, outside: Outside
) -> None:
    await run(act, READ)
    outside.answers["fs:read"] = refuse
    assert (await run(act, None, path="gone.txt")).status == "error"
    outside.answers["fs:read"] = echo
    answer = await run(act, None)
    assert answer.suggestions is not None
    assert "50% of its 2 runs succeeded" in answer.suggestions.why
    assert "exact name" in answer.suggestions.why
    (capability,) = await kept(act)
    assert (await run(act, None, capability.name)).status == "success"


async def test_a_submission_that_failed_does_not_change_what_its_intent_stands_for(
    act: Act, outside: Outside
) -> None:
    await run(act, TIME.format(place="Paris"), "the time")
    for _ in range(4):
        await run(act, None, "the time")
    outside.answers["fs:read"] = refuse
    await run(act, TIME.format(place="Pariss"), "the time")
    outside.answers["fs:read"] = echo
    answer = await run(act, None, "the time")
    assert answer.result == {"path": "Paris"}


async def test_a_secret_of_the_code_is_masked_in_the_intent_too(act: Act) -> None:
    code = 'return await mcp.fs.write({ password: "hunter22x" });'
    answer = await run(act, code, "log in with hunter22x")
    (capability,) = await kept(act)
    (trace,) = await act.store.traces.of_run(answer.workflow_id or "")
    stored = (
        await act.store.runs.get(answer.workflow_id or ""),
        await act.store.capabilities.changes(None),
        trace.intent_text,
    )
    assert "hunter22x" not in repr(stored)
    assert capability.intent.startswith("log in with")
