"""What sandbox and broker say to each other.  Pure: no I/O, no clock.

A run is a sequence of *turns*.  The broker puts one input into the sandbox (start, an
outcome, a fired timer); the code runs until its microtasks have drained; the sandbox then
answers with one `Turn` that holds everything that the code did meanwhile, in order.  So a
turn also says that the sandbox is idle again, and replaying inputs in order replays the
program (design, section 5, rules 3 and 4).

Everything that comes out of a sandbox is untrusted: decoding is strict, and a frame that
does not decode ends the run.
"""

from enum import StrEnum
from typing import TypeAlias

import msgspec

from pml.domain.record import JsonText, Record
from pml.domain.run import Failed, Issued, Outcome, Returned


class SandboxEnd(StrEnum):
    """Why a sandbox ended before its program did."""

    MEMORY = "memory"
    CPU = "cpu"
    OUTPUT = "output"
    PROTOCOL = "protocol"
    KILLED = "killed"
    EXITED = "exited"


class CallIssued(Record, frozen=True, kw_only=True, tag="issue"):
    """The code called ``mcp[server][tool]``; ``call`` counts from 0 in order of issue."""

    call: int
    site: str
    server: str
    tool: str
    arguments: JsonText


class DecisionMade(Record, frozen=True, kw_only=True, tag="decide"):
    """The branch taken at a decision."""

    site: str
    outcome: str


class SiteReached(Record, frozen=True, kw_only=True, tag="reach"):
    """Control came to a fork or a loop."""

    site: str


class TimerSet(Record, frozen=True, kw_only=True, tag="timer"):
    """``setTimeout`` and its kin; an interval is set again by the sandbox each time it fires."""

    timer: int
    delay_ms: float


class TimerCleared(Record, frozen=True, kw_only=True, tag="clear"):
    """The code no longer wants the timer."""

    timer: int


class ProgramReturned(Record, frozen=True, kw_only=True, tag="return"):
    """The program settled with a value."""

    value: JsonText
    lossy: tuple[str, ...] = ()
    """Paths at which NaN or an infinity became null."""


class ProgramThrew(Record, frozen=True, kw_only=True, tag="throw"):
    """The program settled with an error, or its result was no JSON."""

    name: str
    message: str
    line: int | None = None
    """Line of the submitted source."""
    column: int | None = None
    """Column of the instrumented source: splices before it on the line move it."""
    tool: str | None = None
    code: str | None = None
    """Of a `ToolError` that the code did not catch; ``not_json`` or ``too_large`` of a result."""


class UnhandledRejection(Record, frozen=True, kw_only=True, tag="rejection"):
    """A promise that nobody waits for failed: a warning in the result (rule 1)."""

    message: str


TurnItem: TypeAlias = (
    CallIssued
    | DecisionMade
    | SiteReached
    | TimerSet
    | TimerCleared
    | ProgramReturned
    | ProgramThrew
    | UnhandledRejection
)


class Turn(Record, frozen=True, kw_only=True):
    """What the code did since the last turn."""

    consumed: int
    """How many inputs the sandbox has worked off since it started; ``start`` is the first.

    It is idle when it has worked off all.  A long turn comes in parts, of which only the last
    counts its input; activity that no input caused comes with the count unchanged.
    """
    items: tuple[TurnItem, ...] = ()


class StartInput(Record, frozen=True, kw_only=True, tag="start"):
    """The program; its value arrives as later turns."""

    module: str
    """TypeScript module text whose default export is the program (`pml.runtime.sandbox.module`)."""
    arguments: JsonText
    """One JSON object: the bound parameters; also the code's ``args``."""
    lifted: JsonText = "{}"
    """One JSON object: values in place of lifted literals (SA-9), by parameter."""
    seed: int
    now_ms: int


class DeliverInput(Record, frozen=True, kw_only=True, tag="deliver"):
    """The outcome of a call: a value, or what `ToolError` carries."""

    call: int
    now_ms: int
    value: msgspec.Raw | None = None
    tool: str | None = None
    code: str | None = None
    message: str | None = None
    data: msgspec.Raw | None = None


class FireInput(Record, frozen=True, kw_only=True, tag="fire"):
    """A timer fired."""

    timer: int
    now_ms: int


SandboxInput: TypeAlias = StartInput | DeliverInput | FireInput


def delivery(issued: Issued, outcome: Outcome, now_ms: int) -> DeliverInput:
    """The outcome of a call as the code gets it."""
    match outcome:
        case Returned(value=value):
            return DeliverInput(call=issued.call, now_ms=now_ms, value=msgspec.Raw(value.encode()))
        case Failed(code=code, message=message, data=data):
            return DeliverInput(
                call=issued.call,
                now_ms=now_ms,
                tool=issued.tool,
                code=code,
                message=message,
                data=None if data is None else msgspec.Raw(data.encode()),
            )
