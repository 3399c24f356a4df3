"""What a server does while it answers already: connect, and load what is known."""

import msgspec
import structlog

from pml.errors import StoreError
from pml.serve.compose import Settings, Workbench

WARM_SANDBOXES = 3
"""A new one takes some 80 ms, which a burst of requests would wait for; each holds 16 MB."""

_log = structlog.get_logger(__name__)


def for_serving(settings: Settings) -> Settings:
    """The settings of a process that serves many requests, not one."""
    sandboxes = max(settings.sandboxes, WARM_SANDBOXES)
    return msgspec.structs.replace(settings, sandboxes=sandboxes)


async def get_ready(bench: Workbench) -> None:
    """Connect the servers and load the library, so that no request has to wait for it."""
    bench.upstreams.connect_soon(bench.upstreams.names)
    try:
        await bench.library.refresh()
    except StoreError as exc:  # requests will say so
        _log.warning("library_not_loaded", exc_info=exc)
