"""What becomes stale and who is told of changes, in every store (ST-2, ST-4)."""

from pml.domain.run import RunState
from pml.store.ports import CapabilityChanges, Store, ToolChanges
from tests.contract.capability_runs import kept, ran
from tests.store.nouns import (
    a_structure,
    a_tool,
)


async def stale(store: Store) -> set[str]:
    return {one.name for one in await store.capabilities.recent(99, hidden=True) if one.stale}


async def test_a_changed_tool_makes_its_users_stale(any_store: Store) -> None:
    listed = [a_tool("read"), a_tool("write"), a_tool("list")]
    await any_store.tool_schemas.replace("fs", listed)
    reader = await kept(any_store, "reader")
    await kept(any_store, "both", structure=a_structure("fs:write", "fs:read"))
    await kept(any_store, "writer", structure=a_structure("fs:write"))
    await any_store.tool_schemas.replace("fs", [a_tool("list"), a_tool("write"), a_tool("read")])
    await any_store.tool_schemas.replace("other", [a_tool("read", "other")])
    assert await stale(any_store) == set()
    listed[0] = a_tool("read", description="new")
    await any_store.tool_schemas.replace("fs", listed)
    assert await stale(any_store) == {"reader", "both"}
    await ran(any_store, reader.id, 1, state=RunState.ERROR)
    assert await stale(any_store) == {"reader", "both"}
    await ran(any_store, reader.id, 2)
    await any_store.tool_schemas.replace("fs", listed)
    assert await stale(any_store) == {"both"}


async def test_a_run_that_knew_a_tool_otherwise_does_not_end_that_it_is_stale(
    any_store: Store,
) -> None:
    """ST-4: a run that began before the change says nothing of what came after it."""
    old, new = a_tool("read"), a_tool("read", description="new")
    await any_store.tool_schemas.replace("fs", [old])
    below = await kept(any_store, "below")
    above = await kept(any_store, "above", structure=a_structure("x:y", calls=(below.id,)))
    await any_store.tool_schemas.replace("fs", [new])
    knew: tuple[dict[str, str], ...] = (
        {},
        {"fs:read": old.schema_hash()},
        {"fs:\x00": new.schema_hash()},
    )
    for number, tools in enumerate(knew):
        await ran(any_store, above.id, number, tools=tools)
        assert await stale(any_store) == {"below", "above"}
    await ran(any_store, above.id, 8, tools={"fs:read": new.schema_hash()})
    assert await stale(any_store) == {"below"}
    await any_store.tool_schemas.replace("fs", [])
    await ran(any_store, below.id, 9, tools={"fs:read": new.schema_hash()})
    assert await stale(any_store) == {"below", "above"}


async def test_a_tool_that_is_gone_makes_its_users_stale(any_store: Store) -> None:
    await any_store.tool_schemas.replace("fs", [a_tool("read"), a_tool("write")])
    reader = await kept(any_store, "reader")
    await any_store.tool_schemas.replace("fs", [a_tool("write")])
    assert await stale(any_store) == {"reader"}
    await ran(any_store, reader.id, 1)
    await any_store.tool_schemas.replace("fs", [a_tool("write")])
    await any_store.tool_schemas.replace("fs", [a_tool("read"), a_tool("write")])
    assert await stale(any_store) == set()
    await any_store.tool_schemas.replace("fs", [])
    await ran(any_store, reader.id, 2)
    await any_store.tool_schemas.replace("fs", [a_tool("read", description="came back other")])
    assert await stale(any_store) == {"reader"}


async def test_callers_of_what_uses_a_changed_tool_are_stale_too(any_store: Store) -> None:
    await any_store.tool_schemas.replace("fs", [a_tool("read"), a_tool("write")])
    below = await kept(any_store, "below")
    writes = a_structure("fs:write", calls=(below.id,))
    between = await kept(any_store, "between", structure=writes)
    await kept(any_store, "above", structure=a_structure("fs:write", calls=(between.id, "none")))
    await kept(any_store, "apart", structure=a_structure("fs:write"))
    await any_store.tool_schemas.replace("fs", [a_tool("write")])
    assert await stale(any_store) == {"below", "between", "above"}


def told(changes: CapabilityChanges) -> set[str]:
    return {one.name for one in changes.capabilities}


async def until_quiet(store: Store) -> tuple[ToolChanges, CapabilityChanges]:
    """Marks after which nothing is told: all transactions before them have ended."""
    tools, capabilities = (
        await store.tool_schemas.changes(None),
        await store.capabilities.changes(None),
    )
    while tools.tools or tools.gone or capabilities.capabilities:
        tools = await store.tool_schemas.changes(tools.mark)
        capabilities = await store.capabilities.changes(capabilities.mark)
    return tools, capabilities


async def test_capabilities_that_changed_are_told_with_all_their_intents(any_store: Store) -> None:
    a, b, c = [await kept(any_store, name) for name in "abc"]
    await ran(any_store, a.id, 1, intent_text="one")
    everything = await any_store.capabilities.changes(None)
    assert told(everything) == {"a", "b", "c"}
    assert everything.intents == await any_store.capabilities.intents(a.id)
    _, quiet = await until_quiet(any_store)
    await ran(any_store, a.id, 2, intent_text="two")
    await any_store.capabilities.rename(b.id, "renamed", now_ms=9)
    await ran(any_store, c.id, 3, state=RunState.CANCELLED)
    changes = await any_store.capabilities.changes(quiet.mark)
    assert told(changes) == {"a", "renamed"}
    assert list(changes.capabilities) == [
        await any_store.capabilities.get(one) for one in sorted((a.id, b.id))
    ]
    assert {one.intent for one in changes.intents} == {"one", "two"}


async def test_a_capability_that_became_stale_has_changed(any_store: Store) -> None:
    await any_store.tool_schemas.replace("fs", [a_tool("read")])
    await kept(any_store, "a")
    _, quiet = await until_quiet(any_store)
    await any_store.tool_schemas.replace("fs", [])
    (changed,) = (await any_store.capabilities.changes(quiet.mark)).capabilities
    assert changed.stale


async def test_tools_that_changed_or_are_gone_are_told(any_store: Store) -> None:
    await any_store.tool_schemas.replace("fs", [a_tool(name) for name in "abcd"])
    await any_store.tool_schemas.replace("fs", [a_tool(name) for name in "abc"])
    everything = await any_store.tool_schemas.changes(None)
    assert {tool.id for tool in everything.tools} == {"fs:a", "fs:b", "fs:c"}
    assert everything.gone == ()
    quiet, _ = await until_quiet(any_store)
    changed = a_tool("a", description="new")
    await any_store.tool_schemas.replace("fs", [a_tool("e"), a_tool("c"), changed])
    changes = await any_store.tool_schemas.changes(quiet.mark)
    told = {"fs:a": a_tool("a", description="new", changed=("description",)), "fs:e": a_tool("e")}
    assert {tool.id: tool for tool in changes.tools} == told
    assert changes.gone == ("fs:b",)
    quiet, _ = await until_quiet(any_store)
    await any_store.tool_schemas.replace("fs", [changed, a_tool("b"), a_tool("c"), a_tool("e")])
    assert (await any_store.tool_schemas.changes(quiet.mark)).tools == (a_tool("b"),)
