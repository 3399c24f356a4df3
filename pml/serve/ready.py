"""What a server does while it answers already: connect, and load what is known."""

import structlog

from pml.errors import StoreError
from pml.serve.compose import Workbench

_log = structlog.get_logger(__name__)


async def get_ready(bench: Workbench) -> None:
    """Connect the servers and load the library, so that no request has to wait for it."""
    bench.upstreams.connect_soon(bench.upstreams.names)
    try:
        await bench.library.refresh()
    except StoreError as exc:  # requests will say so
        _log.warning("library_not_loaded", exc_info=exc)
