"""REST, its keys and its event streams (OP-3, HIL-3 to HIL-5, EX-9)."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx2
import msgspec
import pytest

from pml.domain.approval import (
    ApiKey,
    Approval,
    Grant,
    GrantScope,
    Role,
    ToolVersion,
)
from pml.domain.events import RunEnd, RunStarted, TaskEnd
from pml.domain.run import Run, RunProgram, RunState
from pml.domain.steering import AbortRequest, ApprovalAnswer, ContinueRequest, ReplanRequest
from pml.serve.access import key_hash
from pml.serve.rest import Rest
from pml.serve.routes import Route
from tests.serve.stand_in import Served, StandIn, served
from tests.serve.wire import LEGACY, MODERN, Client
from tests.store.nouns import a_tool

RUN = Run(
    id="w",
    intent="write",
    state=RunState.RUNNING,
    source_hash="0f" * 32,
    owner="test",
    created_at_ms=1,
    updated_at_ms=2,
    timeout_ms=1_000,
)
PROGRAM = RunProgram(source="1", instrumented="1", structure="{}", arguments={}, seed=1)


@dataclass
class Site:
    """A served stand-in, and who may ask it."""

    server: Served
    http: httpx2.AsyncClient

    async def ask(
        self,
        method: str,
        path: str,
        role: Role | None = None,
        *,
        headers: dict[str, str] | None = None,
        json: object = None,
        content: bytes | None = None,
    ) -> httpx2.Response:
        own = {} if role is None else {"authorization": f"Bearer key of {role}"}
        return await self.http.request(
            method, path, headers=own | (headers or {}), json=json, content=content
        )


@pytest.fixture(params=[False])
async def site(request: pytest.FixtureRequest) -> AsyncIterator[Site]:
    async with served(keys_required=request.param) as server:
        keys = server.bench.store.api_keys
        for role in Role:
            key = ApiKey(id=f"id-{role}", name=f"the {role}", role=role, created_at_ms=1)
            await keys.create(key, key_hash=key_hash(f"key of {role}"))
        await server.bench.store.runs.create(RUN, PROGRAM)
        url = f"http://127.0.0.1:{server.port}"
        async with httpx2.AsyncClient(base_url=url, timeout=30) as http:
            yield Site(server, http)


ROUTES = Rest(bench=StandIn(), now_ms=lambda: 1).routes()
VALID: dict[str, Any] = {
    "approved": True,
    "tool": "fs:x",
    "schemaHash": "0",
}


def body_of(route: Route) -> dict[str, Any]:
    if route.body is None:
        return {}
    names = {f.encode_name for f in msgspec.structs.fields(route.body) if f.required}
    return {"json": {name: VALID[name] for name in names}}


def path_of(route: Route) -> str:
    path: str = route.path
    return path.replace("{run_id}", "w").replace("{approval_id}", "a").replace("{grant_id}", "g")


async def test_a_request_without_a_body_is_one_without_fields(site: Site) -> None:
    """OP-3: `curl -X POST .../continue` is enough."""
    answer = await site.ask("POST", "/api/runs/w/continue", Role.AGENT)
    assert answer.status_code == 200, answer.text
    answer = await site.ask("POST", "/api/approvals/a", Role.APPROVER)
    assert (answer.status_code, "approved" in answer.text) == (400, True)


@pytest.mark.parametrize("role", [None, *Role])
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
async def test_each_route_is_open_to_its_role_and_those_above(
    site: Site, route: Route, role: Role | None
) -> None:
    answer = await site.ask(route.method, path_of(route), role, **body_of(route))
    held = Role.VIEWER if role is None else role
    if held.may(route.role):
        assert answer.status_code in {200, 404}, answer.text
    else:
        assert answer.status_code == (401 if role is None else 403), answer.text
        assert (answer.headers.get("www-authenticate") is not None) is (role is None)
        assert f"role {route.role}" in answer.json()["detail"]


@pytest.mark.parametrize("site", [True], indirect=True)
@pytest.mark.parametrize("path", ["/api/runs", "/api/openapi.json", "/mcp", "/api/runs/w/events"])
async def test_where_others_reach_it_nothing_is_told_without_a_key(site: Site, path: str) -> None:
    answer = await site.ask("GET", path)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert "Bearer KEY" in answer.text
    assert (await site.ask("GET", "/health")).json() == {"status": "ok", "version": "0.1.0"}
    assert "servers" in (await site.ask("GET", "/health", Role.VIEWER)).json()


@pytest.mark.parametrize(
    "said", ["Bearer unknown", "Basic eDp5", "Bearer", "", "Bearer " + "x" * 2_000]
)
async def test_a_key_that_opens_nothing_is_refused_where_none_is_needed_too(
    site: Site, said: str
) -> None:
    answer = await site.ask("GET", "/api/runs", headers={"authorization": said})
    assert (answer.status_code, answer.headers["content-type"]) == (401, "application/problem+json")


async def test_a_revoked_key_opens_nothing(site: Site) -> None:
    await site.server.bench.store.api_keys.revoke("id-viewer", now_ms=5)
    assert (await site.ask("GET", "/api/runs", Role.VIEWER)).status_code == 401


async def test_a_key_is_noted_as_used(site: Site) -> None:
    await site.ask("GET", "/api/runs", Role.AGENT)
    used = {key.name: key.used_at_ms for key in await site.server.bench.store.api_keys.all()}
    assert [name for name, at_ms in used.items() if at_ms] == ["the agent"]


@pytest.mark.parametrize("revision", [MODERN, LEGACY])
@pytest.mark.parametrize("role", list(Role))
async def test_tools_of_the_endpoint_take_a_role_too(site: Site, revision: str, role: Role) -> None:
    headers = {"authorization": f"Bearer key of {role}"}
    client = await Client(site.server.port, revision, headers).open()
    found = (await client.call("pml_discover", {"intent": "x"})).last
    assert "result" in found
    answer = (await client.call("pml_execute", {"intent": "x", "code": "1"})).last
    assert ("result" in answer) is role.may(Role.AGENT)
    if not role.may(Role.AGENT):
        assert "takes the role agent" in answer["error"]["message"]
    arguments = {"workflow_id": "w", "approved": True}
    answer = (await client.call("pml_approval_response", arguments)).last
    assert ("result" in answer) is role.may(Role.APPROVER)


async def test_a_session_belongs_to_the_key_that_began_it(site: Site) -> None:
    client = await Client(
        site.server.port, LEGACY, {"authorization": f"Bearer key of {Role.AGENT}"}
    ).open()
    client.headers["authorization"] = f"Bearer key of {Role.ADMIN}"
    assert (await client.call("pml_discover", {"intent": "x"})).status == 404


async def test_what_is_kept_is_told(site: Site) -> None:
    store = site.server.bench.store
    approval = Approval(
        id="a",
        run_id="w",
        source_hash=RUN.source_hash,
        arguments_hmac="h",
        tools=(ToolVersion(tool="fs:write", schema_hash="s"),),
        asked_at_ms=1,
        expires_at_ms=2**50,
    )
    await store.approvals.ask(approval, epoch=0)
    scope = GrantScope(tool="fs:*")
    await store.grants.remember(Grant(id="g", scope=scope, granted_at_ms=1, granted_by="ada"))
    runs = (await site.ask("GET", "/api/runs?state=running&limit=3")).json()["runs"]
    assert [run["id"] for run in runs] == ["w"]
    view = (await site.ask("GET", "/api/runs/w")).json()
    assert view["standing"]["status"] == "approval_required"
    (waits,) = (await site.ask("GET", "/api/approvals")).json()["approvals"]
    assert (waits["id"], waits["runId"]) == ("a", "w")
    revoked = (await site.ask("DELETE", "/api/grants/g", Role.APPROVER)).json()
    assert revoked["revokedAtMs"] > 1
    entries = (await site.ask("GET", "/api/audit")).json()["entries"]
    assert {(entry["event"], entry["actor"]) for entry in entries} >= {("revoked", "the approver")}
    answered = await site.ask(
        "POST", "/api/approvals/a", Role.APPROVER, json={"approved": True, "note": "fine"}
    )
    assert answered.json()["status"] == "success"
    ((request, by),) = site.server.bench.steering.said
    assert request == ApprovalAnswer(workflow_id="w", approval_id="a", approved=True, note="fine")
    assert (by.name, by.role) == ("the approver", Role.APPROVER)


@pytest.mark.parametrize(
    ("word", "body", "request_"),
    [
        ("continue", {"checkpointId": "c"}, ContinueRequest(workflow_id="w", checkpoint_id="c")),
        ("abort", {"reason": "enough"}, AbortRequest(workflow_id="w", reason="enough")),
        ("replan", {"code": "1"}, ReplanRequest(workflow_id="w", code="1")),
    ],
)
async def test_runs_are_steered(site: Site, word: str, body: object, request_: object) -> None:
    answer = await site.ask("POST", f"/api/runs/w/{word}", Role.AGENT, json=body)
    assert answer.status_code == 200
    assert [request for request, _ in site.server.bench.steering.said] == [request_]


@pytest.mark.parametrize(
    ("asked", "more", "status", "said"),
    [
        ("GET /api/runs?limit=0", {}, 400, "query: limit: expected `int` >= 1"),
        ("GET /api/runs?limit=1&limit=2", {}, 400, "limit: expected once"),
        ("GET /api/runs?stat=x", {}, 400, "unknown field `stat`"),
        ("GET /api/runs/x", {}, 404, "no run 'x'"),
        ("GET /api/runs/w/trace", {}, 404, "a run has one when it has ended"),
        ("GET /api/runs/x/events", {}, 404, "no run 'x'"),
        ("POST /api/approvals/x", {"json": {"approved": True}}, 404, "no approval 'x'"),
        ("POST /api/approvals/x", {"json": {"approved": 1}}, 400, "approved: expected `bool`"),
        ("POST /api/approvals/x", {"content": b"{"}, 400, "body: expected JSON"),
        ("POST /api/approvals/x", {"content": b"\xff"}, 400, "body: "),
        ("DELETE /api/grants/x", {}, 404, "no grant 'x'"),
        ("GET /api/nothing", {}, 404, "/api/openapi.json lists what there is"),
        ("PUT /api/runs", {}, 405, "/api/openapi.json lists what there is"),
    ],
    ids=str,
)
async def test_a_bad_request_is_told_what_was_expected(
    site: Site, asked: str, more: dict[str, Any], status: int, said: str
) -> None:
    method, _, path = asked.partition(" ")
    answer = await site.ask(method, path, Role.ADMIN, **more)
    assert (answer.status_code, said in answer.text) == (status, True), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status


async def lines_of(site: Site, path: str, **headers: str) -> list[dict[str, str]]:
    """The events of a stream that ends."""
    text = (await site.ask("GET", path, headers=headers)).text
    blocks = [block for block in text.split("\n\n") if block and not block.startswith(":")]
    return [dict(line.split(": ", 1) for line in block.splitlines()) for block in blocks]


async def test_a_stream_tells_what_happens_and_ends_with_the_run(site: Site) -> None:
    feed = site.server.bench.feed
    feed.emit(RunStarted(run_id="w", at_ms=1, intent="x"))
    watching = asyncio.create_task(lines_of(site, "/api/runs/w/events"))
    end = RunEnd(run_id="w", at_ms=2, state=RunState.SUCCESS, duration_ms=1.0)
    feed.emit(end)
    first, last = await watching
    assert (first["event"], last["event"]) == ("run_started", "run_end")
    assert json.loads(last["data"])["state"] == "success"
    again = await lines_of(site, "/api/runs/w/events", **{"last-event-id": first["id"]})
    assert again == [last]


async def test_a_run_that_ended_elsewhere_while_somebody_watched_is_told_to_have_ended(
    site: Site,
) -> None:
    async with site.http.stream("GET", "/api/runs/w/events") as answer:
        parts = answer.aiter_text()
        assert await anext(parts) == ": still here\n\n"
        await site.server.bench.store.runs.move("w", RunState.ABORTED, now_ms=7, epoch=0)
        text = "".join([part async for part in parts])
    assert [line for line in text.splitlines() if line.startswith("event")] == [
        "event: run_started",
        "event: run_end",
    ]
    assert '"state":"aborted"' in text


async def test_a_run_that_ended_before_this_process_began_is_told_from_its_trace(
    site: Site,
) -> None:
    await site.server.bench.store.runs.move("w", RunState.CANCELLED, now_ms=7, epoch=0)
    told = await lines_of(site, "/api/runs/w/events")
    assert [(event["id"], event["event"]) for event in told] == [
        ("trace-1", "run_started"),
        ("trace-2", "run_end"),
    ]
    rest = await lines_of(site, "/api/runs/w/events", **{"last-event-id": "trace-1"})
    assert rest == told[1:]


async def test_events_leave_without_secrets(site: Site) -> None:
    feed = site.server.bench.feed
    feed.emit(
        TaskEnd(
            run_id="w",
            at_ms=1,
            task_id="n1",
            tool="fs:read",
            success=True,
            duration_ms=1.0,
            result={"password": "hunter2", "text": "ghp_" + "a1" * 18},
        )
    )
    feed.emit(RunEnd(run_id="w", at_ms=2, state=RunState.SUCCESS, duration_ms=1.0))
    first, _ = await lines_of(site, "/api/runs/w/events")
    assert first["event"] == "task_end"
    assert "hunter2" not in first["data"]
    assert "a1a1" not in first["data"]


async def test_a_tool_that_is_accepted_is_found_from_then_on(site: Site) -> None:
    schemas = site.server.bench.store.tool_schemas
    await schemas.replace("fs", [a_tool()])
    await schemas.replace("fs", [a_tool(description="Read it all.")])
    (held,) = (await site.ask("GET", "/api/tools/quarantined")).json()["tools"]
    body = {"tool": "fs:read", "schemaHash": held["schemaHash"]}
    answer = await site.ask("POST", "/api/tools/quarantined/accept", Role.ADMIN, json=body)
    assert answer.json()["description"] == "Read it all."
    assert site.server.bench.library.told == 1
