"""A wait that is not cut short: what has begun to end is seen to its end."""

import asyncio
from collections.abc import Iterable
from typing import Any


async def outlast(
    futures: "Iterable[asyncio.Future[Any]]", *, timeout_s: float | None = None
) -> None:
    """Wait until all are done or the time is over, also when cancelled meanwhile.

    The cancellation goes on then, so clean up in a ``finally``.  No task of its own does the
    waiting: an event loop that ends cancels every task, and waits only for those that it knew.
    """
    clock = asyncio.get_running_loop().time
    deadline = None if timeout_s is None else clock() + timeout_s
    waited = tuple(futures)
    cancelled: asyncio.CancelledError | None = None
    while pending := [future for future in waited if not future.done()]:
        left_s = None if deadline is None else deadline - clock()
        if left_s is not None and left_s <= 0:
            break
        try:
            await asyncio.wait(pending, timeout=left_s)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
