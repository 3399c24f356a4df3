"""Tools of upstream servers in PostgreSQL (`pml.store.ports.ToolSchemas`)."""

from collections.abc import Sequence

import msgspec

from pml.domain.record import encode
from pml.domain.tools import Catalog, Tool
from pml.store.database import Database
from pml.store.printable import printable
from pml.store.queries import queries

_SQL = queries("tool_schemas")


class PostgresToolSchemas:
    """One row per tool ever listed; a tool that its server no longer lists is marked gone."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def replace(self, server: str, tools: Sequence[Tool]) -> None:
        """See `ToolSchemas.replace`."""
        # The last of a name counts, also for the order.
        rows = {tool.name: (place, tool) for place, tool in enumerate(tools)}
        parameters = [_row(server, place, tool) for place, tool in rows.values()]
        async with self._database.connection() as connection, connection.transaction():
            await connection.execute(_SQL["listed"], {"server": server})
            await connection.execute(_SQL["mark_gone"], {"server": server, "names": list(rows)})
            await connection.cursor().executemany(_SQL["upsert"], parameters)

    async def catalog(self) -> Catalog:
        """See `ToolSchemas.catalog`."""
        async with self._database.connection() as connection:
            cursor = await connection.execute(_SQL["catalog"])
            rows = await cursor.fetchall()
        servers: dict[str, list[Tool]] = {str(row[0]): [] for row in rows}
        for row in rows:
            if row[1] is not None:
                servers[str(row[0])].append(_tool(row))
        return Catalog(servers)


def _row(server: str, position: int, tool: Tool) -> dict[str, object]:
    tool = msgspec.structs.replace(tool, server=server, description=printable(tool.description))
    output = tool.output_schema
    return {
        "server": server,
        "name": tool.name,
        "position": position,
        "description": tool.description,
        "input_schema": encode(tool.input_schema).decode(),
        "output_schema": None if output is None else encode(output).decode(),
        "annotations": encode(tool.annotations).decode(),
        "schema_hash": tool.schema_hash(),
    }


def _tool(row: tuple[object, ...]) -> Tool:
    server, name, description, input_schema, output_schema, annotations = map(_text, row)
    return Tool(
        server=server,
        name=name,
        description=description,
        input_schema=msgspec.json.decode(input_schema),
        output_schema=msgspec.json.decode(output_schema or "null"),
        annotations=msgspec.json.decode(annotations),
    )


def _text(value: object) -> str:
    return "" if value is None else str(value)
