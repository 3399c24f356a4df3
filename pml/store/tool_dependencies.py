"""Edges between tools in PostgreSQL (`pml.store.ports.ToolDependencies`)."""

from typing import Any

from psycopg.rows import kwargs_row

from pml.domain.trace import DependencyType, ToolDependency
from pml.store.database import Database
from pml.store.queries import queries

_SQL = queries("tool_dependencies")


class PostgresToolDependencies:
    """One row per edge; `PostgresTraces.finish` writes them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> tuple[ToolDependency, ...]:
        """See `ToolDependencies.all`."""
        async with self._database.connection() as connection:
            cursor = connection.cursor(row_factory=kwargs_row(dependency))
            await cursor.execute(_SQL["all"])
            return tuple(await cursor.fetchall())


def dependency(type: str, **columns: Any) -> ToolDependency:  # noqa: A002, ANN401
    """A row, by column."""
    return ToolDependency(type=DependencyType(type), **columns)
