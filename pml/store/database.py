"""The way to PostgreSQL: embedded or named by a URL, migrated, pooled, one user's rows.

Every operation takes a connection from the pool for its own duration.  A connection is
used without a check as long as its socket is silent; one that has something to say while
idle (the server's farewell) is tried first, so a server that came back costs no errors.
"""

import asyncio
import select
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import psycopg
import psycopg_pool
from psycopg import AsyncConnection
from psycopg.conninfo import make_conninfo

from pml.errors import StoreError
from pml.store.embedded import EmbeddedPostgres
from pml.store.migrate import migrate
from pml.store.roles import APP_ROLE, bound_role
from pml.store.supervisor.cluster import SUPERUSER

Connection: TypeAlias = "AsyncConnection[tuple[object, ...]]"

_OPERATION_S = 20.0  # a server that does not answer at all; the ones below end first as a rule
_STATEMENT_MS = 15_000
_LOCK_MS = 10_000
_POOL_S = 10.0  # for a connection: a crashed embedded server is back in less than 1 s
_CONNECT_S = 5
_RECOVER_S = 15.0
_POOL_SIZE = 10
_SETTINGS = {
    "search_path": "pml,public",
    "statement_timeout": str(_STATEMENT_MS),
    "lock_timeout": str(_LOCK_MS),
    "idle_in_transaction_session_timeout": str(_STATEMENT_MS),
}


class Database:
    """An open database; every row that it reads or writes is of ``user_id``."""

    def __init__(
        self, pool: "psycopg_pool.AsyncConnectionPool[Connection]", user_id: str, where: str
    ) -> None:
        self._pool = pool
        self.user_id = user_id
        self.where = where
        """For people: the server of the URL without its password, or the directory."""

    @classmethod
    @asynccontextmanager
    async def open(
        cls, *, url: str | None, data_dir: Path, user_id: str = "local"
    ) -> AsyncIterator["Database"]:
        """Connect to ``url``, or to the embedded server of ``data_dir``; migrate; pool.

        Raises:
            EmbeddedPostgresError: the embedded server cannot be started.
            SchemaTooNewError: a newer PML migrated the database.
            StoreError: the server of ``url`` does not let us in, or is not fit.
        """
        source = _Embedded(data_dir) if url is None else _Server(url)
        try:
            role = await _prepare(source)
            async with _pool(source, role, user_id) as pool:
                yield cls(pool, user_id, source.where)
        finally:
            await source.close()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection in autocommit mode, for one operation.

        Raises:
            StoreError: no connection is to be had, it was lost, or the server refused.
        """
        try:
            async with asyncio.timeout(_OPERATION_S), self._pool.connection() as connection:
                yield connection
        except psycopg_pool.PoolTimeout as error:
            message = f"the database {self.where} does not answer: is it running?"
            raise StoreError(message) from error
        except TimeoutError as error:
            message = f"the database {self.where} did not answer within {_OPERATION_S:.0f} s"
            raise StoreError(message) from error
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            message = f"the database {self.where} was lost: {_first_line(error)}"
            raise StoreError(message) from error
        except psycopg.Error as error:
            message = f"the database {self.where} refused: {_first_line(error)}"
            raise StoreError(message) from error


class _Embedded:
    def __init__(self, data_dir: Path) -> None:
        self._server = EmbeddedPostgres(data_dir)
        self.where = str(self._server.layout.base)

    async def admin(self) -> str:
        await asyncio.to_thread(self._server.start)
        return self._server.conninfo(SUPERUSER)

    async def app(self) -> str:
        await asyncio.to_thread(self._server.start)
        return self._server.conninfo(APP_ROLE)

    async def close(self) -> None:
        await asyncio.to_thread(self._server.close)


class _Server:
    def __init__(self, url: str) -> None:
        try:
            parts = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.ProgrammingError as error:
            message = f"PML_DATABASE_URL is not a PostgreSQL URL: {_first_line(error)}"
            raise StoreError(message) from error
        self._url = url
        parts.pop("password", None)
        self.where = make_conninfo("", **parts)

    async def admin(self) -> str:
        return self._url

    async def app(self) -> str:
        return self._url

    async def close(self) -> None:
        return


async def _prepare(source: _Embedded | _Server) -> str | None:
    """Migrate; the role to work as where the one that connects is not bound."""
    deadline = asyncio.get_running_loop().time() + _RECOVER_S
    while True:
        conninfo = await source.admin()
        try:
            async with await AsyncConnection.connect(
                conninfo, autocommit=True, connect_timeout=_CONNECT_S
            ) as connection:
                role = await bound_role(connection)
                await migrate(connection, role)
                return role
        except psycopg.Error as error:
            passing = isinstance(error, psycopg.errors.CannotConnectNow) or (
                isinstance(source, _Embedded) and isinstance(error, psycopg.OperationalError)
            )
            if not passing or asyncio.get_running_loop().time() > deadline:
                message = f"the database {source.where} cannot be used: {_first_line(error)}"
                raise StoreError(message) from error
            await asyncio.sleep(0.05)  # it is recovering from a crash


def _pool(
    source: _Embedded | _Server, role: str | None, user_id: str
) -> "psycopg_pool.AsyncConnectionPool[Connection]":
    settings = {**_SETTINGS, "pml.user_id": user_id}
    if role is not None and isinstance(source, _Server):
        settings["role"] = role
    options = " ".join(f"-c {name}={_escaped(value)}" for name, value in settings.items())

    async def conninfo() -> str:
        return make_conninfo(await source.app(), options=options)

    return psycopg_pool.AsyncConnectionPool(
        conninfo,
        kwargs={
            "autocommit": True,
            "prepare_threshold": 0,  # every statement here is used again
            "connect_timeout": _CONNECT_S,
            "keepalives_idle": 30,
            "tcp_user_timeout": 15_000,
            "application_name": "pml",
        },
        min_size=1,
        max_size=_POOL_SIZE,
        timeout=_POOL_S,
        # Short, because giving up is what lets the next operation try at once.
        reconnect_timeout=5.0,
        check=_check,
        open=False,
        name="pml",
    )


async def _check(connection: Connection) -> None:
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if poll.poll(0):
        await connection.execute("")


def _escaped(value: str) -> str:
    """For the ``options`` of a connection, where blanks separate."""
    return value.replace("\\", "\\\\").replace(" ", "\\ ")


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
