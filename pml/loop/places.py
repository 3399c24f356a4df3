"""How many runs go on at the same time, so that no request takes the machine down.

Each level of nesting has places of its own.  A run waits only for places one level deeper
than its own, whose runs wait for deeper ones still, so waiting ends at the deepest level and
nobody waits in a circle.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from pml.domain.limits import Limits


class NoPlaceError(Exception):
    """No place for another run became free in time."""

    def __init__(self, limit: str) -> None:
        super().__init__(limit)
        self.limit = limit
        """The field of `Limits` whose places are taken."""


class Places:
    """Places for runs that were asked for (level 0), and for runs of nested capabilities."""

    def __init__(self, limits: Limits) -> None:
        nested = [asyncio.Semaphore(limits.nested_runs) for _ in range(limits.capability_depth + 1)]
        self._levels = [asyncio.Semaphore(limits.concurrent_runs), *nested]
        self._per_user = limits.runs_per_user
        self._users: dict[str, _User] = {}

    @property
    def known_users(self) -> int:
        """How many users have runs under way or waiting."""
        return len(self._users)

    @asynccontextmanager
    async def place(self, level: int, *, timeout_ms: int, user: str = "") -> AsyncIterator[None]:
        """One of the places of a level; for level 0 also one of the user's.

        Raises:
            NoPlaceError: none became free in time.
        """
        name = "nested_runs" if level else "concurrent_runs"
        deadline = asyncio.get_running_loop().time() + timeout_ms / 1000
        async with AsyncExitStack() as held:
            if level == 0:  # the user's first: who waits for an own place keeps none from others
                await held.enter_async_context(self._of_user(user, deadline))
            await held.enter_async_context(_taken(self._levels[level], deadline, name))
            yield

    @asynccontextmanager
    async def _of_user(self, name: str, deadline: float) -> AsyncIterator[None]:
        user = self._users.setdefault(name, _User(asyncio.Semaphore(self._per_user)))
        user.runs += 1
        try:
            async with _taken(user.places, deadline, "runs_per_user"):
                yield
        finally:
            user.runs -= 1
            if not user.runs:  # names come and go: nothing is kept of who is not here
                del self._users[name]


@dataclass(slots=True)
class _User:
    places: asyncio.Semaphore
    runs: int = 0
    """Under way or waiting."""


@asynccontextmanager
async def _taken(places: asyncio.Semaphore, deadline: float, limit: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout_at(deadline):
            await places.acquire()
    except TimeoutError as exc:
        raise NoPlaceError(limit) from exc
    try:
        yield
    finally:
        places.release()
