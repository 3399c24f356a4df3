"""The way to PostgreSQL: embedded or named by a URL, migrated, pooled, one user's rows.

Every operation takes a connection from the pool for its own duration.  A connection is
used without a check as long as its socket is silent; one that has something to say while
idle (the server's farewell) is tried first, so a server that came back costs no errors.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

import psycopg
from psycopg import AsyncConnection, pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from pml.errors import StoreError
from pml.store.connection import (
    Connection,
    Timeouts,
    check_if_it_spoke,
    connect_arguments,
    first_line,
    session_options,
)
from pml.store.embedded import EmbeddedPostgres
from pml.store.migrate import migrate, vector_schema
from pml.store.roles import APP_ROLE, bound_role
from pml.store.supervisor.cluster import SUPERUSER

_Pool: TypeAlias = AsyncConnectionPool[Connection]

_POOL_SIZE = 10
_RETRY_S = 0.05
_PING_S = 2
"""The least that libpq takes.  The driver keeps Python waiting while it asks."""
# Short, because giving up is what lets the next operation try at once.
_RECONNECT_S = 5.0

_GONE = ("08", "57")  # SQLSTATE classes: connection exception, operator intervention

# What the driver logs of lost connections, the errors say as well: it is for those who
# configure logging, not for everybody's stderr.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


class Database:
    """An open database; every row that it reads or writes is of ``user_id``."""

    def __init__(
        self,
        pool: _Pool,
        conninfo: Callable[[], Awaitable[str]],
        *,
        user_id: str,
        where: str,
        timeouts: Timeouts,
    ) -> None:
        self._pool = pool
        self._conninfo = conninfo
        self._timeouts = timeouts
        self.user_id = user_id
        self.where = where
        """For people: the server of the URL without its password, or the directory."""

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        *,
        url: str | None,
        data_dir: Path,
        user_id: str = "local",
        timeouts: Timeouts = Timeouts(),  # noqa: B008  # frozen
    ) -> AsyncIterator["Database"]:
        """Connect to ``url``, or to the embedded server of ``data_dir``; migrate; pool.

        Raises:
            ValueError: ``user_id`` is empty or holds NUL.
            EmbeddedPostgresError: the embedded server cannot be started.
            SchemaTooNewError: a newer PML migrated the database.
            StoreError: the server of ``url`` does not let us in, or is not fit.
        """
        if not user_id or "\0" in user_id:
            message = f"{user_id!r} is no user id"
            raise ValueError(message)
        source = _Embedded(data_dir) if url is None else _Server(url, timeouts)
        try:
            prepared = await _prepare(source, timeouts)
            options = session_options(
                timeouts,
                user_id=user_id,
                search_path=prepared.search_path,
                role=prepared.role if source.becomes_role else None,
            )

            async def conninfo() -> str:
                return make_conninfo(await source.app(), options=options)

            async with _pool(conninfo, timeouts) as pool:
                yield cls(pool, conninfo, user_id=user_id, where=source.where, timeouts=timeouts)
        finally:
            await source.close()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection in autocommit mode, for one operation.

        Raises:
            StoreError: no connection is to be had, it was lost, or the server refused.
        """
        try:
            async with (
                asyncio.timeout(self._timeouts.operation_s),
                self._pool.connection() as connection,
            ):
                yield connection
        except PoolTimeout as error:
            raise StoreError(await self._why_unreachable()) from error
        except TimeoutError as error:
            seconds = f"{self._timeouts.operation_s:g} s"
            message = f"the database {self.where} did not answer within {seconds}"
            raise StoreError(message) from error
        except psycopg.Error as error:
            raise StoreError(_what_happened(self.where, error)) from error

    async def _why_unreachable(self) -> str:
        # The pool tells that it has no connection, not why: ask once more ourselves.
        try:
            connection = await AsyncConnection.connect(
                await self._conninfo(), connect_timeout=self._timeouts.connect_s
            )
        except (psycopg.Error, StoreError) as error:
            return f"the database {self.where} cannot be reached: {first_line(error)}"
        await connection.close()
        return f"the database {self.where} had no connection left within the time: try again"


