"""The library for those who ask while it is still being loaded (MCP-1)."""

import asyncio

import pytest

from pml.domain.tools import Tool
from pml.loop.library import PORTION, Library
from pml.store.memory import memory_store
from tests.loop.outside import Outside

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_who_asks_during_the_first_load_waits_until_everything_is_there() -> None:
    tools = tuple(Tool(server="fs", name=f"tool_{number}") for number in range(4 * PORTION))
    outside, store = Outside(), memory_store()
    outside.tools_by_server["fs"] = tools
    await store.tool_schemas.replace("fs", tools)
    library = Library(store, outside, clock=lambda: 0.0)

    loading = asyncio.create_task(library.refresh())
    await asyncio.sleep(0)
    half_way = loading.done()
    await library.refresh()

    found = library.index.rank(tools[-1].name, kind="tool", limit=1, offset=0, min_score=0.0)
    assert not half_way
    assert [hit.id for hit in found.hits] == [tools[-1].id]
    await loading
