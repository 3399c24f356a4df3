"""Tools of upstream servers in memory."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import msgspec

from pml.domain.approval import Quarantined
from pml.domain.tools import Catalog, Tool
from pml.learning.shapes import merged
from pml.store.audited import of_acceptance
from pml.store.memory.data import Data, KeptTool, stored
from pml.store.messages import check_looked_at, no_tool
from pml.store.ports import Mark, Observation, ToolChanges
from pml.store.printable import printable
from pml.store.staleness import called, callers


class MemoryToolSchemas:
    """By server and name, in the server's order; those that are gone stand first."""

    def __init__(self, data: Data) -> None:
        self._data = data

    async def replace(self, server: str, tools: Sequence[Tool]) -> None:
        """See `ToolSchemas.replace`."""
        listed: dict[str, Tool] = {}
        for tool in tools:
            listed.pop(tool.name, None)  # the last of a name counts, also for the order
            listed[tool.name] = _stored(server, tool)
        old = self._data.servers.get(server, {})
        gone = {name: kept for name, kept in old.items() if name not in listed}
        lost = [name for name, kept in gone.items() if not kept.gone]
        for name in lost:
            gone[name] = replace(gone[name], changed=self._data.changed(), gone=True)
        self._data.servers[server] = gone | {
            name: self._kept(tool, old.get(name)) for name, tool in listed.items()
        }
        altered = [
            name
            for name, tool in listed.items()
            if name in old and old[name].tool.schema_hash() != tool.schema_hash()
        ]
        self._mark_stale({f"{server}:{name}" for name in (*lost, *altered)})

    def _kept(self, tool: Tool, old: KeptTool | None) -> KeptTool:
        if old is None:
            return KeptTool(tool, self._data.changed())
        if old.tool.schema_hash() != tool.schema_hash():
            was = old.accepted or msgspec.structs.replace(old.tool, observed_schema=None)
            returned = was.schema_hash() == tool.schema_hash()
            return KeptTool(tool, self._data.changed(), accepted=None if returned else was)
        tool = msgspec.structs.replace(tool, observed_schema=old.tool.observed_schema)
        changed = self._data.changed() if old.gone else old.changed
        return replace(old, tool=tool, changed=changed, gone=False)

    def _mark_stale(self, tool_ids: set[str]) -> None:
        kept = self._data.capabilities
        calls = {one: called(known.capability.structure) for one, known in kept.items()}
        for capability_id in callers(tool_ids, calls):
            known = kept[capability_id]
            known.experience = replace(known.experience, stale=True)
            known.changed = self._data.changed()

    async def catalog(self, servers: Collection[str] | None = None) -> Catalog:
        """See `ToolSchemas.catalog`."""
        return Catalog(
            {
                server: [kept.whole() for kept in tools.values() if not kept.gone]
                for server, tools in self._data.servers.items()
                if servers is None or server in servers
            }
        )

    async def find(self, tool_ids: Collection[str]) -> Mapping[str, Tool]:
        """See `ToolSchemas.find`."""
        return {
            kept.tool.id: kept.whole()
            for tools in self._data.servers.values()
            for kept in tools.values()
            if kept.tool.id in tool_ids and not kept.gone
        }

    async def changes(self, since: Mark | None) -> ToolChanges:
        """See `ToolSchemas.changes`."""
        new = [
            kept
            for tools in self._data.servers.values()
            for kept in tools.values()
            if since is None or kept.changed > since
        ]
        return ToolChanges(
            mark=self._data.mark,
            tools=tuple(kept.whole() for kept in new if not kept.gone),
            gone=() if since is None else tuple(kept.tool.id for kept in new if kept.gone),
        )

    async def observe(self, observations: Sequence[Observation]) -> None:
        """See `ToolSchemas.observe`."""
        for one in observations:
            kept = self._data.servers.get(one.server, {}).get(one.name)
            if kept is None or kept.tool.schema_hash() != one.schema_hash:
                continue
            known = kept.tool.observed_schema
            learned = merged(known, one.schema)
            if kept.tool.output_schema is None and learned != known:
                kept.tool = msgspec.structs.replace(kept.tool, observed_schema=learned)
                kept.changed = self._data.changed()

    async def quarantined(self) -> tuple[Quarantined, ...]:
        """See `ToolSchemas.quarantined`."""
        found = [
            Quarantined(accepted=kept.accepted, now=kept.whole())
            for tools in self._data.servers.values()
            for kept in tools.values()
            if kept.accepted is not None and not kept.gone
        ]
        return tuple(sorted(found, key=lambda one: one.now.id))

    async def accept(self, tool_id: str, *, schema_hash: str, by: str, now_ms: int) -> Tool:
        """See `ToolSchemas.accept`."""
        server, _, name = tool_id.partition(":")
        kept = self._data.servers.get(server, {}).get(name)
        if kept is None or kept.gone:
            raise no_tool(tool_id)
        check_looked_at(kept.tool, schema_hash)
        if kept.accepted is not None:
            looked_at = Quarantined(accepted=kept.accepted, now=kept.tool)
            self._data.note(of_acceptance(looked_at, by=by, now_ms=now_ms))
            kept.accepted, kept.changed = None, self._data.changed()
        return kept.tool


def _stored(server: str, tool: Tool) -> Tool:
    return stored(
        msgspec.structs.replace(
            tool,
            server=server,
            description=printable(tool.description),
            observed_schema=None,
            changed=(),
        )
    )
