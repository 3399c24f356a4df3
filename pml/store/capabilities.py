"""Learned procedures in PostgreSQL (`pml.store.ports.Capabilities`)."""

from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec
import psycopg
from psycopg.rows import kwargs_row

from pml.domain.capability import (
    Capability,
    CapabilityParameter,
    CapabilitySource,
    Learning,
    Lifecycle,
    Literals,
    NewCapability,
    PastIntent,
)
from pml.domain.record import JsonText, decode, encode
from pml.domain.structure import StaticStructure
from pml.domain.trace import ToolDependency
from pml.store.capability_names import candidates, check_name, name_taken
from pml.store.connection import Connection
from pml.store.database import Database
from pml.store.messages import capability_not_found
from pml.store.ports import PAST_INTENTS, CapabilityChanges, Mark
from pml.store.printable import printable
from pml.store.queries import queries
from pml.store.staleness import called
from pml.store.tool_dependencies import dependency

_SQL = queries("capabilities")
_NAMES_AT_ONCE = 50
"""Candidates for a name that are looked up together."""
_EVERYTHING = Mark(0)


class DagStructure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The column ``dag_structure`` (ST-2): each part stays text until it is needed."""

    static_structure: msgspec.Raw
    learning: msgspec.Raw

    @classmethod
    def of(cls, structure: JsonText | msgspec.Raw, learning: Learning) -> JsonText:
        """The column's text."""
        parts = cls(static_structure=msgspec.Raw(structure), learning=msgspec.Raw(encode(learning)))
        return encode(parts).decode()


class PostgresCapabilities:
    """One row per canonical hash; `PostgresTraces.finish` writes what runs taught."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, new: NewCapability, *, now_ms: int) -> Capability:
        """See `Capabilities.keep`."""
        check_name(new.name)
        async with self._database.connection() as connection:
            kept = await _find(connection, new.id)
            # Each round that finds neither room nor the procedure lost the name to somebody.
            while kept is None:
                row = _row(new, await _free_name(connection, new.name), now_ms)
                await connection.execute(_SQL["insert"], row)
                kept = await _find(connection, new.id)
            return kept

    async def get(self, capability_id: str) -> Capability:
        """See `Capabilities.get`."""
        async with self._database.connection() as connection:
            return await _get(connection, capability_id)

    async def named(self, names: Collection[str]) -> Mapping[str, Capability]:
        """See `Capabilities.named`."""
        async with self._database.connection() as connection:
            found = await _select(connection, "named", names=[*map(printable, names)])
        return {capability.name: capability for capability in found}

    async def recent(self, limit: int, *, hidden: bool = False) -> tuple[Capability, ...]:
        """See `Capabilities.recent`."""
        async with self._database.connection() as connection:
            return await _select(connection, "recent", limit=limit, hidden=hidden)

    async def intents(self, capability_id: str) -> tuple[PastIntent, ...]:
        """See `Capabilities.intents`."""
        async with self._database.connection() as connection:
            return await _intents(connection, [printable(capability_id)])

    async def rename(self, capability_id: str, name: str, *, now_ms: int) -> Capability:
        """See `Capabilities.rename`."""
        check_name(name)
        row = {"id": printable(capability_id), "name": name, "now_ms": now_ms}
        async with self._database.connection() as connection:
            try:
                await connection.execute(_SQL["rename"], row)
            except psycopg.errors.UniqueViolation as violation:
                raise name_taken(name) from violation
            return await _get(connection, capability_id)

    async def dependencies(self) -> tuple[ToolDependency, ...]:
        """See `Capabilities.dependencies`."""
        async with self._database.connection() as connection:
            cursor = connection.cursor(row_factory=kwargs_row(dependency))
            await cursor.execute(_SQL["dependencies"])
            return tuple(await cursor.fetchall())

    async def changes(self, since: Mark | None) -> CapabilityChanges:
        """See `Capabilities.changes`."""
        after = _EVERYTHING if since is None else since
        async with self._database.connection() as connection:
            # Marked before it is read: what changes in between is told now and again.
            cursor = await connection.execute(_SQL["mark"])
            ((mark,),) = await cursor.fetchall()
            assert isinstance(mark, int)
            capabilities = await _select(connection, "changed", since=str(after))
            intents = await _intents(connection, [one.id for one in capabilities])
        return CapabilityChanges(mark=Mark(mark), capabilities=capabilities, intents=intents)


async def _get(connection: Connection, capability_id: str) -> Capability:
    found = await _find(connection, capability_id)
    if found is None:
        raise capability_not_found(capability_id)
    return found


async def _find(connection: Connection, capability_id: str) -> Capability | None:
    found = await _select(connection, "get", id=printable(capability_id))
    return found[0] if found else None


async def _select(
    connection: Connection, query: str, **parameters: object
) -> tuple[Capability, ...]:
    cursor = connection.cursor(row_factory=kwargs_row(_capability))
    await cursor.execute(_SQL[query], parameters)
    return tuple(await cursor.fetchall())


async def _intents(connection: Connection, ids: Sequence[str]) -> tuple[PastIntent, ...]:
    if not ids:
        return ()
    cursor = connection.cursor(row_factory=kwargs_row(_past_intent))
    await cursor.execute(_SQL["intents"], {"ids": list(ids), "limit": PAST_INTENTS})
    return tuple(await cursor.fetchall())


async def _free_name(connection: Connection, wanted: str) -> str:
    names = candidates(wanted)
    while True:
        some = list(islice(names, _NAMES_AT_ONCE))
        cursor = await connection.execute(_SQL["taken"], {"names": some})
        taken = {name for (name,) in await cursor.fetchall()}
        for name in some:
            if name not in taken:
                return name


def _row(new: NewCapability, name: str, now_ms: int) -> dict[str, object]:
    return {
        "id": new.id,
        "canonical_hash": new.canonical_hash,
        "name": name,
        "intent": printable(new.intent),
        "description": printable(new.description),
        "source": new.source.value,
        "code": new.code,
        "instrumented": new.instrumented,
        "dag_structure": DagStructure.of(encode(new.structure).decode(), Learning()),
        "parameters": encode(new.parameters).decode(),
        "depth": new.depth,
        "tools": list(called(new.structure)),
        "now_ms": now_ms,
    }


def _capability(
    dag_structure: str,
    parameters: str,
    source: str,
    lifecycle: str,
    **columns: Any,  # noqa: ANN401  # as the query names them
) -> Capability:
    parts = decode(DagStructure, dag_structure)
    return Capability(
        structure=decode(StaticStructure, bytes(parts.static_structure)),
        learning=decode(Learning, bytes(parts.learning)),
        parameters=decode(tuple[CapabilityParameter, ...], parameters),
        source=CapabilitySource(source),
        lifecycle=Lifecycle(lifecycle),
        **columns,
    )


def _past_intent(literals: str, **columns: Any) -> PastIntent:  # noqa: ANN401  # as the query names them
    return PastIntent(literals=decode(Literals, literals), **columns)
