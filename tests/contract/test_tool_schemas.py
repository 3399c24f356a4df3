"""What servers offered, in every store (ST-2)."""

import asyncio

from pml.domain.tools import Tool
from pml.store.ports import Store
from tests.store.nouns import (
    a_tool,
)


async def listed(store: Store, server: str) -> tuple[Tool, ...] | None:
    """What the catalog has of a server, in order; None if it does not know it."""
    tools = (await store.tool_schemas.catalog()).servers.get(server)
    return None if tools is None else tuple(tools.values())


async def test_tools_come_back_in_the_servers_order(any_store: Store) -> None:
    assert await listed(any_store, "fs") is None
    tools = [
        a_tool("write", output_schema={"type": "object"}, annotations={"readOnlyHint": False}),
        a_tool("read"),
    ]
    await any_store.tool_schemas.replace("fs", tools)
    assert await listed(any_store, "fs") == tuple(tools)
    stored = await listed(any_store, "fs")
    assert stored is not None
    assert list(stored[1].input_schema["properties"]) == ["z", "a"]


async def test_a_server_without_tools_is_known(any_store: Store) -> None:
    await any_store.tool_schemas.replace("empty", [])
    await any_store.tool_schemas.replace("fs", [a_tool()])
    assert await listed(any_store, "empty") == ()
    catalog = await any_store.tool_schemas.catalog()
    assert dict(catalog.servers["empty"]) == {}
    assert catalog.find("fs:read") == a_tool()


async def test_tools_that_are_gone_do_not_show_until_they_return(any_store: Store) -> None:
    await any_store.tool_schemas.replace("fs", [a_tool("read"), a_tool("write")])
    await any_store.tool_schemas.replace("fs", [a_tool("write", description="new")])
    new = a_tool("write", description="new", changed=("description",))
    assert await listed(any_store, "fs") == (new,)
    assert (await any_store.tool_schemas.catalog()).find("fs:read") is None
    await any_store.tool_schemas.replace("fs", [a_tool("read")])
    assert await listed(any_store, "fs") == (a_tool("read"),)


async def test_of_two_tools_with_one_name_the_last_counts(any_store: Store) -> None:
    twice = [a_tool("read", description="1"), a_tool("write"), a_tool("read", description="2")]
    await any_store.tool_schemas.replace("fs", twice)
    assert await listed(any_store, "fs") == (twice[1], twice[2])


async def test_a_list_in_another_order_comes_back_in_that_order(any_store: Store) -> None:
    tools = [a_tool("read"), a_tool("write"), a_tool("list")]
    await any_store.tool_schemas.replace("fs", tools)
    await any_store.tool_schemas.replace("fs", tools[::-1])
    assert await listed(any_store, "fs") == tuple(tools[::-1])
    schema = {"type": "object", "properties": {"a": {}, "z": {}}, "required": ["z"]}
    for tool in (a_tool("read"), a_tool("read", input_schema=schema)):
        await any_store.tool_schemas.replace("fs", [tool])
    stored = await listed(any_store, "fs")
    assert stored is not None
    assert list(stored[0].input_schema["properties"]) == ["a", "z"]


async def test_two_listings_of_one_server_leave_one_of_them(any_store: Store) -> None:
    lists = [[a_tool(f"{number}-{place}") for place in range(5)] for number in range(4)]
    await asyncio.gather(*(any_store.tool_schemas.replace("fs", tools) for tools in lists))
    assert await listed(any_store, "fs") in [tuple(tools) for tools in lists]


async def test_some_servers_and_some_tools_are_found(any_store: Store) -> None:
    await any_store.tool_schemas.replace("fs", [a_tool("read"), a_tool("a:b")])
    await any_store.tool_schemas.replace("db", [a_tool("read", "db"), a_tool("gone", "db")])
    await any_store.tool_schemas.replace("db", [a_tool("read", "db")])
    catalog = await any_store.tool_schemas.catalog(["db", "unknown"])
    assert {server: list(tools) for server, tools in catalog.servers.items()} == {"db": ["read"]}
    assert (await any_store.tool_schemas.catalog([])).servers == {}
    wanted = ["fs:a:b", "db:read", "db:gone", "fs:none", "nowhere:read", "fs", ""]
    found = await any_store.tool_schemas.find(wanted)
    assert found == {"fs:a:b": a_tool("a:b"), "db:read": a_tool("read", "db")}
    assert await any_store.tool_schemas.find([]) == {}
