"""How many runs go on at the same time, so that no request takes the machine down.

Each level of nesting has places of its own.  A run waits only for places one level deeper
than its own, whose runs wait for deeper ones still, so waiting ends at the deepest level and
nobody waits in a circle.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pml.domain.limits import Limits


class NoPlaceError(Exception):
    """No place for another run became free in time."""


class Places:
    """Places for runs that were asked for (level 0), and for runs of nested capabilities."""

    def __init__(self, limits: Limits) -> None:
        nested = [asyncio.Semaphore(limits.nested_runs) for _ in range(limits.capability_depth + 1)]
        self._levels = [asyncio.Semaphore(limits.concurrent_runs), *nested]

    @asynccontextmanager
    async def place(self, level: int, *, timeout_ms: int) -> AsyncIterator[None]:
        """One of the places of a level.

        Raises:
            NoPlaceError: none became free in time.
        """
        places = self._levels[level]
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await places.acquire()
        except TimeoutError as exc:
            raise NoPlaceError from exc
        try:
            yield
        finally:
            places.release()
