"""A world for a program: canned answers, and a virtual clock that orders what happens.

Everything is a function of the seed, the call's number, and its tool and arguments; so the
same program meets the same world whoever runs it, and a race has one winner.
"""

import heapq
import json
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pml.domain.record import JsonText
from pml.domain.run import Failed, Outcome, Returned
from pml.runtime.sandbox.protocol import (
    CallIssued,
    DecisionMade,
    ProgramReturned,
    ProgramThrew,
    SiteReached,
    TimerCleared,
    TimerSet,
    TurnItem,
    UnhandledRejection,
)

EPOCH_MS = 1_800_000_000_000
MAX_EVENTS = 3_000
MARK = "\N{LEFT FLOOR}{}\N{RIGHT FLOOR}"
"""What texts of the answer to a call carry, with the call's number."""
CALL, TIMER = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A program, its input and the seed of its world."""

    source: str
    args: Mapping[str, Any] = field(default_factory=dict)
    parameters: tuple[str, ...] = ()
    """The names among ``args`` that the program uses without declaring them."""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Settled:
    """A call came to its end, with a value or an error."""

    site: str


class Runner(Protocol):
    """Something that runs programs turn by turn."""

    async def start(self, case: Case, now_ms: int) -> tuple[TurnItem, ...]: ...

    async def deliver(
        self, call: int, tool: str, outcome: Outcome, now_ms: int
    ) -> tuple[TurnItem, ...]: ...

    async def fire(self, timer: int, now_ms: int) -> tuple[TurnItem, ...]: ...


@dataclass(slots=True, kw_only=True)
class Observed:
    """What a program did: the part that must not depend on who ran it, and PML's labels."""

    calls: list[tuple[str, JsonText]] = field(default_factory=list)
    """Tool and arguments, in order of issue."""
    refused: list[tuple[str, JsonText]] = field(default_factory=list)
    """Those that were issued after the program had settled."""
    given: list[tuple[str, int]] = field(default_factory=list)
    """Outcomes and timers, in the order in which the code got them."""
    undelivered: list[int] = field(default_factory=list)
    rejections: list[str] = field(default_factory=list)
    returned: JsonText | None = None
    threw: tuple[str, str, str | None] | None = None
    """Name, message and code."""
    line: int | None = None
    stuck: bool = False
    """Waits for something that never comes."""
    trail: list[CallIssued | DecisionMade | SiteReached | Settled] = field(default_factory=list)
    """Sites, in order; empty of decisions when nobody instrumented the program."""

    @property
    def settled(self) -> bool:
        return self.returned is not None or self.threw is not None

    def comparable(self) -> dict[str, object]:
        """All that native and PML must agree in.

        The message of a TypeError quotes source text, which instrumentation changes.
        """
        threw = self.threw and (
            self.threw[0],
            self.threw[1] if self.threw[0] != "TypeError" else "",
            self.threw[2],
        )
        return {
            "calls": self.calls,
            "refused": self.refused,
            "given": self.given,
            "undelivered": self.undelivered,
            "rejections": sorted(self.rejections),
            "returned": self.returned,
            "threw": threw,
            "stuck": self.stuck,
        }


async def play(case: Case, runner: Runner) -> Observed:
    """Run the program to its settlement in the world of its case."""
    return await _World(case, runner).run()


