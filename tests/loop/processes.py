"""Several PML processes over one store in one test, each of which can be killed at any moment.

A process that is dead reaches neither the store nor the world any more: whatever it does next
there raises `Died`, as nothing after a kill happens.  It can die before or after any single
operation of the store, so a commit whose answer nobody heard is among the cases; and between a
request and its answer.
"""

import asyncio
import itertools
import json
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from pml.domain.approval import Principal, Role
from pml.domain.events import Event
from pml.domain.limits import Limits
from pml.domain.permissions import Effect
from pml.domain.record import JsonText
from pml.domain.response import ExecuteResponse
from pml.domain.run import Failed, Issued, Outcome, Returned
from pml.domain.steering import ContinueRequest, DoubtAction, Resolution
from pml.errors import StoreError
from pml.loop.act import Act
from pml.loop.ids import child_run_id
from pml.loop.keeper import Keeper
from pml.loop.library import Library
from pml.loop.means import Entropy
from pml.loop.places import Places
from pml.loop.steering import Steering
from pml.runtime.sandbox.pool import SandboxPool
from pml.runtime.sandbox.process import Sandbox
from pml.store.memory import memory_store
from pml.store.ports import Store
from tests.loop.outside import Outside, echo

THE_LOSS = StoreError("the database was lost")
ADA = Principal(name="ada", role=Role.APPROVER)


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


class Sandboxes:
    """The pool, knowing which of its sandboxes run a program."""

    def __init__(self, pool: SandboxPool, *, doomed: bool = False) -> None:
        self._pool, self._doomed = pool, doomed
        self.given = 0
        self.out: list[Sandbox] = []

    @asynccontextmanager
    async def checkout(self) -> AsyncIterator[Sandbox]:
        """As of the pool; a doomed one is killed from outside."""
        async with self._pool.checkout() as sandbox:
            self.given += 1
            self.out.append(sandbox)
            if self._doomed:
                os.killpg(sandbox.pid, signal.SIGKILL)
            try:
                yield sandbox
            finally:
                self.out.remove(sandbox)


