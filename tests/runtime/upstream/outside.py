"""The world around the upstream side, as its tests see it."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from pml.domain.tools import Tool
from pml.runtime.upstream.config import ServerConfig
from pml.runtime.upstream.servers import Upstreams

SERVER = Path(__file__).parents[2] / "fixtures" / "upstream_server.py"
_PATIENCE_S = 20.0

Stdio = Callable[..., ServerConfig]
Http = Callable[..., Awaitable[ServerConfig]]
Open = Callable[..., Awaitable[Upstreams]]
Calls = Callable[[], list[dict[str, Any]]]
PROTOCOLS = pytest.mark.parametrize(
    ("protocol", "spoken"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")]
)


class Sink:
    """Remembers each listing, and lets a test wait for one."""

    def __init__(self) -> None:
        self.listings: dict[str, list[tuple[Tool, ...]]] = defaultdict(list)

    async def replace(self, server: str, tools: Sequence[Tool]) -> None:
        self.listings[server].append(tuple(tools))

    def names(self, server: str) -> set[str]:
        return {tool.name for tool in self.listings[server][-1]}


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds; fails after 20 seconds."""
    async with asyncio.timeout(_PATIENCE_S):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def open_files() -> int:
    """How many descriptors this process holds."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def with_protocol(config: ServerConfig, protocol: str, **fields: Any) -> ServerConfig:  # noqa: ANN401
    changed = {name: getattr(config, name) for name in config.__struct_fields__}
    return ServerConfig(**(changed | {"protocol": protocol} | fields))
