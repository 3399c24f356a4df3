"""Tools of upstream servers in memory."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import msgspec

from pml.domain.tools import Catalog, Tool
from pml.learning.shapes import merged
from pml.store.memory.data import Data, KeptTool, stored
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
            gone[name] = KeptTool(gone[name].tool, self._data.changed(), gone=True)
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
        if old is None or old.tool.schema_hash() != tool.schema_hash():
            return KeptTool(tool, self._data.changed())
        tool = msgspec.structs.replace(tool, observed_schema=old.tool.observed_schema)
        return KeptTool(tool, self._data.changed() if old.gone else old.changed)

    def _mark_stale(self, tool_ids: set[str]) -> None:
        kept = self._data.capabilities
        calls = {one: called(known.capability.structure) for one, known in kept.items()}
        for capability_id in callers(tool_ids, calls):
            known = kept[capability_id]
            if not known.experience.stale:
                known.experience = replace(known.experience, stale=True)
                known.changed = self._data.changed()

    async def catalog(self, servers: Collection[str] | None = None) -> Catalog:
        """See `ToolSchemas.catalog`."""
        return Catalog(
            {
                server: [kept.tool for kept in tools.values() if not kept.gone]
                for server, tools in self._data.servers.items()
                if servers is None or server in servers
            }
        )

    async def find(self, tool_ids: Collection[str]) -> Mapping[str, Tool]:
        """See `ToolSchemas.find`."""
        return {
            kept.tool.id: kept.tool
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
            tools=tuple(kept.tool for kept in new if not kept.gone),
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


def _stored(server: str, tool: Tool) -> Tool:
    return stored(
        msgspec.structs.replace(
            tool, server=server, description=printable(tool.description), observed_schema=None
        )
    )
