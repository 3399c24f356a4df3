"""Discovery over a library in step with its store (MCP-1), and pages of results (EX-7, MCP-3)."""

import dataclasses
import json
from typing import Literal

import pytest
from msgspec import convert

from pml.domain.discovery import (
    Discovered,
    DiscoverFilter,
    DiscoverRequest,
    DiscoverResponse,
    Found,
)
from pml.domain.limits import Limits
from pml.domain.permissions import Effect
from pml.domain.response import ExecuteRequest
from pml.domain.task_result import TaskResultPage, TaskResultRequest
from pml.domain.tools import Tool
from pml.errors import NotFoundError, RequestError
from pml.loop.act import Act
from pml.loop.discover import Discover
from pml.loop.library import FRESH_S, Library
from pml.loop.results import ReadTaskResult
from pml.store.memory import memory_store
from tests.loop.outside import Outside, echo

pytestmark = pytest.mark.asyncio(loop_scope="module")

READ = Tool(
    server="fs",
    name="read_file",
    description="Read the contents of a file",
    input_schema={
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    },
)
MOVE = Tool(server="fs", name="move_file", description="Move a file to another folder")
MAIL = Tool(server="mail", name="send", description="Send a message")


@pytest.fixture
def discover(act: Act, outside: Outside) -> Discover:
    outside.tools_by_server |= {"fs": (READ, MOVE)}
    outside.answers["fs:read_file"] = echo
    outside.effects["fs:read_file"] = Effect.READ
    return Discover(library=act.library, limits=Limits(), notes=tuple)


async def ask(discover: Discover, intent: str, **options: object) -> DiscoverResponse:
    return await discover(DiscoverRequest(intent=intent, **options))  # type: ignore[arg-type]


async def test_tools_that_were_listed_are_found_with_all_that_a_call_needs(
    act: Act, discover: Discover
) -> None:
    await act.store.tool_schemas.replace("fs", (READ, MOVE))
    act.library.outdated()
    first = (await ask(discover, "read what stands in a file")).results[0]
    assert (first.type, first.id, first.name) == (Found.TOOL, "fs:read_file", "fs.read_file")
    assert first.tool_schemas is not None
    assert first.tool_schemas.input_schema == READ.input_schema
    assert first.signature.startswith("mcp.fs.read_file(")
    assert 0 < first.score <= 1


async def test_tools_and_capabilities_share_one_ranking_and_the_filter_parts_them(
    act: Act, discover: Discover
) -> None:
    await act.store.tool_schemas.replace("fs", (READ, MOVE))
    code = 'return await mcp.fs.read_file({ path: "a" });'
    await act.execute(ExecuteRequest(intent="read a file of mine", code=code))
    both = await ask(discover, "read a file")
    assert {result.type for result in both.results} == {Found.TOOL, Found.CAPABILITY}
    for kind in ("tool", "capability"):
        wanted = convert({"type": kind}, DiscoverFilter)
        only = await ask(discover, "read a file", filter=wanted)
        assert {result.type for result in only.results} == {Found(kind)}
    capability = next(r for r in both.results if r.type is Found.CAPABILITY)
    assert capability.source is not None
    assert capability.source.code == code
    assert [p.name for p in capability.parameters] == ["path"]


async def test_pages_of_the_ranking_add_up_to_the_whole(act: Act, discover: Discover) -> None:
    tools = tuple(Tool(server="fs", name=f"read_{n}", description="read file") for n in range(25))
    await act.store.tool_schemas.replace("fs", tools)
    act.library.outdated()
    whole = await ask(discover, "read file", limit=100)
    pages: list[Discovered] = []
    offset = 0
    while True:
        page = await ask(discover, "read file", limit=7, offset=offset)
        pages += page.results
        if page.next_offset is None:
            break
        offset = page.next_offset
    assert tuple(pages) == whole.results
    assert whole.total == 25


async def test_a_tool_that_is_gone_or_not_configured_is_not_found(
    act: Act, discover: Discover
) -> None:
    await act.store.tool_schemas.replace("fs", (READ, MOVE))
    await act.store.tool_schemas.replace("mail", (MAIL,))
    act.library.outdated()
    assert (await ask(discover, "send a message")).results == ()
    assert {r.id for r in (await ask(discover, "file")).results} == {"fs:read_file", "fs:move_file"}
    await act.store.tool_schemas.replace("fs", (MOVE,))
    act.library.outdated()
    assert {r.id for r in (await ask(discover, "file")).results} == {"fs:move_file"}


async def test_a_changed_description_shows_at_once(act: Act, discover: Discover) -> None:
    await act.store.tool_schemas.replace("fs", (READ,))
    act.library.outdated()
    await ask(discover, "read file")
    changed = Tool(server="fs", name="read_file", description="Read a file, or a part of it")
    await act.store.tool_schemas.replace("fs", (changed,))
    act.library.outdated()
    (found,) = (await ask(discover, "read file")).results
    assert found.description == changed.description