class _World:
    """The discrete-event simulation: calls and timers end at their time, ties by number."""

    def __init__(self, case: Case, runner: Runner) -> None:
        self._case = case
        self._runner = runner
        self._seen = Observed()
        self._now = EPOCH_MS
        self._due: list[tuple[int, int, int]] = []  # time, CALL or TIMER, number
        self._cleared: Counter[int] = Counter()
        self._timers: dict[int, int] = {}  # their numbers here, in order of first setting
        self._outcomes: dict[int, tuple[str, Outcome]] = {}
        self._sites: dict[int, str] = {}  # of the calls in flight
        self._asked: Counter[tuple[str, str]] = Counter()

    async def run(self) -> Observed:
        self._take(await self._runner.start(self._case, self._now))
        for _ in range(MAX_EVENTS):
            if self._seen.settled or not self._due:
                break
            self._take(await self._next())
        else:
            raise AssertionError("the program does not terminate:\n" + self._case.source)
        self._seen.stuck = not self._seen.settled
        self._seen.undelivered = sorted(n for _, kind, n in self._due if kind == CALL)
        return self._seen

    async def _next(self) -> tuple[TurnItem, ...]:
        at, kind, number = heapq.heappop(self._due)
        if kind == TIMER and self._cleared[number] > 0:
            self._cleared[number] -= 1
            return ()
        self._now = max(self._now, at)
        if kind == TIMER:
            self._seen.given.append(("timer", self._timers[number]))
            return await self._runner.fire(number, self._now)
        self._seen.given.append(("call", number))
        tool, outcome = self._outcomes[number]
        self._seen.trail.append(Settled(self._sites.pop(number)))
        return await self._runner.deliver(number, tool, outcome, self._now)

    def _take(self, items: tuple[TurnItem, ...]) -> None:
        for item in items:
            if isinstance(item, UnhandledRejection):
                self._seen.rejections.append(item.message)
            elif not self._seen.settled:
                self._take_one(item)
            elif isinstance(item, CallIssued):
                self._seen.refused.append((f"{item.server}:{item.tool}", item.arguments))

    def _take_one(self, item: TurnItem) -> None:
        match item:
            case CallIssued():
                self._issue(item)
            case DecisionMade() | SiteReached():
                self._seen.trail.append(item)
            case TimerSet(timer=timer, delay_ms=delay_ms):
                self._timers.setdefault(timer, len(self._timers))
                heapq.heappush(self._due, (self._now + max(1, int(delay_ms)), TIMER, timer))
            case TimerCleared(timer=timer):
                pending = sum(kind == TIMER and n == timer for _, kind, n in self._due)
                self._cleared[timer] = pending
            case ProgramReturned(value=value):
                self._seen.returned = value
            case ProgramThrew():
                self._seen.threw = (item.name, item.message, item.code)
                # Deno counts lines by U+2028 and U+2029, and twice where it runs the plain source
                separated = "\u2028" in self._case.source or "\u2029" in self._case.source
                self._seen.line = None if separated else item.line
            case UnhandledRejection():
                self._seen.rejections.append(item.message)

    def _issue(self, item: CallIssued) -> None:
        tool = f"{item.server}:{item.tool}"
        nth = self._asked[tool, item.arguments]
        self._asked[tool, item.arguments] += 1
        self._seen.calls.append((tool, item.arguments))
        self._seen.trail.append(item)
        self._sites[item.call] = item.site
        mark = MARK.format(item.call)
        outcome = answer(self._case.seed, tool, item.arguments, nth, mark)
        self._outcomes[item.call] = (tool, outcome)
        latency_ms = 1 + _dice(self._case.seed, "latency", item.call) % 50
        heapq.heappush(self._due, (self._now + latency_ms, CALL, item.call))


def _dice(*parts: object) -> int:
    return zlib.crc32("|".join(map(str, parts)).encode())


def answer(seed: int, tool: str, arguments: JsonText, nth: int, mark: str = "") -> Outcome:
    """The canned answer to the ``nth`` call (from 0) of a tool with the same arguments.

    ``mark`` stands in every text of it that is no word of a fixed set.
    """
    dice = _dice(seed, tool, arguments, nth)
    if dice % 100 < _FAILURE_PERCENT.get(tool, 0):
        data = json.dumps({"retryable": dice % 2 == 0, "dice": dice % 7})
        return Failed(code="tool_error", message=f"{tool} said no ({dice % 5})", data=data)
    return Returned(value=json.dumps(_value(tool, dice, mark), separators=(",", ":")))


_FAILURE_PERCENT = {"api:flaky": 50, "api:fetch": 8, "fs:write": 8, "api:broken": 100}
_WORDS = ("alpha", "beta", "größe", "δέλτα", "e\N{COMBINING ACUTE ACCENT}t", "\N{ROCKET}", "")


def _word(dice: int, mark: str) -> str:
    word = _WORDS[dice % 7]
    return word and word + mark


def _row(dice: int, mark: str) -> dict[str, Any]:
    tags = [_word(dice + k, mark) for k in range(dice % 3)]
    return {"id": dice % 9, "name": _word(dice, mark), "tags": tags, "ok": dice % 2 == 0}


def _value(tool: str, dice: int, mark: str) -> Any:  # noqa: ANN401  # JSON
    """By tool: the kinds of result that programs meet, empty ones among them."""
    rows = [_row(dice // (k + 1), mark) for k in range(dice % 4)]
    values = {
        "fs:stat": {"exists": dice % 2 == 0, "encoding": "utf-8" + mark, "size": dice % 5},
        "fs:read": f"{_word(dice, mark)} {dice % 100}\nline two",
        "fs:list": [f"{_WORDS[(dice + k) % 6]}{mark}.txt" for k in range(dice % 4)],
        "fs:write": {"ok": True, "bytes": dice % 50},
        "kv:set": {"ok": True},
        "kv:get": [None, "", 0, False, "value" + mark, {"deep": {"n": dice % 3}}][dice % 6],
        "db:count": dice % 4,
        "db:query": {"rows": rows, "next": dice % 3 if dice % 2 else None},
    }
    status = ("open", "closed", "merged", "draft")[dice % 4]
    return values.get(tool, {"status": status, "body": {"items": rows, "total": len(rows)}})
