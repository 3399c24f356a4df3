"""Work that is seen through: cancelled once, with its request, and waited for.

One request is one asyncio task of its own.  Transports cancel by anyio's rules, again and
again at every wait, which would interrupt the closing of a run; the task is cancelled once
instead, and waited for.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import anyio

from pml.serve.attendance import Attendance

T = TypeVar("T")


class ShuttingDownError(Exception):
    """No more work is taken."""


class CancelledWorkError(Exception):
    """The work was cancelled: with its request, with its client, or because PML stops."""


class Tracked:
    """The work of one process.

    Invariant: after `close` none is running.
    """

    def __init__(self) -> None:
        self._under_way: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def close(self) -> None:
        """Cancel what runs, wait until it is closed, and take no more."""
        self._closed = True
        under_way = set(self._under_way)
        for task in under_way:
            task.cancel()
        if under_way:
            await asyncio.wait(under_way)

    async def see_through(
        self, work: Coroutine[Any, Any, T], client: Attendance | None = None
    ) -> T:
        """Do ``work`` to its end, or cancel it with its request, with its client or on `close`.

        Raises:
            ShuttingDownError: nothing was begun.
            CancelledWorkError: it was cancelled.
        """
        if self._closed:
            work.close()
            raise ShuttingDownError
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        left = None if client is None else asyncio.create_task(client.left())
        try:
            await asyncio.wait({task, left} if left else {task}, return_when="FIRST_COMPLETED")
        finally:
            if left is not None:
                left.cancel()
            if not task.done():
                task.cancel()
                with anyio.CancelScope(shield=True):
                    await asyncio.wait({task})
        if task.cancelled():
            raise CancelledWorkError
        return task.result()
