"""From the options of a command to an open workbench, and back out on Ctrl-C.

The one place where the command line meets `pml.serve.compose`.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from pml.cli.exits import ExitCode
from pml.cli.terminal import note
from pml.domain.visible import visible

if TYPE_CHECKING:
    from pml.domain.events import Event
    from pml.serve.compose import Settings, Workbench
    from pml.store.ports import Store

T = TypeVar("T")
LISTING_S = 5.0
"""How long a search waits for servers that were never listed: most start within two seconds."""
TELL_AFTER_S = 1.5
"""A longer wait is explained."""
LOG_LEVELS = ("debug", "info", "warning", "error", "critical")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run one command to its end; Ctrl-C closes what is open, then exits with 130."""
    try:
        _configure_log(os.environ.get("PML_LOG", "warning"))
        return asyncio.run(work)
    except KeyboardInterrupt:
        note("pml: interrupted; `pml runs` shows how the run was left")
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    finally:
        work.close()  # it never started if the log could not be set up


@asynccontextmanager
async def opened(
    *,
    config: Path | None = None,
    permissions: Path | None = None,
    data_dir: Path | None = None,
    on_event: "Callable[[Event], None] | None" = None,
) -> "AsyncIterator[Workbench]":
    """Store, servers and sandboxes, opened as the options and the environment say."""
    from pml.serve.compose import workbench

    settings = configured(config=config, permissions=permissions, data_dir=data_dir)
    async with workbench(settings, on_event=on_event or _ignore) as bench:
        yield bench


@asynccontextmanager
async def opened_store(data_dir: Path | None) -> "AsyncIterator[Store]":
    """Only the store, for commands that look back."""
    from pml.serve.compose import open_store

    async with open_store(configured(data_dir=data_dir)) as store:
        yield store


async def list_servers(bench: "Workbench") -> None:
    """Ask the servers that were never listed for their tools, so that search knows them."""
    names = bench.upstreams.names
    listed = (await bench.store.tool_schemas.catalog(names)).servers
    listing = asyncio.create_task(
        bench.upstreams.connect([name for name in names if name not in listed])
    )
    try:
        if await _ended(listing, TELL_AFTER_S):
            return
        note(f"pml: waiting for {_late(bench)} to list its tools ({LISTING_S:g} s at most)")
        if not await _ended(listing, LISTING_S - TELL_AFTER_S):
            note(f"pml: {_late(bench)} has not listed its tools: going on without them")
    finally:
        listing.cancel()


async def _ended(work: "asyncio.Task[None]", timeout_s: float) -> bool:
    """Whether it ended within ``timeout_s``; what it raised is raised."""
    done, _ = await asyncio.wait([work], timeout=timeout_s)
    return bool(done) and work.result() is None


def _late(bench: "Workbench") -> str:
    """The servers that are still connecting, by name."""
    from pml.runtime.upstream.status import ServerState

    late = [s.name for s in bench.upstreams.status() if s.state is ServerState.CONNECTING]
    return f"server{'' if len(late) == 1 else 's'} {', '.join(map(repr, late))}"


def configured(
    *, config: Path | None = None, permissions: Path | None = None, data_dir: Path | None = None
) -> "Settings":
    """Options first, then the environment, then the files of the current folder."""
    from pml.serve.compose import settings_from_env

    settings = settings_from_env(
        os.environ,
        config=config or _if_there("mcp.json"),
        permissions=permissions or _if_there("permissions.yaml"),
        data_dir=data_dir,
        limits=_if_there("limits.yaml"),
    )
    _check_data_dir(settings.data_dir)
    return settings


def _check_data_dir(folder: Path) -> None:
    """Refuse a folder that cannot be one, before the database stumbles over it.

    Raises:
        ConfigError: it is a file, or lies where we may not write.
    """
    from pml.errors import ConfigError

    nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        problem = "cannot be written" if nearest.is_dir() else "is no folder"
        message = f"{nearest} {problem}: name another folder with --data-dir or PML_DATA_DIR"
        raise ConfigError(str(folder), message)


def _ignore(event: "Event") -> None:
    """Nobody watches."""


def _if_there(name: str) -> Path | None:
    path = Path(name)
    return path if path.exists() else None


def _without_secrets(_logger: object, _method: str, line: dict[str, Any]) -> dict[str, Any]:
    from pml.domain.sanitising import redact

    plain = (str, int, float, bool, type(None))
    texts = {
        name: value if isinstance(value, plain) else str(value) for name, value in line.items()
    }
    return {
        name: visible(value) if isinstance(value, str) else value
        for name, value in redact(texts).items()
    }


def _configure_log(level: str) -> None:
    """Structured log lines on stderr, from ``PML_LOG`` on; without secrets (ST-5).

    Tracebacks come without the values of variables, which structlog shows by default.

    Raises:
        ConfigError: `PML_LOG` is no level.
    """
    import logging
    import sys

    import structlog

    from pml.errors import ConfigError

    if level.lower() not in LOG_LEVELS:
        message = f"found {level!r}; expected one of: {', '.join(LOG_LEVELS)}"
        raise ConfigError("PML_LOG", message)
    processors: list[Any] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="%Y-%m-%d %H:%M:%S", utc=False),
        structlog.processors.format_exc_info,
        _without_secrets,
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
    ]
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
