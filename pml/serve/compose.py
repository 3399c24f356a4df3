"""The composition root: which database, servers and sandboxes the loop gets.

Everything is opened as late and as much side by side as can be: a command that only reads
runs starts no sandbox, and a server is connected when a program first names it.
"""

import asyncio
import os
import secrets
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import platformdirs

from pml.domain.events import Event
from pml.domain.limits import Limits
from pml.domain.record import Record
from pml.domain.tools import Tool
from pml.embedding.choosing import chosen_encoder
from pml.errors import ConfigError
from pml.loop.act import Act
from pml.loop.bookkeeping import Bookkeeping
from pml.loop.discover import Discover
from pml.loop.keeper import Keeper
from pml.loop.library import Library
from pml.loop.means import Entropy
from pml.loop.places import Places
from pml.loop.recover import recover
from pml.loop.results import ReadTaskResult
from pml.loop.steering import Steering
from pml.loop.vectors import Vectors
from pml.runtime.limits_file import load_limits
from pml.runtime.mocks import load_mocks
from pml.runtime.owner import alive, this_process
from pml.runtime.permissions import Permissions, load_permissions
from pml.runtime.reaper import Reaper
from pml.runtime.sandbox.pool import SandboxPool
from pml.runtime.upstream.config import ServerConfig, load_servers
from pml.runtime.upstream.servers import Upstreams
from pml.runtime.upstream.status import ServerState
from pml.serve.tracing import tracing
from pml.store.database import Database
from pml.store.ledger_key import LedgerKey
from pml.store.ports import Store, ToolSchemas
from pml.store.postgres import postgres_store

SEED_BITS = 53
"""A seed crosses JSON, where larger integers lose digits."""


class Settings(Record, frozen=True, kw_only=True):
    """Where things are, and how much of them; paths are absolute or relative to the cwd."""

    data_dir: Path
    database_url: str | None = None
    config: Path | None = None
    """``mcp.json``; None: no upstream servers."""
    permissions: Path | None = None
    """``permissions.yaml``; None: every tool needs approval."""
    user_id: str = "local"
    limits: Limits = Limits()
    limits_file: Path | None = None
    """Where they come from; None: every limit has its default."""
    sandboxes: int = 1
    """How many sandboxes wait warm."""
    deprecated_tools: bool = False
    """Whether the tools that others replaced are listed too (MCP-4)."""
    encoder: str | None = None
    """Folder or name of a model; None: the shipped one; ``none``: search by words only."""


def settings_from_env(
    env: Mapping[str, str],
    *,
    config: Path | None = None,
    permissions: Path | None = None,
    data_dir: Path | None = None,
    limits: Path | None = None,
) -> Settings:
    """Settings from the environment; arguments win.

    Read are ``PML_DATA_DIR``, ``PML_DATABASE_URL``, ``PML_USER``, ``PML_ENCODER`` and the file
    that ``PML_LIMITS`` names; ``limits`` is read where that names none.

    Raises:
        ConfigError: ``PML_USER`` is no text, or the limits cannot be used.
    """
    user_id = env.get("PML_USER") or "local"
    if not user_id.isprintable():
        message = f"found {user_id!r}; expected printable text"
        raise ConfigError("PML_USER", message)  # noqa: EM101  # the variable, not a message
    named = env.get("PML_DATA_DIR")
    default = Path(named) if named else platformdirs.user_data_path("pml")
    limits_file = Path(env["PML_LIMITS"]) if env.get("PML_LIMITS") else limits
    return Settings(
        data_dir=data_dir or default,
        database_url=env.get("PML_DATABASE_URL") or None,
        config=config,
        permissions=permissions,
        user_id=user_id,
        limits=load_limits(limits_file),
        limits_file=limits_file,
        encoder=env.get("PML_ENCODER") or None,
        deprecated_tools=env.get("PML_DEPRECATED_TOOLS", "") not in ("", "0"),
    )


