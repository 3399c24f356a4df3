"""A run, its states, and its log (design, section 5, rules 3, 6, 7 and 15)."""

from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

from pml.domain.capability import CAPABILITY_SERVER, Literals
from pml.domain.permissions import Effect
from pml.domain.record import Count, Duration, JsonText, Ordinal, Record


class RunState(StrEnum):
    """Where a run stands."""

    RUNNING = "running"
    PAUSED = "paused"
    APPROVAL_REQUIRED = "approval_required"
    IN_DOUBT = "in_doubt"
    INTERRUPTED = "interrupted"
    SUCCESS = "success"
    ERROR = "error"
    CANCELLED = "cancelled"
    ABORTED = "aborted"
    EXPIRED = "expired"
    DIVERGED = "diverged"

    @property
    def final(self) -> bool:
        """Whether nothing follows; the log of a run that is not final is exact and kept."""
        return not NEXT_STATES[self]

    @property
    def waits(self) -> bool:
        """Whether it goes on when somebody says so; until then nobody needs to run it."""
        return not self.final and self is not RunState.RUNNING


_ENDS = frozenset({RunState.CANCELLED, RunState.ABORTED, RunState.EXPIRED})
_WAITS = frozenset({RunState.RUNNING, *_ENDS})
NEXT_STATES: "MappingProxyType[RunState, frozenset[RunState]]" = MappingProxyType(
    {
        RunState.RUNNING: frozenset(RunState) - {RunState.RUNNING},
        RunState.PAUSED: _WAITS,
        RunState.APPROVAL_REQUIRED: _WAITS,
        RunState.IN_DOUBT: _WAITS,
        RunState.INTERRUPTED: _WAITS | {RunState.IN_DOUBT},
        **{
            end: frozenset[RunState]()
            for end in (RunState.SUCCESS, RunState.ERROR, RunState.DIVERGED, *_ENDS)
        },
    }
)
"""The states that may follow each state; a final state has none."""

UNKNOWN_SITE = "?"
"""Site of a call that arrived without one: a hole in the analysis."""


class Run(Record, frozen=True, kw_only=True):
    """One execution of a program; ``id`` is the ``workflowId`` that agents see."""

    id: str
    user_id: str = "local"
    intent: str
    state: RunState
    source_hash: str
    """SHA-256 of the source as sent."""
    owner: str
    """Which process runs it: says after a crash whether anyone still does."""
    created_at_ms: int
    updated_at_ms: int
    timeout_ms: int
    capability_id: str | None = None
    """What it runs; None where nothing is kept of the procedure."""
    parent_run_id: str | None = None
    """The run whose code called this one as a capability (EX-10)."""
    replaces_run_id: str | None = None
    """The run that this one was replanned from; its code sees that one's results as ``context``
    (design, section 5, rule 11)."""
    epoch: Count = 0
    """Fencing token: grows whenever a process takes the run over, and what an earlier owner
    still writes is refused."""
    started_at_ms: Count | None = None
    """What the program's clock showed when it began; None: it has not begun."""
    per_layer: bool = False
    """Whether it pauses before each frontier but the first (EX-5)."""
    dry_run: bool = False
    """Whether side-effecting tools answer with mocks (EX-6)."""
    expires_at_ms: Count | None = None
    """Of a run that waits for somebody: when nobody needs to answer any more."""
    reason: str = ""
    """Why the run is in this state, for people; empty where the state says it all."""


class RunProgram(Record, frozen=True, kw_only=True):
    """What replay needs besides the log; stored encrypted with the run."""

    source: str
    instrumented: str
    structure: JsonText
    arguments: dict[str, JsonText]
    """What the program sees as ``args``."""
    seed: int
    lifted: dict[str, JsonText] = {}  # noqa: RUF012
    """Values in place of lifted literals, by parameter; the literal holds where there is none."""
    defaults: dict[str, JsonText] = {}  # noqa: RUF012
    """The lifted literals as the code says them, by parameter."""
    literals: Literals | None = None
    """What the intent stands for from now on; None: what it stood for before."""
    mocks: dict[str, JsonText] = {}  # noqa: RUF012
    """Of a dry run: what tools answer, by tool id or pattern."""


