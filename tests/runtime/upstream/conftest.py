"""Real servers for the tests of the upstream side: over stdio and over HTTP on loopback."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pml.domain.limits import Limits
from pml.runtime.reaper import Reaper
from pml.runtime.upstream.config import ServerConfig
from pml.runtime.upstream.servers import Upstreams
from tests.runtime.upstream.outside import SERVER, Sink


@pytest.fixture
def sink() -> Sink:
    return Sink()


@pytest.fixture
def reaper() -> Iterator[Reaper]:
    with Reaper.start() as reaper:
        yield reaper


@pytest.fixture
def counter(tmp_path: Path) -> Path:
    return tmp_path / "calls.jsonl"


@pytest.fixture
def calls(counter: Path) -> Callable[[], list[dict[str, Any]]]:
    """The calls that have reached the fixture server."""
    return lambda: (
        [json.loads(line) for line in counter.read_text().splitlines()] if counter.exists() else []
    )


@pytest.fixture
def stdio(counter: Path) -> Callable[..., ServerConfig]:
    """Configures the fixture server over stdio."""

    def configure(name: str = "fix", **fields: Any) -> ServerConfig:  # noqa: ANN401
        args = (str(SERVER), "--counter", str(counter))
        return ServerConfig(name=name, command=sys.executable, args=args, **fields)

    return configure


@pytest.fixture
async def http(counter: Path) -> AsyncIterator[Callable[..., Awaitable[ServerConfig]]]:
    """Starts the fixture server over HTTP and configures it; the last started is `http.process`."""
    started: list[asyncio.subprocess.Process] = []

    async def configure(
        *options: str,
        name: str = "web",
        port: int = 0,
        **fields: Any,  # noqa: ANN401
    ) -> ServerConfig:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(SERVER),
            "--counter",
            str(counter),
            "--http",
            str(port),
            *options,
            stdout=asyncio.subprocess.PIPE,
        )
        started.append(process)
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().strip()
        return ServerConfig(name=name, url=url, **fields)

    configure.processes = started  # type: ignore[attr-defined]
    yield configure
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@pytest.fixture
async def upstreams(
    sink: Sink, reaper: Reaper
) -> AsyncIterator[Callable[..., Awaitable[Upstreams]]]:
    """Opens `Upstreams` over configurations, and closes them at the end."""
    async with contextlib.AsyncExitStack() as stack:

        async def open_all(
            *configs: ServerConfig,
            limits: Limits | None = None,
            **fields: Any,  # noqa: ANN401
        ) -> Upstreams:
            return await stack.enter_async_context(
                Upstreams(configs, limits=limits or Limits(), reaper=reaper, sink=sink, **fields)
            )

        yield open_all