def now_ms() -> int:
    """Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


@asynccontextmanager
async def open_store(settings: Settings) -> AsyncIterator[Store]:
    """The store, with runs of dead processes recovered and what has expired deleted.

    Raises:
        StoreError: the database cannot be had.
    """
    key = LedgerKey.load(settings.data_dir, os.environ)
    async with Database.open(
        url=settings.database_url, data_dir=settings.data_dir, user_id=settings.user_id
    ) as database:
        store = postgres_store(database, key, limits=settings.limits)
        books = Bookkeeping(
            store=store, owner=this_process(), now_ms=now_ms, limits=settings.limits
        )
        await recover(books, alive=alive)
        await store.task_results.delete_expired(now_ms())
        await store.run_log.delete_expired(now_ms())
        yield store


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    """Everything that a request needs."""

    store: Store
    upstreams: Upstreams
    library: Library
    act: Act
    steering: Steering
    keeper: Keeper
    discover: Discover
    task_result: ReadTaskResult


@asynccontextmanager
async def workbench(
    settings: Settings,
    *,
    on_event: Callable[[Event], None] = lambda _: None,
    resumes: bool = False,
) -> AsyncIterator[Workbench]:
    """Open everything; on exit every process that was started is gone.

    Args:
        settings: where things are.
        on_event: told of everything that happens in any run.
        resumes: whether runs that a process left behind go on by themselves.

    Raises:
        ConfigError: ``mcp.json``, ``permissions.yaml``, ``mocks.yaml`` or the encoder cannot be
            used.
        StoreError: the database cannot be had.
    """
    configs, permissions = load_configuration(settings)
    limits = settings.limits
    async with AsyncExitStack() as stack:
        stack.enter_context(tracing(os.environ))
        reaper = Reaper.start()
        stack.callback(reaper.close)
        sandboxes = await stack.enter_async_context(
            SandboxPool(limits=limits, reaper=reaper, size=settings.sandboxes)
        )
        store = await stack.enter_async_context(open_store(settings))
        listings = _Listings(store.tool_schemas)
        upstreams = await stack.enter_async_context(
            Upstreams(configs, limits=limits, reaper=reaper, sink=listings)
        )
        vectors = await stack.enter_async_context(_vectors(settings, store))
        library = Library(store, upstreams, clock=time.monotonic, vectors=vectors)
        listings.library = library
        act = Act(
            store=store,
            library=library,
            servers=upstreams,
            sandboxes=sandboxes,
            permissions=permissions,
            entropy=Entropy(
                now_ms=now_ms,
                run_id=lambda: str(uuid.uuid4()),
                seed=lambda: secrets.randbits(SEED_BITS),
            ),
            limits=limits,
            user_id=settings.user_id,
            owner=this_process(),
            emit=on_event,
            places=Places(limits),
            agents_may_approve=permissions.file.approvals.agents,
            approval_ttl_s=permissions.file.approvals.ttl_s,
            mocks=load_mocks(mocks_file(settings), limits),
        )
        steering = Steering(engine=act, alive=alive)
        keeper = await stack.enter_async_context(Keeper(steering, resumes=resumes))
        yield Workbench(
            store=store,
            upstreams=upstreams,
            library=library,
            act=act,
            steering=steering,
            keeper=keeper,
            discover=Discover(
                library=library, limits=limits, notes=partial(_notes, upstreams, library)
            ),
            task_result=ReadTaskResult(task_results=store.task_results, now_ms=now_ms),
        )


class _Listings:
    """Keeps what servers list, and tells the library."""

    def __init__(self, tool_schemas: ToolSchemas) -> None:
        self._tool_schemas = tool_schemas
        self.library: Library | None = None

    async def replace(self, server: str, tools: Sequence[Tool]) -> None:
        """See `ToolSchemas.replace`."""
        await self._tool_schemas.replace(server, tools)
        if self.library is not None:
            self.library.outdated()


@asynccontextmanager
async def _vectors(settings: Settings, store: Store) -> AsyncIterator[Vectors | None]:
    encoder = await asyncio.to_thread(chosen_encoder, settings.encoder)
    if encoder is None:
        yield None
        return
    vectors = Vectors(store.embeddings, encoder)
    try:
        yield vectors
    finally:
        await vectors.close()


def _notes(upstreams: Upstreams, library: Library) -> tuple[str, ...]:
    """What a search of the library cannot find at the moment."""
    found = []
    for server in upstreams.status():
        if server.state in _FAILED:
            found.append(f"server {server.name!r} could not be asked for its tools: {server.error}")
        elif server.state is ServerState.CONNECTING and server.name not in library.searched:
            found.append(f"server {server.name!r} is still connecting: ask again for its tools")
    return tuple(found)


_FAILED = frozenset({ServerState.FAILED, ServerState.BACKING_OFF})


def mocks_file(settings: Settings) -> Path | None:
    """``mocks.yaml`` beside permissions.yaml, else beside mcp.json, else in the current folder."""
    beside = settings.permissions or settings.config or Path("permissions.yaml")
    path = beside.with_name("mocks.yaml")
    return path if path.is_file() else None


def load_configuration(settings: Settings) -> tuple[tuple[ServerConfig, ...], Permissions]:
    """Read ``mcp.json`` and ``permissions.yaml``.

    Raises:
        ConfigError: one of them cannot be used; says file, line and what was expected.
    """
    configs = load_servers(settings.config, os.environ) if settings.config else ()
    return configs, load_permissions(settings.permissions)
