"""Several PML processes over one store in one test, each of which can be killed at any moment.

A process that is dead reaches neither the store nor the world any more: whatever it does next
there raises `Died`, as nothing after a kill happens.  It can die before or after any single
operation of the store, so a commit whose answer nobody heard is among the cases.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from pml.domain.events import Event
from pml.domain.limits import Limits
from pml.domain.response import ExecuteResponse
from pml.loop.act import Act
from pml.loop.keeper import Keeper
from pml.loop.library import Library
from pml.loop.means import Entropy
from pml.loop.places import Places
from pml.loop.steering import Steering
from pml.runtime.sandbox.pool import SandboxPool
from pml.store.ports import Store
from tests.loop.outside import Outside


class Died(BaseException):  # no error: the process is gone
    """The process was killed here."""


@dataclass
class World:
    """What outlives processes: the store, the servers, the clock."""

    store: Store
    outside: Outside
    pool: SandboxPool
    now_ms: int = 1_700_000_000_000
    limits: Limits = field(default_factory=Limits)
    events: list[Event] = field(default_factory=list)
    ids: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    alive: set[str] = field(default_factory=set)

    def tick(self) -> int:
        """The next millisecond."""
        self.now_ms += 1
        return self.now_ms

    def process(self, name: str) -> "Process":
        """Another process."""
        self.alive.add(name)
        return Process(self, name)


class Process:
    """One PML process."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name
        self.dead = False
        self.left: int | None = None
        """Operations of the store until it dies; None: it does not."""
        self._after = False
        self._tasks: set[asyncio.Task[Any]] = set()
        store = Store(**{part: self._wrapped(part) for part in Store.__slots__})
        act = Act(
            store=store,
            library=Library(store, world.outside, clock=itertools.count().__next__),
            servers=_Reached(self, world.outside),
            sandboxes=world.pool,
            permissions=world.outside,
            entropy=Entropy(
                now_ms=world.tick, run_id=lambda: f"id-{next(world.ids)}", seed=lambda: 7
            ),
            limits=world.limits,
            user_id="local",
            owner=name,
            emit=world.events.append,
            places=Places(world.limits),
        )
        self.act = act
        self.steering = Steering(engine=act, alive=lambda owner: owner in world.alive)
        self.keeper = Keeper(self.steering, resumes=True)

    def _wrapped(self, part: str) -> Any:  # noqa: ANN401  # any port
        inner = getattr(self.world.store, part)
        return inner if part == "hmac" else _Part(self, inner)

    def die_at(self, operation: int, *, after: bool) -> None:
        """Die at the store's operation of that number from now, before or after it is done."""
        self.left, self._after = operation, after

    async def operate(self, work: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401
        """One operation of the store."""
        await asyncio.sleep(0)  # as a database would: others get their turn
        if self.dead:
            raise Died
        dies = self.left == 0
        if self.left is not None:
            self.left -= 1
        if dies and not self._after:
            self.kill()
            raise Died
        result = await work()
        if dies:
            self.kill()
            raise Died
        return result

    def kill(self) -> None:
        """It is gone, with everything that it was doing."""
        self.dead = True
        self.world.alive.discard(self.name)
        for task in self._tasks:
            task.cancel()

    async def do(self, work: Coroutine[Any, Any, ExecuteResponse]) -> ExecuteResponse | None:
        """What it answers; None: it died before that."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        await asyncio.wait([task])
        self._tasks.discard(task)
        if self.dead:
            task.cancelled() or task.exception()
            return None
        return task.result()


class _Part:
    """One noun of the store, as a process reaches it."""

    def __init__(self, process: Process, inner: Any) -> None:  # noqa: ANN401  # any port
        self._process, self._inner = process, inner

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # any method
        method = getattr(self._inner, name)

        async def operation(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            return await self._process.operate(lambda: method(*args, **kwargs))

        return operation


class _Reached:
    """The servers, as a process reaches them."""

    def __init__(self, process: Process, outside: Outside) -> None:
        self._process, self._outside = process, outside

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # any method
        return getattr(self._outside, name)

    async def call(self, server: str, tool: str, arguments: str) -> Any:  # noqa: ANN401
        """A request; the answer to a dead process is heard by nobody."""
        if self._process.dead:
            raise Died
        outcome = await self._outside.call(server, tool, arguments)
        if self._process.dead:
            raise Died
        return outcome
