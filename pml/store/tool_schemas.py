"""Tools of upstream servers in PostgreSQL (`pml.store.ports.ToolSchemas`)."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from pml.domain.approval import Quarantined
from pml.domain.record import Record, decode, encode
from pml.domain.tools import Catalog, Tool, changes_of
from pml.learning.shapes import merged
from pml.store.audit import write_entries
from pml.store.audited import of_acceptance
from pml.store.database import Database
from pml.store.messages import check_looked_at, no_tool
from pml.store.ports import Mark, Observation, ToolChanges
from pml.store.printable import printable
from pml.store.queries import queries

_SQL = queries("tool_schemas")
_EVERYTHING = Mark(0)


class PostgresToolSchemas:
    """One row per tool ever listed; a tool that its server no longer lists is marked gone."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def replace(self, server: str, tools: Sequence[Tool]) -> None:
        """See `ToolSchemas.replace`."""
        # The last of a name counts, also for the order.
        rows = {tool.name: _row(place, tool) for place, tool in enumerate(tools)}
        columns: dict[str, object] = {
            column: [row[column] for row in rows.values()] for column in _COLUMNS
        }
        columns["server"] = server
        async with self._database.connection() as connection, connection.transaction():
            await connection.execute(_SQL["listed"], {"server": server})
            cursor = await connection.execute(_SQL["changed_or_gone"], columns)
            changed = [tool_id for (tool_id,) in await cursor.fetchall()]
            await connection.execute(_SQL["mark_gone"], columns)
            await connection.execute(_SQL["upsert"], columns)
            if changed:
                await connection.execute(_SQL["mark_stale"], {"tool_ids": changed})

    async def catalog(self, servers: Collection[str] | None = None) -> Catalog:
        """See `ToolSchemas.catalog`."""
        wanted = None if servers is None else [*map(printable, servers)]
        async with self._database.connection() as connection:
            cursor = await connection.execute(_SQL["catalog"], {"servers": wanted})
            rows = await cursor.fetchall()
        found: dict[str, list[Tool]] = {str(row[0]): [] for row in rows}
        for row in rows:
            if row[1] is not None:
                found[str(row[0])].append(_tool(row))
        return Catalog(found)

    async def find(self, tool_ids: Collection[str]) -> Mapping[str, Tool]:
        """See `ToolSchemas.find`."""
        parts = [printable(tool_id).partition(":") for tool_id in tool_ids]
        names = {
            "servers": [server for server, _, _ in parts],
            "names": [name for _, _, name in parts],
        }
        async with self._database.connection() as connection:
            cursor = await connection.execute(_SQL["find"], names)
            tools = map(_tool, await cursor.fetchall())
        return {tool.id: tool for tool in tools}

    async def changes(self, since: Mark | None) -> ToolChanges:
        """See `ToolSchemas.changes`."""
        after = _EVERYTHING if since is None else since
        async with self._database.connection() as connection:
            cursor = await connection.execute(_SQL["changes"], {"since": str(after)})
            rows = await cursor.fetchall()
        mark = rows[0][0]
        assert isinstance(mark, int)
        found = [(row[1], _tool(row[2:])) for row in rows if row[2] is not None]
        return ToolChanges(
            mark=Mark(mark),
            tools=tuple(tool for gone, tool in found if not gone),
            gone=() if since is None else tuple(tool.id for gone, tool in found if gone),
        )

    async def observe(self, observations: Sequence[Observation]) -> None:
        """See `ToolSchemas.observe`."""
        seen = {(one.server, one.name): one for one in observations}
        columns: dict[str, object] = {
            "servers": [server for server, _ in seen],
            "names": [name for _, name in seen],
            "schema_hashes": [one.schema_hash for one in seen.values()],
        }
        async with self._database.connection() as connection, connection.transaction():
            cursor = await connection.execute(_SQL["lock_described"], columns)
            for server, name, text in await cursor.fetchall():
                known = msgspec.json.decode(str(text)) if text is not None else None
                learned = merged(known, seen[str(server), str(name)].schema)
                if learned != known:
                    schema = encode(learned).decode()
                    row = {"server": server, "name": name, "observed_schema": schema}
                    await connection.execute(_SQL["observe"], row)

    async def quarantined(self) -> tuple[Quarantined, ...]:
        """See `ToolSchemas.quarantined`."""
        async with self._database.connection() as connection:
            cursor = await connection.execute(_SQL["quarantined"])
            rows = await cursor.fetchall()
        return tuple(Quarantined(accepted=_accepted(row), now=_tool(row)) for row in rows)

    async def accept(self, tool_id: str, *, schema_hash: str, by: str, now_ms: int) -> Tool:
        """See `ToolSchemas.accept`."""
        server, _, name = printable(tool_id).partition(":")
        key = {"server": server, "name": name}
        async with self._database.connection() as connection, connection.transaction():
            cursor = await connection.execute(_SQL["lock"], key)
            row = await cursor.fetchone()
            if row is None:
                raise no_tool(tool_id)
            tool = _tool(row)
            check_looked_at(tool, schema_hash)
            if tool.changed:
                await connection.execute(_SQL["accept"], key)
                looked_at = Quarantined(accepted=_accepted(row), now=tool)
                await write_entries(connection, [of_acceptance(looked_at, by=by, now_ms=now_ms)])
        return msgspec.structs.replace(tool, changed=())


_COLUMNS = (
    "names",
    "positions",
    "descriptions",
    "input_schemas",
    "output_schemas",
    "annotations",
    "schema_hashes",
)


def _row(position: int, tool: Tool) -> dict[str, object]:
    output = tool.output_schema
    tool = msgspec.structs.replace(tool, description=printable(tool.description))
    return {
        "names": tool.name,
        "positions": position,
        "descriptions": tool.description,
        "input_schemas": encode(tool.input_schema).decode(),
        "output_schemas": None if output is None else encode(output).decode(),
        "annotations": encode(tool.annotations).decode(),
        "schema_hashes": tool.schema_hash(),
    }


class _Accepted(Record, frozen=True, kw_only=True):
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    annotations: dict[str, Any]


def _accepted(row: Sequence[object]) -> Tool:
    """The tool of the row as it was accepted, where that is something else than it is now."""
    parts = msgspec.structs.asdict(decode(_Accepted, _text(row[-1])))
    return Tool(server=_text(row[0]), name=_text(row[1]), **parts)


def _tool(row: Sequence[object]) -> Tool:
    server, name, description, input_schema, output_schema, annotations, seen, was = map(_text, row)
    tool = Tool(
        server=server,
        name=name,
        description=description,
        input_schema=msgspec.json.decode(input_schema),
        output_schema=msgspec.json.decode(output_schema or "null"),
        annotations=msgspec.json.decode(annotations),
        observed_schema=msgspec.json.decode(seen or "null"),
    )
    if not was:
        return tool
    return msgspec.structs.replace(tool, changed=changes_of(_accepted(row), tool))


def _text(value: object) -> str:
    return "" if value is None else str(value)
