"""Work that a cancellation does not leave half done."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import structlog

T = TypeVar("T")
_log = structlog.get_logger(__name__)


async def finished(work: Coroutine[Any, Any, T]) -> T:
    """Do ``work`` to its end, also when cancelled meanwhile; the cancellation goes on then."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning("failed_while_cancelled", exc_info=error)
        raise
