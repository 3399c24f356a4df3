"""The library in step with its store, whoever asks and writes meanwhile (MCP-1)."""

import asyncio
import dataclasses
from collections.abc import Collection, Mapping
from typing import TypeVar

import pytest

from pml.domain.tools import Catalog, Tool
from pml.loop.library import PORTION, Library
from pml.store.memory import memory_store
from pml.store.memory.data import Data
from pml.store.memory.tool_schemas import MemoryToolSchemas
from tests.loop.outside import Outside

T = TypeVar("T")
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


OLD = Tool(server="fs", name="read", description="as it was")
NEW = Tool(server="fs", name="read", description="as it is")


class Overtaken(MemoryToolSchemas):
    """Answers with what was there, after it has changed and the change has been told."""

    library: Library

    async def catalog(self, servers: Collection[str] | None = None) -> Catalog:
        return await self._overtaken(await super().catalog(servers))

    async def find(self, tool_ids: Collection[str]) -> Mapping[str, Tool]:
        return await self._overtaken(await super().find(tool_ids))

    async def _overtaken(self, answer: T) -> T:
        await self.replace("fs", (NEW,))
        self.library.outdated()
        await self.library.refresh()
        return answer


async def test_what_was_read_before_a_change_is_not_remembered_after_it() -> None:
    outside, data = Outside(), Data("local")
    outside.tools_by_server["fs"] = (OLD,)
    schemas = Overtaken(data)
    library = Library(
        dataclasses.replace(memory_store(), tool_schemas=schemas), outside, clock=lambda: 0.0
    )
    schemas.library = library
    await schemas.replace("fs", (OLD,))
    await library.refresh()

    for _ in range(2):
        listed = await library.listed(["fs"])
        cards = await library.tool_cards(["fs:read"])

    assert listed.tools["fs"]["read"].description == NEW.description
    assert cards["fs:read"].description == NEW.description


FIND = Tool(
    server="crm",
    name="find_user",
    output_schema={"type": "object", "properties": {"user_id": {"type": "string"}}},
)
MAIL = Tool(
    server="mail",
    name="send",
    input_schema={"type": "object", "properties": {"user_id": {"type": "string"}}},
)


async def told(library: Library) -> set[tuple[str, str]]:
    """Who can provide for whom, as the library says."""
    return {(edge.provider, edge.consumer) for edge in (await library.provides()).edges()}


async def test_edges_between_tools_follow_what_the_store_has() -> None:
    """SA-10: tools added, changed and removed, before and after somebody asked."""
    outside, store, now = Outside(), memory_store(), iter(range(100))
    outside.tools_by_server |= {"crm": (FIND,), "mail": (MAIL,)}
    await store.tool_schemas.replace("crm", (FIND,))
    library = Library(store, outside, clock=lambda: float(next(now)))
    await library.refresh()

    assert await told(library) == set()
    await store.tool_schemas.replace("mail", (MAIL,))
    assert await told(library) == {(FIND.id, MAIL.id)}
    takes_nothing = Tool(server="mail", name="send")
    await store.tool_schemas.replace("mail", (takes_nothing,))
    assert await told(library) == set()
    await store.tool_schemas.replace("mail", (MAIL,))
    assert await told(library) == {(FIND.id, MAIL.id)}
    await store.tool_schemas.replace("crm", ())
    assert await told(library) == set()


async def test_tools_of_servers_that_are_not_configured_have_no_edges() -> None:
    outside, store = Outside(), memory_store()
    outside.tools_by_server |= {"mail": (MAIL,)}
    await store.tool_schemas.replace("crm", (FIND,))
    await store.tool_schemas.replace("mail", (MAIL,))
    library = Library(store, outside, clock=lambda: 0.0)
    assert await told(library) == set()
