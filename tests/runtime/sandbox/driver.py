"""A broker in one function: answers calls, fires timers, and keeps what was said."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pml.runtime.sandbox.module import module_text
from pml.runtime.sandbox.pool import SandboxPool
from pml.runtime.sandbox.process import Sandbox
from pml.runtime.sandbox.protocol import (
    CallIssued,
    DeliverInput,
    FireInput,
    ProgramReturned,
    ProgramThrew,
    StartInput,
    TimerCleared,
    TimerSet,
    Turn,
    TurnItem,
)

START_MS = 1_700_000_000_000
Answer = Callable[[CallIssued], object]


class ToolFails(Exception):  # noqa: N818  # the test's way to say so
    """Raised by an answer: the call fails with this code and message."""

    def __init__(self, code: str, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


def echo(call: CallIssued) -> object:
    return msgspec.json.decode(call.arguments)


@dataclass
class Story:
    """What one run did, turn by turn."""

    turns: list[Turn] = field(default_factory=list)
    output: str = ""

    @property
    def items(self) -> list[TurnItem]:
        return [item for turn in self.turns for item in turn.items]

    @property
    def calls(self) -> list[CallIssued]:
        return [item for item in self.items if isinstance(item, CallIssued)]

    @property
    def end(self) -> ProgramReturned | ProgramThrew:
        (end,) = (i for i in self.items if isinstance(i, ProgramReturned | ProgramThrew))
        return end

    @property
    def value(self) -> Any:  # noqa: ANN401  # JSON
        assert isinstance(self.end, ProgramReturned), self.end
        return msgspec.json.decode(self.end.value)

    @property
    def error(self) -> ProgramThrew:
        assert isinstance(self.end, ProgramThrew), self.end
        return self.end


def start_input(
    source: str,
    args: dict[str, Any] | None = None,
    *,
    lifted: dict[str, Any] | None = None,
    seed: int = 1,
) -> StartInput:
    bound = args or {}
    return StartInput(
        module=module_text(source, list(bound)),
        arguments=msgspec.json.encode(bound).decode(),
        lifted=msgspec.json.encode(lifted or {}).decode(),
        seed=seed,
        now_ms=START_MS,
    )


def outcome(call: CallIssued, answer: Answer, now_ms: int) -> DeliverInput:
    try:
        value = msgspec.Raw(msgspec.json.encode(answer(call)))
        return DeliverInput(call=call.call, now_ms=now_ms, value=value)
    except ToolFails as error:
        return DeliverInput(
            call=call.call,
            now_ms=now_ms,
            tool=f"{call.server}:{call.tool}",
            code=error.code,
            message=error.message,
            data=None if error.data is None else msgspec.Raw(msgspec.json.encode(error.data)),
        )


async def drive(
    sandbox: Sandbox,
    source: str,
    args: dict[str, Any] | None = None,
    *,
    lifted: dict[str, Any] | None = None,
    answer: Answer = echo,
    seed: int = 1,
    order: Callable[[Sequence[CallIssued]], Sequence[CallIssued]] = tuple,
) -> Story:
    """Run a program to its settlement: outcomes first, in ``order``, then the next due timer."""
    story = Story()
    sandbox.start(start_input(source, args, lifted=lifted, seed=seed))
    sent, now = 1, START_MS
    due: dict[int, float] = {}
    async with asyncio.timeout(30):
        while True:
            turn = await sandbox.turn()
            story.turns.append(turn)
            story.output = sandbox.output
            calls = []
            for item in turn.items:
                if isinstance(item, CallIssued):
                    calls.append(item)
                elif isinstance(item, TimerSet):
                    due[item.timer] = now + item.delay_ms
                elif isinstance(item, TimerCleared):
                    due.pop(item.timer, None)
                elif isinstance(item, ProgramReturned | ProgramThrew):
                    return story
            for call in order(calls):
                now += 1
                sent += 1
                sandbox.deliver(outcome(call, answer, now))
            if turn.consumed == sent and not calls and due:
                timer = min(due, key=lambda key: (due[key], key))
                now = max(now, int(due.pop(timer)))
                sent += 1
                sandbox.fire(FireInput(timer=timer, now_ms=now))


async def run_program(
    pool: SandboxPool,
    source: str,
    args: dict[str, Any] | None = None,
    *,
    lifted: dict[str, Any] | None = None,
    answer: Answer = echo,
    seed: int = 1,
    order: Callable[[Sequence[CallIssued]], Sequence[CallIssued]] = tuple,
) -> Story:
    """`drive` in a sandbox of its own."""
    async with pool.checkout() as sandbox:
        return await drive(
            sandbox, source, args, lifted=lifted, answer=answer, seed=seed, order=order
        )