class Returned(Record, frozen=True, kw_only=True, tag="returned"):
    """The server answered; ``value`` is what the code sees."""

    value: JsonText
    mocked: bool = False
    """No server was asked: the run is dry, and this is a mock (EX-6)."""


class Failed(Record, frozen=True, kw_only=True, tag="failed"):
    """The call fails in the code as `ToolError`."""

    code: str
    """``tool_error``, ``unknown_tool``, ``not_permitted``, ``unavailable``, ``timeout``..."""
    message: str
    data: JsonText | None = None


Outcome: TypeAlias = Returned | Failed


class _LogRecord(Record, frozen=True, kw_only=True, tag_field="kind"):
    seq: Count
    """Position in the run's log, from 0, without gaps."""
    at_ms: Count
    """Unix time; what the code's clock shows after the record."""


class Issued(_LogRecord, frozen=True, kw_only=True, tag="issued"):
    """The code called a tool."""

    call: Count
    """Number of the call in the run, from 0."""
    site: str
    occurrence: Ordinal
    """How often the site was called before in this run, plus 1."""
    tool: str
    arguments: JsonText
    effect: Effect

    @property
    def task_id(self) -> str:
        """``n3`` for the first call at site ``n3``, then ``n3_2``, ... (rule 10)."""
        return self.site if self.occurrence == 1 else f"{self.site}_{self.occurrence}"

    @property
    def of_capability(self) -> bool:
        """Whether it calls a capability: then a run of its own answers (EX-10)."""
        return self.tool.startswith(f"{CAPABILITY_SERVER}:")


class Attempted(_LogRecord, frozen=True, kw_only=True, tag="attempted"):
    """The intent of one request to the server; of a write, committed before it is sent."""

    call: Count
    attempt: Ordinal


class Delivered(_LogRecord, frozen=True, kw_only=True, tag="delivered"):
    """The outcome of a call was handed to the code."""

    call: Count
    outcome: Outcome
    duration_ms: Duration = 0.0
    """From the last attempt to its answer; 0 for a call that was never attempted."""


class Undelivered(_LogRecord, frozen=True, kw_only=True, tag="undelivered"):
    """The outcome of a call came when the code could not take it.

    Either the program had settled (the loser of a race), or the run was frozen; in the
    second case a resumed run delivers it without calling again.
    """

    call: Count
    outcome: Outcome
    duration_ms: Duration = 0.0


class TimerFired(_LogRecord, frozen=True, kw_only=True, tag="timer_fired"):
    """A timer of the code fired."""

    timer: Count


class Decided(_LogRecord, frozen=True, kw_only=True, tag="decided"):
    """A branch was taken."""

    site: str
    outcome: str


class Reached(_LogRecord, frozen=True, kw_only=True, tag="reached"):
    """Control came to a fork or a loop."""

    site: str


class Checkpoint(_LogRecord, frozen=True, kw_only=True, tag="checkpoint"):
    """The run paused before a frontier: the calls that are open here wait (rule 9)."""

    checkpoint_id: str
    """Server-made and random; who continues names it."""
    layer: Ordinal
    """Number of the frontier that is held; the first one, 0, is never held."""


class Continued(_LogRecord, frozen=True, kw_only=True, tag="continued"):
    """Somebody let the held calls go."""

    checkpoint_id: str


class RetryAllowed(_LogRecord, frozen=True, kw_only=True, tag="retry_allowed"):
    """The last attempt of a write does not count: the call may be attempted once more.

    Somebody decided so of a write whose outcome nobody knows, or the request was never sent.
    """

    call: Count


class Settled(_LogRecord, frozen=True, kw_only=True, tag="settled"):
    """The program returned or threw; calls issued after this are refused."""

    outcome: Outcome


LogRecord: TypeAlias = (
    Issued
    | Attempted
    | Delivered
    | Undelivered
    | TimerFired
    | Decided
    | Reached
    | Checkpoint
    | Continued
    | RetryAllowed
    | Settled
)
"""Replay compares what the code did and feeds `Delivered` and `TimerFired` (rule 3)."""

IDLE_RECORDS = (Attempted, RetryAllowed)
"""What a run leaves in its log that gets no further, however often it is resumed."""
