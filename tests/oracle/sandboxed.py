"""PML's side of the comparison: the program, instrumented or not, in a warm sandbox."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Protocol

import msgspec

from pml.domain.limits import Limits
from pml.domain.record import JsonText
from pml.domain.run import Outcome, Returned
from pml.runtime.reaper import Reaper
from pml.runtime.sandbox.guards import Guards
from pml.runtime.sandbox.pool import SandboxPool
from pml.runtime.sandbox.process import Sandbox
from pml.runtime.sandbox.protocol import (
    CallIssued,
    DeliverInput,
    FireInput,
    StartInput,
    TimerCleared,
    TimerSet,
    Turn,
    TurnItem,
)
from tests.oracle.scenario import Case

TURN_TIMEOUT_S = 30.0  # a turn takes a millisecond; the machine may be shared
PROGRAMS_EACH = 25  # a sandbox tells a thousand times of one place, and keeps what was not settled


class Player(Protocol):
    """What runs a program: a sandbox."""

    def start(self, program: StartInput) -> None: ...
    def deliver(self, outcome: DeliverInput) -> None: ...
    def fire(self, timer: FireInput) -> None: ...
    async def turn(self) -> Turn: ...


class Sandboxes(Protocol):
    """Where sandboxes come from."""

    def checkout(self) -> AbstractAsyncContextManager[Player]: ...


class Sandboxed:
    """Runs one program; speaks to the sandbox as the broker does."""

    def __init__(
        self,
        sandbox: Player,
        module: str,
        arguments: Mapping[str, JsonText],
        lifted: Mapping[str, JsonText],
    ) -> None:
        self._sandbox = sandbox
        self._module = module
        self._arguments = arguments
        self._lifted = lifted
        self._inputs = 0

    async def start(self, case: Case, now_ms: int) -> tuple[TurnItem, ...]:
        """Run the module text; the case's own source is not looked at."""
        del case
        self._sandbox.start(
            StartInput(
                module=self._module,
                arguments=_object(self._arguments),
                lifted=_object(self._lifted),
                seed=1,
                now_ms=now_ms,
            )
        )
        return await self._turn()

    async def deliver(
        self, call: int, tool: str, outcome: Outcome, now_ms: int
    ) -> tuple[TurnItem, ...]:
        """Settle the promise of a call."""
        if isinstance(outcome, Returned):
            value = msgspec.Raw(outcome.value.encode())
            self._sandbox.deliver(DeliverInput(call=call, now_ms=now_ms, value=value))
        else:
            data = msgspec.Raw((outcome.data or "null").encode())
            failed = DeliverInput(
                call=call,
                now_ms=now_ms,
                tool=tool,
                code=outcome.code,
                message=outcome.message,
                data=data,
            )
            self._sandbox.deliver(failed)
        return await self._turn()

    async def fire(self, timer: int, now_ms: int) -> tuple[TurnItem, ...]:
        """Let a timer fire."""
        self._sandbox.fire(FireInput(timer=timer, now_ms=now_ms))
        return await self._turn()

    async def _turn(self) -> tuple[TurnItem, ...]:
        self._inputs += 1
        items: tuple[TurnItem, ...] = ()
        async with asyncio.timeout(TURN_TIMEOUT_S):
            while True:
                turn = await self._sandbox.turn()
                items += turn.items
                if turn.consumed == self._inputs:
                    return items


def _object(values: Mapping[str, JsonText]) -> JsonText:
    raw = {name: msgspec.Raw(text.encode()) for name, text in values.items()}
    return msgspec.json.encode(raw).decode()


@asynccontextmanager
async def sandboxed(
    pool: Sandboxes,
    module: str,
    arguments: Mapping[str, JsonText],
    lifted: Mapping[str, JsonText] | None = None,
) -> AsyncIterator[Sandboxed]:
    """A runner for one program, given as the module that a sandbox imports."""
    async with pool.checkout() as sandbox:
        yield Sandboxed(sandbox, module, arguments, lifted or {})


class Reusing:
    """Sandboxes that play one program after the other: starting a process takes ten times as long.

    Programs must leave globals as they are.  The pool's sandboxes may write files after their
    start (``Guards(frozen_files=False)``): Deno keeps what it translates.
    """

    def __init__(self, pool: SandboxPool) -> None:
        self._pool = pool
        self._idle: list[_Again] = []

    @asynccontextmanager
    async def checkout(self) -> AsyncIterator[Player]:
        """A sandbox that nobody else has; ended after `PROGRAMS_EACH` or a failure."""
        player = self._idle.pop() if self._idle else await _Again.begin(self._pool)
        try:
            yield player
        except BaseException:  # it died, or may still be running the program
            player.programs = PROGRAMS_EACH
            raise
        finally:
            if player.programs < PROGRAMS_EACH:
                self._idle.append(player)
            else:
                await player.end()

    async def close(self) -> None:
        """End those that wait."""
        while self._idle:
            await self._idle.pop().end()


class _Again:
    """One process; every program counts inputs, calls and timers from nothing."""

    def __init__(self, sandbox: Sandbox, leave: AsyncExitStack) -> None:
        self.programs = 0
        self._sandbox = sandbox
        self._leave = leave
        self._inputs = self._calls = self._timers = 0
        self._inputs_before = self._calls_before = self._timers_before = 0

    @classmethod
    async def begin(cls, pool: SandboxPool) -> "_Again":
        stack = AsyncExitStack()
        return cls(await stack.enter_async_context(pool.checkout()), stack)

    async def end(self) -> None:
        await self._leave.aclose()

    def start(self, program: StartInput) -> None:
        self.programs += 1
        self._inputs_before, self._calls_before = self._inputs, self._calls
        self._timers_before = self._timers
        self._inputs += 1
        self._sandbox.start(program)

    def deliver(self, outcome: DeliverInput) -> None:
        self._inputs += 1
        number = outcome.call + self._calls_before
        self._sandbox.deliver(msgspec.structs.replace(outcome, call=number))

    def fire(self, timer: FireInput) -> None:
        self._inputs += 1
        number = timer.timer + self._timers_before
        self._sandbox.fire(msgspec.structs.replace(timer, timer=number))

    async def turn(self) -> Turn:
        turn = await self._sandbox.turn()
        items = tuple(self._renumbered(item) for item in turn.items)
        return Turn(consumed=turn.consumed - self._inputs_before, items=items)

    def _renumbered(self, item: TurnItem) -> TurnItem:
        match item:
            case CallIssued(call=call):
                self._calls = call + 1
                return msgspec.structs.replace(item, call=call - self._calls_before)
            case TimerSet(timer=timer):
                self._timers = max(self._timers, timer)
                return msgspec.structs.replace(item, timer=timer - self._timers_before)
            case TimerCleared(timer=timer):
                return msgspec.structs.replace(item, timer=timer - self._timers_before)
            case _:
                return item


@asynccontextmanager
async def reusing_sandboxes(size: int = 2) -> AsyncIterator[Reusing]:
    """A pool of its own, for many programs."""
    reaper = Reaper.start()
    limits = Limits(calls_per_run=1_000_000)
    guards = Guards(frozen_files=False)
    try:
        async with SandboxPool(limits=limits, reaper=reaper, size=size, guards=guards) as pool:
            sandboxes = Reusing(pool)
            try:
                yield sandboxes
            finally:
                await sandboxes.close()
    finally:
        reaper.close()
