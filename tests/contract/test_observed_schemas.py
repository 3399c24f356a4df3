"""What results teach of a tool's output, in every store (SA-10)."""

import asyncio
from typing import Any

from pml.domain.tools import Tool
from pml.learning.shapes import merged, observed
from pml.store.ports import Observation, Store
from tests.store.nouns import a_tool


def seen(tool: Tool, *values: Any) -> Observation:  # noqa: ANN401
    schema = observed(values)
    assert schema is not None
    return Observation(
        server=tool.server, name=tool.name, schema_hash=tool.schema_hash(), schema=schema
    )


async def known(store: Store, tool: Tool) -> dict[str, Any] | None:
    """The same from each of the three ways to read a tool."""
    found = (await store.tool_schemas.find([tool.id]))[tool.id]
    in_catalog = (await store.tool_schemas.catalog()).find(tool.id)
    told = {each.id: each for each in (await store.tool_schemas.changes(None)).tools}
    assert found == in_catalog == told[tool.id]
    return found.observed_schema


async def test_results_add_up(any_store: Store) -> None:
    tool = a_tool()
    await any_store.tool_schemas.replace("fs", [tool, a_tool("other")])
    assert await known(any_store, tool) is None
    await any_store.tool_schemas.observe([seen(tool, {"a": 1})])
    await any_store.tool_schemas.observe([seen(tool, {"a": None, "b": ["x"]})])
    assert await known(any_store, tool) == observed([{"a": 1}, {"a": None, "b": ["x"]}])
    assert await known(any_store, a_tool("other")) is None
    await any_store.tool_schemas.observe([])


async def test_it_stays_while_the_tool_is_described_alike(any_store: Store) -> None:
    tool = a_tool()
    await any_store.tool_schemas.replace("fs", [tool])
    await any_store.tool_schemas.observe([seen(tool, "text")])
    for listed in ([tool], [a_tool("other"), tool], [], [tool]):
        await any_store.tool_schemas.replace("fs", listed)
    assert await known(any_store, tool) == {"type": "string"}


async def test_a_tool_that_changes_forgets_it(any_store: Store) -> None:
    tool, changed = a_tool(), a_tool(description="new")
    await any_store.tool_schemas.replace("fs", [tool])
    await any_store.tool_schemas.observe([seen(tool, "text")])
    await any_store.tool_schemas.replace("fs", [changed])
    assert await known(any_store, changed) is None
    await any_store.tool_schemas.observe([seen(tool, "text")])
    assert await known(any_store, changed) is None


async def test_only_tools_that_are_there_and_declare_nothing_learn(any_store: Store) -> None:
    declared = a_tool(output_schema={"type": "object"})
    await any_store.tool_schemas.replace("fs", [declared])
    await any_store.tool_schemas.observe([seen(declared, {"a": 1}), seen(a_tool("none"), 1)])
    assert await known(any_store, declared) is None
    assert await any_store.tool_schemas.find(["fs:none"]) == {}


async def test_a_listing_teaches_nothing(any_store: Store) -> None:
    """Whatever a caller says was observed: only `observe` adds to it."""
    await any_store.tool_schemas.replace("fs", [a_tool(observed_schema={"type": "string"})])
    assert await known(any_store, a_tool()) is None


async def test_what_is_new_is_told_once(any_store: Store) -> None:
    tool = a_tool()
    await any_store.tool_schemas.replace("fs", [tool])
    await any_store.tool_schemas.observe([seen(tool, 1)])
    mark = (await any_store.tool_schemas.changes(None)).mark
    await any_store.tool_schemas.observe([seen(tool, 2)])
    assert (await any_store.tool_schemas.changes(mark)).tools == ()
    await any_store.tool_schemas.observe([seen(tool, None)])
    told = (await any_store.tool_schemas.changes(mark)).tools
    assert [each.observed_schema for each in told] == [{"type": ["null", "integer"]}]


async def test_runs_that_end_together_lose_nothing(any_store: Store) -> None:
    tools = [a_tool(name) for name in "abc"]
    await any_store.tool_schemas.replace("fs", tools)
    values = [{f"field_{'abcdefgh'[n]}": n} for n in range(8)]
    await asyncio.gather(
        *(
            any_store.tool_schemas.observe(
                [seen(tool, value) for tool in tools[:: 1 - 2 * (n % 2)]]
            )
            for n, value in enumerate(values)
        )
    )
    for tool in tools:
        assert await known(any_store, tool) == observed(values)
    assert merged(observed(values), observed(values[:1]) or {}) == observed(values)
