"""A tool that is described otherwise than when it was accepted is held back (HIL-5)."""

import pytest

from pml.domain.approval import AuditEvent, Quarantined
from pml.domain.tools import Tool
from pml.errors import ApprovalStateError, NotFoundError
from pml.store.ports import Observation, Store
from tests.store.nouns import a_tool

OLD = a_tool(output_schema={"type": "object", "title": "z\x00"}, annotations={"b": 1, "a": 1.0})
NEW = a_tool(description="Deletes a file.\x00")
PARTS = ("description", "output schema", "annotations")


async def listed(store: Store, *tools: Tool) -> Tool:
    """The first of the tools, as it is told after this listing."""
    await store.tool_schemas.replace("fs", tools)
    return (await store.tool_schemas.find([tools[0].id]))[tools[0].id]


async def test_the_first_listing_accepts(any_store: Store) -> None:
    assert (await listed(any_store, OLD)).changed == ()
    assert await any_store.tool_schemas.quarantined() == ()


async def test_a_tool_says_what_changed_and_what_it_was(any_store: Store) -> None:
    await listed(any_store, OLD, a_tool("other"))
    now = await listed(any_store, NEW, a_tool("other"))
    assert now.changed == PARTS
    assert await any_store.tool_schemas.quarantined() == (Quarantined(accepted=OLD, now=now),)
    catalog = await any_store.tool_schemas.catalog()
    assert catalog.servers["fs"]["read"] == now
    assert now in (await any_store.tool_schemas.changes(None)).tools
    latest = await listed(any_store, a_tool(description="", input_schema={"type": "object"}))
    assert latest.changed == ("description", "input schema", *PARTS[1:])
    assert [one.accepted for one in await any_store.tool_schemas.quarantined()] == [OLD]


async def test_a_tool_that_is_described_as_before_needs_nobody(any_store: Store) -> None:
    await listed(any_store, OLD)
    await listed(any_store, NEW)
    assert await listed(any_store, OLD) == OLD
    assert await any_store.tool_schemas.quarantined() == ()


async def test_what_results_showed_changes_nothing(any_store: Store) -> None:
    tool = await listed(any_store, NEW)
    shape = {"type": "string"}
    seen = Observation(server="fs", name="read", schema_hash=tool.schema_hash(), schema=shape)
    await any_store.tool_schemas.observe([seen])
    assert (await listed(any_store, NEW)).observed_schema is not None
    await listed(any_store, OLD)
    assert [one.accepted for one in await any_store.tool_schemas.quarantined()] == [tool]
    assert (await listed(any_store, NEW)).changed == ()


async def test_a_tool_that_was_gone_is_compared_with_what_was_accepted(any_store: Store) -> None:
    await listed(any_store, OLD, a_tool("other"))
    await listed(any_store, NEW, a_tool("other"))
    await listed(any_store, a_tool("other"))
    assert await any_store.tool_schemas.quarantined() == ()
    with pytest.raises(NotFoundError, match="no tool 'fs:read'"):
        await accept(any_store, NEW)
    assert (await listed(any_store, NEW)).changed == PARTS
    await listed(any_store, a_tool("other"))
    assert (await listed(any_store, OLD)).changed == ()


async def accept(store: Store, looked_at: Tool, tool_id: str = "fs:read") -> Tool:
    return await store.tool_schemas.accept(
        tool_id, schema_hash=looked_at.schema_hash(), by="ada", now_ms=5
    )


async def test_who_accepts_a_tool_is_written_down(any_store: Store) -> None:
    await listed(any_store, OLD)
    now = await listed(any_store, NEW)
    before = (await any_store.tool_schemas.changes(None)).mark
    accepted = await accept(any_store, now)
    assert accepted.changed == ()
    assert await accept(any_store, now) == accepted
    assert await any_store.tool_schemas.find(["fs:read"]) == {"fs:read": accepted}
    assert accepted in (await any_store.tool_schemas.changes(before)).tools
    assert await any_store.tool_schemas.quarantined() == ()
    (entry,) = await any_store.audit.recent(9)
    assert (entry.at_ms, entry.event, entry.actor, entry.tool) == (
        5,
        AuditEvent.ACCEPTED,
        "ada",
        "fs:read",
    )
    assert entry.detail == {"changed": list(PARTS), "schemaHash": accepted.schema_hash()}
    assert (await listed(any_store, OLD)).changed == PARTS


async def test_a_tool_is_accepted_as_it_was_looked_at(any_store: Store) -> None:
    await listed(any_store, OLD)
    looked_at = await listed(any_store, NEW)
    await listed(any_store, a_tool(description="Deletes everything."))
    with pytest.raises(ApprovalStateError, match="fs:read is described otherwise again"):
        await accept(any_store, looked_at)
    with pytest.raises(NotFoundError, match=r"no tool 'fs:\\x00'"):
        await accept(any_store, looked_at, "fs:\x00")
    assert len(await any_store.tool_schemas.quarantined()) == 1
    assert await any_store.audit.recent(9) == ()
