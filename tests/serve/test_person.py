"""Asking the person at the client, in both revisions (HIL-4), and steering over MCP (MCP-3)."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pml.domain.approval import ApiKey, GrantScope, Principal, Role
from pml.domain.limits import Limits
from pml.domain.response import ExecuteResponse, TaskSummary
from pml.domain.steering import AbortRequest, ApprovalAnswer, ContinueRequest, ReplanRequest
from pml.errors import ApprovalStateError
from pml.serve.access import key_hash
from tests.serve.stand_in import Served, served
from tests.serve.wire import LEGACY, MODERN, Client, call_body

ASK = {"intent": "write", "code": "ask"}
CAN_ASK: dict[str, Any] = {"elicitation": {"form": {}}}


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    async with served() as server:
        yield server


@pytest.fixture(params=[MODERN, LEGACY])
async def client(server: Served, request: pytest.FixtureRequest) -> Client:
    return await Client(server.port, request.param).open()


async def asked(server: Served) -> tuple[Client, dict[str, Any]]:
    """A client of the newer revision that was asked, and what it was answered."""
    client = await Client(server.port, MODERN, capabilities=CAN_ASK).open()
    return client, (await client.call("pml_execute", ASK)).last["result"]


async def retried(client: Client, state: str, given: object) -> dict[str, Any]:
    """What the call comes to that carries what the person said."""
    body = json.loads(call_body("pml_execute", ASK))
    body["params"] |= {"requestState": state, "inputResponses": given}
    return (await client.send(json.dumps(body).encode())).last


def accepted(**content: object) -> dict[str, Any]:
    return {"approval": {"action": "accept", "content": content}}


async def test_who_cannot_ask_is_told_at_once_what_waits(server: Served, client: Client) -> None:
    result = (await client.call("pml_execute", ASK)).last["result"]
    assert result["structuredContent"]["status"] == "approval_required"
    text = result["content"][0]["text"]
    assert text.startswith("approval_required: a person has to allow this first")
    assert '"workflow_id": "w", "approval_id": "a"' in text
    assert "n1 fs:write (line 1)" in text
    assert not result["isError"]
    assert server.bench.steering.said == []


async def test_the_newer_revision_is_answered_with_a_form_that_shows_the_plan(
    server: Served,
) -> None:
    _, result = await asked(server)
    assert result["resultType"] == "input_required"
    params = result["inputRequests"]["approval"]["params"]
    assert params["message"].startswith("What it is for, as the agent says: keep the notes\n")
    assert 'path = "a.txt"' in params["message"]
    form = params["requestedSchema"]
    assert form["required"] == ["approved"]
    assert form["properties"]["remember"]["enum"][1] == "yes, always allow fs:write"


async def test_a_yes_is_the_answer_of_an_approver_and_goes_on_with_the_run(server: Served) -> None:
    client, result = await asked(server)
    answer = await retried(
        client,
        result["requestState"],
        accepted(approved=True, remember="yes, always allow fs:write", note="fine"),
    )
    assert answer["result"]["structuredContent"]["status"] == "success"
    ((request, by),) = server.bench.steering.said
    assert request == ApprovalAnswer(
        workflow_id="w",
        approval_id="a",
        approved=True,
        note="fine",
        remember=GrantScope(tool="fs:write"),
    )
    assert by.role is Role.APPROVER
    assert by.name.startswith("user of ")
    assert len(server.bench.act.requests) == 1


@pytest.mark.parametrize(
    "given", [accepted(approved=False), {"approval": {"action": "decline"}}], ids=str
)
async def test_a_no_ends_the_run(server: Served, given: object) -> None:
    client, result = await asked(server)
    answer = await retried(client, result["requestState"], given)
    assert answer["result"]["structuredContent"]["status"] == "aborted"


async def test_a_form_that_is_closed_leaves_the_run_waiting_and_is_not_shown_again(
    server: Served,
) -> None:
    client, result = await asked(server)
    answer = await retried(client, result["requestState"], {"approval": {"action": "cancel"}})
    assert answer["result"]["structuredContent"]["status"] == "approval_required"
    assert server.bench.steering.said == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "inputResponses.approval: expected the answer of the form"),
        (accepted(), "inputResponses.approval.content.approved: expected true or false"),
        (accepted(approved="yes"), "content.approved: expected true or false"),
        (accepted(approved=True, remember="all"), "remember: expected one of the choices"),
    ],
    ids=str,
)
async def test_an_answer_to_another_form_is_refused(
    server: Served, given: object, said: str
) -> None:
    client, result = await asked(server)
    answer = await retried(client, result["requestState"], given)
    assert said in answer["error"]["message"]
    assert server.bench.steering.said == []


async def test_a_state_that_is_not_ours_is_refused(server: Served) -> None:
    client, result = await asked(server)
    forged = result["requestState"][:-2] + "xx"
    answer = await retried(client, forged, accepted(approved=True))
    assert answer["error"]["message"] == "Invalid or expired requestState"
    assert server.bench.steering.said == []


async def test_an_answer_that_comes_second_hears_how_the_run_stands(server: Served) -> None:
    client, result = await asked(server)
    server.bench.steering.failure = ApprovalStateError("a", "granted")
    answer = await retried(client, result["requestState"], accepted(approved=True))
    assert answer["result"]["structuredContent"]["status"] == "success"


async def test_the_older_revision_asks_while_the_call_lasts(server: Served) -> None:
    client = await Client(server.port, LEGACY, capabilities=CAN_ASK).open()
    wire = await client.begin(call_body("pml_execute", ASK))
    question = await wire.read_message()
    assert question["method"] == "elicitation/create"
    assert "n1 fs:write (line 1)" in question["params"]["message"]
    reply = {"action": "accept", "content": {"approved": True}}
    body = {"jsonrpc": "2.0", "id": question["id"], "result": reply}
    assert (await client.send(json.dumps(body).encode())).status == 202
    assert (await wire.read_message())["result"]["structuredContent"]["status"] == "success"
    await wire.close()
    ((request, by),) = server.bench.steering.said
    assert isinstance(request, ApprovalAnswer)
    assert (request.approved, by.name) == (True, "user of test")


async def with_key(server: Served, revision: str, role: Role) -> Client:
    """A client that says that it can show forms, with a key."""
    key = ApiKey(id="k", name="ci", role=role, created_at_ms=1)
    await server.bench.store.api_keys.create(key, key_hash=key_hash("secret"))
    headers = {"authorization": "Bearer secret"}
    return await Client(server.port, revision, headers, CAN_ASK).open()


@pytest.mark.parametrize("revision", [MODERN, LEGACY])
async def test_who_holds_the_key_of_an_agent_cannot_say_that_a_person_answered(
    server: Served, revision: str
) -> None:
    client = await with_key(server, revision, Role.AGENT)
    result = (await client.call("pml_execute", ASK)).last["result"]
    assert result["structuredContent"]["status"] == "approval_required"


async def test_a_question_from_before_it_was_forbidden_is_not_answered_with_such_a_key(
    server: Served,
) -> None:
    client = await with_key(server, MODERN, Role.AGENT)
    server.bench.act.agents_may_approve = True
    state = (await client.call("pml_execute", ASK)).last["result"]["requestState"]
    server.bench.act.agents_may_approve = False
    answer = await retried(client, state, accepted(approved=True))
    assert "user of ci is agent, and to answer takes" in answer["error"]["message"]
    assert server.bench.steering.said == []


@pytest.mark.parametrize(
    ("role", "agents_may", "remembers"),
    [(Role.AGENT, True, False), (Role.APPROVER, False, True), (Role.ADMIN, False, True)],
)
async def test_a_form_answers_with_the_role_of_the_key_and_offers_what_that_may(
    server: Served, role: Role, agents_may: bool, remembers: bool
) -> None:
    client = await with_key(server, MODERN, role)
    server.bench.act.agents_may_approve = server.bench.steering.agents_may_approve = agents_may
    result = (await client.call("pml_execute", ASK)).last["result"]
    form = result["inputRequests"]["approval"]["params"]["requestedSchema"]
    assert ("remember" in form["properties"]) is remembers
    answer = await retried(client, result["requestState"], accepted(approved=True))
    assert answer["result"]["structuredContent"]["status"] == "success"
    ((_, by),) = server.bench.steering.said
    assert by == Principal(name="user of ci", role=role)


@pytest.mark.parametrize("code", ["ask at length", "ask for long calls"])
async def test_what_is_too_large_to_be_shown_whole_is_not_asked_about(code: str) -> None:
    async with served(limits=Limits(answer_bytes=1_500)) as server:
        client = await Client(server.port, MODERN, capabilities=CAN_ASK).open()
        arguments = {"intent": "write", "code": code}
        result = (await client.call("pml_execute", arguments)).last["result"]
        assert result["structuredContent"]["status"] == "approval_required"
        assert "too large" in result["content"][0]["text"]


async def test_agents_may_not_answer_for_a_person(client: Client) -> None:
    arguments = {"workflow_id": "w", "approved": True}
    error = (await client.call("pml_approval_response", arguments)).last["error"]
    assert error["code"] == -32602
    assert "is agent, and to answer takes the role approver" in error["message"]


REQUESTS: dict[str, tuple[dict[str, Any], object]] = {
    "pml_continue": (
        {"workflow_id": "w", "resolutions": [{"task_id": "n1", "action": "retry"}]},
        ContinueRequest,
    ),
    "pml_abort": ({"workflow_id": "w", "reason": "enough"}, AbortRequest),
    "pml_replan": (
        {"workflow_id": "w", "code": "1", "options": {"args": {"a": 1}, "timeout": 5}},
        ReplanRequest,
    ),
}


@pytest.mark.parametrize("tool", REQUESTS)
async def test_each_tool_that_steers_hands_its_request_on(
    server: Served, client: Client, tool: str
) -> None:
    arguments, kind = REQUESTS[tool]
    await client.call(tool, arguments)
    ((request, by),) = server.bench.steering.said
    assert type(request) is kind
    assert by.role is Role.AGENT
    if isinstance(request, ReplanRequest):
        assert (request.code, request.args, request.timeout_ms) == ("1", {"a": 1}, 5)
        assert request.per_layer_validation is None


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("pml_continue", {}, "workflow_id: expected text, got nothing"),
        ("pml_continue", {"workflow_id": "w", "resolutions": [7]}, "expected an object, got 7"),
        (
            "pml_continue",
            {"workflow_id": "w", "resolutions": [{"task_id": "n1"}]},
            "resolutions[0]: object missing required field `action`",
        ),
        (
            "pml_approval_response",
            {"workflow_id": "w", "approved": True, "remember": {"tol": "x"}},
            "remember: object contains unknown field `tol`",
        ),
        ("pml_abort", {"workflow_id": 7}, "workflow_id: expected text, got 7"),
    ],
)
async def test_bad_requests_to_steer_name_the_field(
    client: Client, tool: str, arguments: dict[str, Any], said: str
) -> None:
    error = (await client.call(tool, arguments)).last["error"]
    assert (error["code"], said in error["message"]) == (-32602, True), error["message"]


async def test_a_layer_that_is_done_says_what_it_brought_and_how_to_go_on(
    server: Served, client: Client
) -> None:
    server.bench.steering.standing = ExecuteResponse(
        status="layer_complete",
        workflow_id="w",
        checkpoint_id="c1",
        pending_layer=1,
        layer_results=(
            TaskSummary(
                task_id="n1", tool="fs:read", success=True, duration_ms=1.0, result_preview='"hi"'
            ),
            TaskSummary(task_id="n2", tool="fs:x", success=False, duration_ms=1.0, error="no\nway"),
        ),
    )
    result = (await client.call("pml_continue", {"workflow_id": "w"})).last["result"]
    lines = result["content"][0]["text"].splitlines()
    assert lines[1:3] == ['  n1 fs.read = "hi"', "  n2 fs.x = failed: no way"]
    assert '- pml_continue({"workflow_id": "w", "checkpoint_id": "c1"})' in lines
    assert not result["isError"]


async def test_a_client_that_loses_its_stream_and_comes_back_keeps_its_run() -> None:
    async with served(resume_s=30.0) as server:
        client = await Client(server.port, LEGACY).open()
        wire = await client.begin(call_body("pml_execute", {"intent": "x", "code": "hold"}, id_=5))
        event = await wire.read_event()
        assert event["data"] == ""
        await server.bench.act.started.wait()
        await wire.close()
        resumed = await client.resume(event["id"])
        server.bench.act.release.set()
        message = await resumed.read_message()
        assert message["id"] == 5
        assert message["result"]["structuredContent"]["status"] == "success"
        assert not server.bench.act.cancelled.is_set()
        await resumed.close()


async def test_events_of_one_session_are_not_told_in_another() -> None:
    async with served(resume_s=30.0) as server:
        one = await Client(server.port, LEGACY).open()
        other = await Client(server.port, LEGACY).open()
        arguments = {"intent": "x", "code": "1", "context": {"secret": "of one"}}
        wire = await one.begin(call_body("pml_execute", arguments, id_=5))
        event = await wire.read_event()
        assert (await wire.read_message())["id"] == 5
        resumed = await other.resume(event["id"])
        assert b"of one" not in await resumed.rest()
        for each in (wire, resumed):
            await each.close()