async def test_what_another_process_writes_is_seen_after_a_moment(outside: Outside) -> None:
    outside.tools_by_server["fs"] = (READ,)
    now = [0.0]
    store = memory_store()
    library = Library(store, outside, clock=lambda: now[0])
    discover = Discover(library=library, limits=Limits(), notes=tuple)
    assert (await ask(discover, "read file")).results == ()
    await store.tool_schemas.replace("fs", (READ,))
    assert (await ask(discover, "read file")).results == ()
    now[0] = FRESH_S
    assert len((await ask(discover, "read file")).results) == 1


async def test_an_empty_or_huge_intent_is_refused_with_what_was_expected(
    discover: Discover,
) -> None:
    for intent in ("  ", "x" * 10_001, "\ud800"):
        with pytest.raises(RequestError, match="intent"):
            await ask(discover, intent)


async def test_brief_results_leave_out_schemas(act: Act, discover: Discover) -> None:
    await act.store.tool_schemas.replace("fs", (READ,))
    act.library.outdated()
    (found,) = (await ask(discover, "read file", detail="brief")).results
    assert found.tool_schemas is None
    assert "path: string" in found.signature


async def test_declarations_stand_in_place_of_schemas(act: Act, discover: Discover) -> None:
    await act.library.listed(["fs"])
    await act.store.tool_schemas.replace("fs", [READ, MOVE])
    found, *_ = (await ask(discover, "read file", detail="types")).results
    assert found.tool_schemas is None
    assert found.declaration == (
        "/** Read the contents of a file */\n"
        "mcp.fs.read_file(args: { path: string }): Promise<unknown>"
    )
    act.library.outdated()
    await act.execute(
        ExecuteRequest(intent="read it", code='return await mcp.fs.read_file({ path: "a" })')
    )
    asked = await ask(discover, "read_it", detail="types", filter=DiscoverFilter(type="capability"))
    assert asked.results[0].declaration == (
        "/** read it */\n"
        'capabilities.read_it(args?: {\n  /** Default: "a". */\n  path?: string;\n'
        "}): Promise<unknown>"
    )


async def test_a_server_that_failed_is_named_in_the_answer(act: Act) -> None:
    discover = Discover(library=act.library, limits=Limits(), notes=lambda: ("server 'x': down",))
    assert (await ask(discover, "anything")).notes == ("server 'x': down",)


def reader(act: Act, now_ms: int = 0) -> ReadTaskResult:
    return ReadTaskResult(task_results=act.store.task_results, now_ms=lambda: now_ms)


async def pages(
    read: ReadTaskResult, run_id: str, limit: int, kind: Literal["raw", "pretty"]
) -> list[TaskResultPage]:
    found: list[TaskResultPage] = []
    offset: int | None = 0
    while offset is not None:
        request = TaskResultRequest(
            workflow_id=run_id, task_id="result", offset=offset, limit=limit, format=kind
        )
        found.append(await read(request))
        offset = found[-1].next_offset
    return found


@pytest.mark.parametrize("kind", ["raw", "pretty"])
async def test_pages_of_a_result_add_up_to_the_whole(
    act: Act, kind: Literal["raw", "pretty"]
) -> None:
    value = {"rows": [{"n": n, "text": "ä" * n} for n in range(40)]}
    code = f"return {json.dumps(value)};"
    answer = await act.execute(ExecuteRequest(intent="make rows", code=code))
    run_id = answer.workflow_id or ""
    for limit in (1, 7, 100_000):
        if limit == 1 and kind == "pretty":
            continue
        found = await pages(reader(act), run_id, limit, kind)
        text = "".join(page.text for page in found)
        assert json.loads(text) == value
        assert {page.total_chars for page in found} == {len(text)}


async def test_a_result_as_large_as_may_be_is_read_whole_and_indented(act: Act) -> None:
    """EX-7: as it is kept, with blanks, it has more characters than the limit has bytes."""
    small = dataclasses.replace(act, limits=Limits(result_bytes=2_000))
    request = ExecuteRequest(intent="ones", code="return Array(900).fill(1);")
    answer = await small.execute(request)
    found = await pages(reader(small), answer.workflow_id or "", 1_000, "pretty")
    text = "".join(page.text for page in found)
    assert text == json.dumps([1] * 900, indent=2)
    assert len(found) == 1 + len(text) // 1_000


async def test_a_result_that_is_unknown_or_expired_says_so(act: Act) -> None:
    answer = await act.execute(ExecuteRequest(intent="one", code="return 1;"))
    request = TaskResultRequest(workflow_id=answer.workflow_id or "", task_id="result")
    late = reader(act, now_ms=10**14)
    with pytest.raises(NotFoundError, match="expired"):
        await late(request)
    with pytest.raises(NotFoundError):
        await reader(act)(TaskResultRequest(workflow_id="nobody", task_id="n1"))
