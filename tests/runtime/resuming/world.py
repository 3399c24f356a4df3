"""A world around a real broker and a real sandbox, in which time is virtual.

Servers answer, and timers come due, at times that follow from the program alone: from the
call's number and from when it was issued.  So a run that was cut off anywhere and resumed
meets what it would have met, and must come to the same end.
"""

import asyncio
import heapq
import itertools
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from pml.domain.ledger import Ledger
from pml.domain.permissions import ApprovalMode, Effect, Permission
from pml.domain.run import Issued, Outcome
from pml.domain.tools import Tool
from pml.runtime.sandbox.protocol import DeliverInput, FireInput, StartInput, Turn
from pml.runtime.timers import Cancels
from tests.oracle.sandboxed import Player
from tests.oracle.scenario import EPOCH_MS, MARK, answer

WRITES = {"fs:write", "kv:set", "api:fetch", "api:flaky", "capabilities:clean"}
IDEMPOTENT = {"api:broken", "db:query"}
PASSES = 60
"""Passes of the event loop in which nothing happens: then the broker waits for the world."""
CALL, TIMER = 0, 1


class StuckError(Exception):
    """The program waits for something that never comes."""


@dataclass(order=True)
class _Due:
    at_ms: float
    kind: int
    number: int
    happen: Callable[[], None] = field(compare=False)
    gone: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        self.gone = True


class World:
    """Servers, permissions, clock and timers of one life of a broker.

    With ``layered`` a server gets a call no sooner than all calls before it have been answered
    and the code waits: what a run does that pauses before each frontier.
    """

    def __init__(self, seed: int, ledger: Ledger, *, layered: bool = False) -> None:
        self.sent: Counter[int] = Counter()
        """Requests that reached a server, by the number of their call."""
        self.frontiers = 0
        self.now: float = ledger.last_ms or EPOCH_MS
        self._seed = seed
        self._ledger = ledger
        self._layered = layered
        self._due: list[_Due] = []
        self._numbers = itertools.count()
        self._in_flight = 0
        self._waiting: list[tuple[Issued, asyncio.Future[Outcome]]] = []
        self._steps = 0  # grows with whatever happens

    # -- what the broker asks for ------------------------------------------------------

    def now_ms(self) -> int:
        return int(self.now)

    def call_later(self, delay_s: float, call: Callable[[], None]) -> Cancels:
        return self._plan(self.now + round(delay_s * 1000, 6), TIMER, next(self._numbers), call)

    def of(self, tool: Tool) -> Permission:
        effect = Effect.READ
        if tool.id in WRITES:
            effect = Effect.WRITE
        elif tool.id in IDEMPOTENT:
            effect = Effect.IDEMPOTENT
        return Permission(tool=tool.id, effect=effect, approval_mode=ApprovalMode.AUTO)

    async def ready(self, server: str) -> None:
        """Always."""

    async def call(self, issued: Issued) -> Outcome:
        self.sent[issued.call] += 1
        self._steps += 1
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        if self._layered:
            self._waiting.append((issued, future))
        else:
            self._serve(issued, future, issued.at_ms)
        return await future

    # -- what happens --------------------------------------------------------------------

    async def run(self, code: "Watched") -> None:
        """Let things happen, one at a time, each once nothing else goes on.

        Raises:
            StuckError: nothing can happen any more.
        """
        while True:
            await code.waits.wait()
            if not await self._still(code):
                continue
            if not self._in_flight and self._waiting:
                waiting, self._waiting = self._waiting, []
                self.frontiers += 1
                for issued, future in waiting:
                    self._serve(issued, future, self.now)
            while self._due and self._due[0].gone:
                heapq.heappop(self._due)
            if not self._due:
                raise StuckError
            due = heapq.heappop(self._due)
            self.now = max(self.now, due.at_ms)
            self._steps += 1
            due.happen()

    async def _still(self, code: "Watched") -> bool:
        steps = self._steps, len(self._ledger.records), code.inputs
        for _ in range(PASSES):
            await asyncio.sleep(0)
            if steps != (self._steps, len(self._ledger.records), code.inputs):
                return False
        return code.waits.is_set()

    def _serve(self, issued: Issued, future: "asyncio.Future[Outcome]", since_ms: float) -> None:
        latency = zlib.crc32(f"{self._seed}|latency|{issued.call}".encode()) % 50
        self._in_flight += 1

        def happen() -> None:
            self._in_flight -= 1
            if not future.done():
                future.set_result(self.outcome(issued))

        self._plan(since_ms + 1 + latency, CALL, issued.call, happen)

    def outcome(self, issued: Issued) -> Outcome:
        """What the server answers, whenever it is asked."""
        same = (
            call.issued
            for call in self._ledger.calls[: issued.call]
            if (call.issued.tool, call.issued.arguments) == (issued.tool, issued.arguments)
        )
        nth = sum(1 for _ in same)
        mark = MARK.format(issued.call)
        return answer(self._seed, issued.tool, issued.arguments, nth, mark)

    def _plan(self, at_ms: float, kind: int, number: int, happen: Callable[[], None]) -> _Due:
        due = _Due(at_ms, kind, number, happen)
        heapq.heappush(self._due, due)
        self._steps += 1
        return due


class Watched:
    """A sandbox that tells the world when its code waits."""

    def __init__(self, player: Player | None) -> None:
        self._player = player
        self.inputs = 0
        self.given: list[int] = []
        """Calls whose outcome went in."""
        self.waits = asyncio.Event()
        if player is None:
            self.waits.set()

    def start(self, program: StartInput) -> None:
        self._input()
        self._sandbox.start(program)

    def deliver(self, outcome: DeliverInput) -> None:
        self._input()
        self.given.append(outcome.call)
        self._sandbox.deliver(outcome)

    def fire(self, timer: FireInput) -> None:
        self._input()
        self._sandbox.fire(timer)

    async def turn(self) -> Turn:
        turn = await self._sandbox.turn()
        if turn.consumed == self.inputs:
            self.waits.set()
        return turn

    def stop(self) -> None:
        """Left to whoever checked it out: it may play another program."""

    def _input(self) -> None:
        self.inputs += 1
        self.waits.clear()

    @property
    def _sandbox(self) -> Player:
        assert self._player is not None
        return self._player