def _what_happened(where: str, error: psycopg.Error) -> str:
    said = first_line(error)
    if isinstance(error, psycopg.errors.DiskFull):
        return f"the disk of the database {where} is full: {said}; free some space"
    by_server = error.sqlstate is not None and not error.sqlstate.startswith(_GONE)
    if by_server or isinstance(error, psycopg.errors.QueryCanceled):
        return f"the database {where} refused: {said}"
    return f"the database {where} was lost: {said}"


class _Source(Protocol):
    """Where connections come from."""

    where: str
    becomes_role: bool
    """Whether sessions come as another role than the one to work as."""

    async def admin(self) -> str:
        """How to connect for migrations."""

    async def app(self) -> str:
        """How to connect for work."""

    async def close(self) -> None:
        """Let go."""


class _Embedded:
    becomes_role = False

    def __init__(self, data_dir: Path) -> None:
        self._server = EmbeddedPostgres(data_dir)
        self.where = str(self._server.layout.base)

    async def admin(self) -> str:
        await asyncio.to_thread(self._server.start)
        return self._server.conninfo(SUPERUSER)

    async def app(self) -> str:
        # Also when the pool reconnects: whoever notices that the server died starts it.
        await asyncio.to_thread(self._server.start)
        return self._server.conninfo(APP_ROLE)

    async def close(self) -> None:
        await asyncio.to_thread(self._server.close)


class _Server:
    becomes_role = True

    def __init__(self, url: str, timeouts: Timeouts) -> None:
        try:
            parts = conninfo_to_dict(url)
        except psycopg.ProgrammingError as error:
            message = f"PML_DATABASE_URL is not the URL of a PostgreSQL: {first_line(error)}"
            raise StoreError(message) from error
        self._url = url
        self._timeouts = timeouts
        shown = {name: parts[name] for name in ("host", "port", "dbname", "user") if name in parts}
        self.where = f"({make_conninfo('', **shown)})"

    async def admin(self) -> str:
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._timeouts.recover_s
        while True:
            if clock() > deadline or not await self._is_starting():
                return self._url
            await asyncio.sleep(_RETRY_S)

    async def _is_starting(self) -> bool:
        """Whether it is there and lets nobody in yet, as after a crash.

        Asked before connecting: a refused connection does not tell, as the driver leaves out its
        SQLSTATE and its text is in the server's language.
        """
        asked = make_conninfo(self._url, connect_timeout=_PING_S)
        return await asyncio.to_thread(pq.PGconn.ping, asked.encode()) == pq.Ping.REJECT

    async def app(self) -> str:
        return self._url

    async def close(self) -> None:
        return


@dataclass(frozen=True, slots=True)
class _Prepared:
    role: str | None
    search_path: str


async def _prepare(source: _Source, timeouts: Timeouts) -> _Prepared:
    """Migrate, and find out as whom to work."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + timeouts.recover_s
    while True:
        conninfo = await source.admin()
        try:
            async with await AsyncConnection.connect(
                conninfo, autocommit=True, connect_timeout=timeouts.connect_s
            ) as connection:
                role = await bound_role(connection)
                await migrate(connection, role)
                return _Prepared(role, f"pml,{await vector_schema(connection)}")
        except psycopg.Error as error:
            # Of the embedded server we know that it runs: it is recovering from a crash.
            passing = isinstance(source, _Embedded) and isinstance(error, psycopg.OperationalError)
            if not passing or clock() > deadline:
                message = f"the database {source.where} cannot be used: {first_line(error)}"
                raise StoreError(message) from error
            await asyncio.sleep(_RETRY_S)


def _pool(conninfo: Callable[[], Awaitable[str]], timeouts: Timeouts) -> _Pool:
    return AsyncConnectionPool(
        conninfo,
        kwargs=dict(connect_arguments(timeouts)),
        min_size=1,
        max_size=_POOL_SIZE,
        timeout=timeouts.pool_s,
        reconnect_timeout=_RECONNECT_S,
        check=check_if_it_spoke,
        open=False,
        name="pml",
    )
