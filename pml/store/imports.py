"""Traces of others in PostgreSQL (`pml.store.ports.Imports`)."""

from collections.abc import Sequence

from psycopg.rows import class_row

from pml.domain.record import decode, encode
from pml.domain.tools import Tool
from pml.domain.trace import ExecutionTrace
from pml.store.database import Database
from pml.store.ports import ImportedSource
from pml.store.printable import printable
from pml.store.queries import queries
from pml.store.traces import select_times

_SQL = queries("imports")


class PostgresImports:
    """A row per trace, with its whole JSON."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self,
        source: str,
        *,
        tools: Sequence[Tool],
        traces: Sequence[ExecutionTrace],
        now_ms: int,
    ) -> int:
        """See `Imports.add`."""
        name = printable(source)
        of_tools = [
            {"source": name, "tool_id": printable(tool.id), "tool": encode(tool).decode()}
            for tool in tools
        ]
        of_traces = [
            {
                "source": name,
                "id": printable(trace.id),
                "executed_at_ms": trace.executed_at_ms,
                "trace": encode(trace).decode(),
                "now_ms": now_ms,
            }
            for trace in traces
        ]
        # In one order everywhere, so that two imports of the same do not wait in a circle.
        of_traces.sort(key=lambda row: str(row["id"]))
        of_tools.sort(key=lambda row: row["tool_id"])
        async with self._database.connection() as connection, connection.transaction():
            cursor = connection.cursor()
            await cursor.executemany(_SQL["add_tool"], of_tools)
            await cursor.executemany(_SQL["add"], of_traces)
            return max(cursor.rowcount, 0) if of_traces else 0

    async def sources(self) -> tuple[ImportedSource, ...]:
        """See `Imports.sources`."""
        async with self._database.connection() as connection:
            cursor = connection.cursor(row_factory=class_row(ImportedSource))
            await cursor.execute(_SQL["sources"])
            return tuple(await cursor.fetchall())

    async def tools(self) -> tuple[Tool, ...]:
        """See `Imports.tools`."""
        async with self._database.connection() as connection:
            cursor = await connection.execute(_SQL["tools"])
            return tuple(decode(Tool, str(text)) for (text,) in await cursor.fetchall())

    async def selected(self, *, since_ms: int, limit: int) -> tuple[tuple[int, str], ...]:
        """See `SomeTraces.selected`."""
        async with self._database.connection() as connection:
            return await select_times(connection, _SQL["selected"], since_ms, limit)

    async def several(self, ids: Sequence[str]) -> tuple[ExecutionTrace, ...]:
        """See `SomeTraces.several`."""
        async with self._database.connection() as connection:
            cursor = await connection.execute(_SQL["several"], {"ids": [*map(printable, ids)]})
            return tuple(decode(ExecutionTrace, str(text)) for (text,) in await cursor.fetchall())

    async def forget(self, source: str) -> int:
        """See `Imports.forget`."""
        row = {"source": printable(source)}
        async with self._database.connection() as connection, connection.transaction():
            await connection.execute(_SQL["forget_tools"], row)
            cursor = await connection.execute(_SQL["forget"], row)
            return cursor.rowcount
