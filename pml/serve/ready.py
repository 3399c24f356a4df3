"""What a server does while it answers already: connect, and load what is known."""

import asyncio

import msgspec
import structlog

from pml.errors import StoreError, UpstreamUnavailableError
from pml.loop.library import Library
from pml.runtime.upstream.servers import Upstreams
from pml.runtime.upstream.status import ServerState
from pml.serve.collector import settle
from pml.serve.compose import Settings, Workbench

WARM_SANDBOXES = 3
"""A new one takes some 80 ms, which a burst of requests would wait for; each holds some 40 MB."""

_log = structlog.get_logger(__name__)


def for_serving(settings: Settings) -> Settings:
    """The settings of a process that serves many requests, not one."""
    sandboxes = max(settings.sandboxes, WARM_SANDBOXES)
    return msgspec.structs.replace(settings, sandboxes=sandboxes)


async def get_ready(bench: Workbench) -> None:
    """Connect the servers and load the library, so that no request has to wait for it.

    What fails is logged, since whoever starts a server looks at its log first; the requests
    that need it say so too.
    """
    servers = (s.name for s in bench.upstreams.status() if s.state is not ServerState.DISABLED)
    async with asyncio.TaskGroup() as tasks:
        for server in servers:
            tasks.create_task(_connect(bench.upstreams, server))
        tasks.create_task(_load(bench.library))
    settle()


async def _connect(upstreams: Upstreams, server: str) -> None:
    try:
        await upstreams.ready(server)
    except UpstreamUnavailableError as exc:
        _log.warning("server_not_connected", server=server, reason=" ".join(str(exc).split()))


async def _load(library: Library) -> None:
    try:
        await library.refresh()
    except StoreError as exc:
        _log.warning("library_not_loaded", reason=str(exc))
