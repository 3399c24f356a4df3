"""Runs teach what tools give that declare nothing (SA-10)."""

import json
from typing import Any

import msgspec
import pytest

from pml.domain.permissions import Effect
from pml.domain.record import JsonText
from pml.domain.response import ExecuteRequest, ExecuteResponse
from pml.domain.run import Failed, Outcome, Returned
from pml.errors import StoreError
from pml.loop.act import Act
from pml.loop.observed import VALUE_CHARS
from pml.store.ports import Observation
from tests.loop.outside import Outside

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOTE = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "size": {"type": "integer"}},
    "required": ["path"],
}


async def answer(_tool: str, arguments: JsonText) -> Outcome:
    given = json.loads(arguments)
    if "fail" in given:
        return Failed(code="tool_error", message="no", data='{"hint": 1}')
    if "large" in given:
        return Returned(value=json.dumps({"large": "x" * VALUE_CHARS}))
    return Returned(value=arguments)


async def prepared(act: Act, outside: Outside, **fields: Any) -> None:  # noqa: ANN401
    outside.offer("fs:read", answer, Effect.READ)
    (tool,) = outside.tools_by_server["fs"]
    outside.tools_by_server["fs"] = (msgspec.structs.replace(tool, **fields),)
    await act.store.tool_schemas.replace("fs", outside.tools_by_server["fs"])


async def run(act: Act, code: str) -> ExecuteResponse:
    return await act.execute(ExecuteRequest(intent="test", code=code))


async def known(act: Act) -> dict[str, Any] | None:
    found = await act.store.tool_schemas.find(["fs:read"])
    return found["fs:read"].observed_schema


async def test_successful_calls_teach_also_in_a_run_that_fails(act: Act, outside: Outside) -> None:
    await prepared(act, outside)
    await run(act, 'await mcp.fs.read({ path: "ghp_secret", size: 1 });')
    assert (await known(act) or {})["required"] == ["path", "size"]
    failed = await run(act, 'await mcp.fs.read({ path: "b" }); await mcp.fs.read({ fail: 1 });')
    assert failed.status == "error"
    assert await known(act) == NOTE


async def test_the_next_program_is_read_with_what_was_learned(act: Act, outside: Outside) -> None:
    await prepared(act, outside)
    await run(act, 'await mcp.fs.read({ path: "a", size: 1 });')
    catalog = (await act.library.listed(["fs"])).tools["fs"]
    assert catalog["read"].observed_schema == await known(act)
    card = (await act.library.tool_cards(["fs:read"]))["fs:read"]
    assert card.signature.endswith("Promise<{ path: string; size: number } /* observed */>")


async def test_large_results_and_declared_ones_teach_nothing(act: Act, outside: Outside) -> None:
    await prepared(act, outside)
    assert (await run(act, "await mcp.fs.read({ large: 1 });")).status == "success"
    assert await known(act) is None
    await act.store.tool_schemas.replace("fs", [])
    outside.tools_by_server.clear()
    await prepared(act, outside, output_schema={"type": "object"})
    (held,) = await act.store.tool_schemas.quarantined()
    shown = held.now.schema_hash()
    await act.store.tool_schemas.accept("fs:read", schema_hash=shown, by="ann", now_ms=1)
    act.library.outdated()
    assert (await run(act, 'await mcp.fs.read({ path: "a" });')).status == "success"
    assert await known(act) is None


async def test_what_is_known_is_not_written_again(
    act: Act, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    await prepared(act, outside)
    await run(act, 'await mcp.fs.read({ path: "a", size: 1 });')
    written: list[Observation] = []

    async def write(observations: list[Observation]) -> None:
        written.extend(observations)
        message = "the database is lost"
        raise StoreError(message)

    monkeypatch.setattr(act.store.tool_schemas, "observe", write)
    assert (await run(act, 'await mcp.fs.read({ path: "b", size: 2 });')).status == "success"
    assert written == []
    assert (await run(act, 'await mcp.fs.read({ path: "b", size: null });')).status == "success"
    assert len(written) == 1