class Process:
    """One PML process."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name
        self.dead = False
        self.left: int | None = None
        """Operations of the store until it dies; None: it does not."""
        self._after = False
        self._loss: Exception = THE_LOSS
        self._loses_in: int | None = None
        """Operations of the store until it is lost; None: it is not."""
        self._stops_in: int | None = None
        """Operations of the store until it stands still; None: it does not."""
        self.requests_left: int | None = None
        """Requests until it dies before it hears the answer; None: it does not."""
        self._goes = asyncio.Event()
        self._goes.set()
        self._stands = asyncio.Event()
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

    def lose_store_at(self, operation: int, *, after: bool, error: Exception = THE_LOSS) -> None:
        """From the operation of that number on there is no store until `has_store_again`."""
        self._loses_in, self._after, self._loss = operation, after, error

    def has_store_again(self) -> None:
        """The store answers."""
        self._loses_in = None

    def stop(self) -> None:
        """It stands still, as after SIGSTOP, until `wake`."""
        self._goes.clear()
        self._stands.set()

    def stop_at(self, operation: int) -> None:
        """Stand still before the store's operation of that number from now, until `wake`."""
        self._stops_in = operation

    def wake(self) -> None:
        """It goes on where it stood."""
        self._stands.clear()
        self._goes.set()

    async def stands_still(self) -> None:
        """Return when it stands still."""
        await self._stands.wait()

    async def goes(self) -> None:
        """Return when it does not stand still."""
        await self._goes.wait()

    def die_unheard(self, request: int) -> None:
        """Die when the request of that number from now took effect, before its answer comes."""
        self.requests_left = request

    def hears(self) -> bool:
        """Whether an answer that has just come reaches it."""
        if self.requests_left == 0 and not self.dead:
            self.kill()
        if self.requests_left is not None:
            self.requests_left -= 1
        return not self.dead

    async def operate(self, work: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401
        """One operation of the store."""
        await asyncio.sleep(0)  # as a database would: others get their turn
        if self._stops_in is not None:
            self._stops_in -= 1
            if self._stops_in < 0:
                self._stops_in = None
                self.stop()
        await self.goes()
        if self.dead:
            raise Died
        if self._loses_in is not None:
            self._loses_in -= 1
            if self._loses_in < 0:
                await self._lost(work)
        dies = self.left == 0
        if self.left is not None:
            self.left -= 1
        if dies and not self._after:
            self.kill()
            raise Died
        try:
            return await work()
        finally:  # an error is an answer too, and nobody hears it
            await self.goes()
            if dies:
                self.kill()
                raise Died

    async def _lost(self, work: Callable[[], Awaitable[Any]]) -> None:
        """No answer; only the first request may have reached the store."""
        if self._loses_in == -1 and self._after:
            await work()
        raise self._loss

    def kill(self) -> None:
        """It is gone, with everything that it was doing."""
        self.dead = True
        self.world.alive.discard(self.name)
        stints = (stint.task for stint in self.act.under_way)  # a keeper's are nobody's else
        for task in (*self._tasks, *stints):
            if task is not None:
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
        await self._process.goes()
        if not self._process.hears():
            raise Died
        return outcome


async def late(_tool: str, arguments: JsonText) -> Outcome:
    for _ in range(30):
        await asyncio.sleep(0)
    return Returned(value=arguments)


async def fail(_tool: str, _arguments: JsonText) -> Outcome:
    return Failed(code="tool_error", message="no")


def a_world(pool: SandboxPool) -> World:
    outside = Outside()
    outside.offer("fs:read", echo, Effect.READ)
    outside.offer("fs:write", echo)
    outside.offer("fs:slow", late)
    outside.offer("fs:fail", fail, Effect.IDEMPOTENT)
    return World(memory_store(), outside, pool)


def _quiet_about_the_dead(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Nobody asks what the tasks of a dead process came to; everything else is told as ever.

    To tell it is worse than noise: it happens when rubbish is collected, and Python 3.11 cannot
    format a stack while it parses source, which pytest does to show a failure.
    """
    if not isinstance(context.get("exception"), Died):
        loop.default_exception_handler(context)


async def a_process(world: World, name: str) -> Process:
    asyncio.get_running_loop().set_exception_handler(_quiet_about_the_dead)
    await world.store.leases.renew(name, ttl_s=1e9)
    return world.process(name)


async def see_through(world: World, process: Process, run_id: str) -> ExecuteResponse:
    """What the run comes to in this process, with a person who answers."""
    for _ in range(20):
        await process.keeper.tend()
        await process.keeper.idle()
        answer = await process.steering.status(run_id)
        if answer.status not in ("in_doubt", "layer_complete"):
            return answer
        request = ContinueRequest(
            workflow_id=run_id,
            checkpoint_id=answer.checkpoint_id,
            resolutions=tuple(
                [await found_out(world, run_id, task.task_id) for task in answer.in_doubt]
            ),
        )
        await process.steering.go_on(request, by=ADA)
    raise AssertionError(answer)


async def found_out(world: World, run_id: str, path: str) -> Resolution:
    """What a person who looks at the servers says of a write in doubt."""
    issued = await the_call(world, run_id, path)
    if (issued.tool, issued.arguments) not in world.outside.requests:
        return Resolution(task_id=path, action=DoubtAction.RETRY)
    result = json.loads(issued.arguments)  # the tools answer with their arguments
    return Resolution(task_id=path, action=DoubtAction.RESULT, result=result)


async def the_call(world: World, run_id: str, path: str) -> Issued:
    task_id, _, rest = path.partition("/")
    records = await world.store.run_log.read(run_id)
    (issued,) = [r for r in records if isinstance(r, Issued) and r.task_id == task_id]
    if not rest:
        return issued
    return await the_call(world, child_run_id(run_id, issued.call), rest)
