"""PML's side of the comparison: the program, instrumented or not, in a warm sandbox."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import msgspec

from pml.domain.record import JsonText
from pml.domain.run import Outcome, Returned
from pml.runtime.sandbox.pool import SandboxPool
from pml.runtime.sandbox.process import Sandbox
from pml.runtime.sandbox.protocol import DeliverInput, FireInput, StartInput, TurnItem
from tests.oracle.scenario import Case

TURN_TIMEOUT_S = 30.0  # a turn takes a millisecond; the machine may be shared


class Sandboxed:
    """Runs one program; speaks to the sandbox as the broker does."""

    def __init__(
        self,
        sandbox: Sandbox,
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
    pool: SandboxPool,
    module: str,
    arguments: Mapping[str, JsonText],
    lifted: Mapping[str, JsonText] | None = None,
) -> AsyncIterator[Sandboxed]:
    """A runner for one program, given as the module that a sandbox imports."""
    async with pool.checkout() as sandbox:
        yield Sandboxed(sandbox, module, arguments, lifted or {})
