"""How a run can end, and what is said of it.  Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.log_rules import CallState
from pml.domain.permissions import Permission
from pml.domain.record import JsonText
from pml.domain.response import ExecuteError, ExecuteResponse
from pml.domain.run import (
    Checkpoint,
    Delivered,
    Failed,
    Issued,
    Outcome,
    Returned,
    RunState,
    Settled,
    Undelivered,
)
from pml.errors import DivergedError, SandboxDiedError, SandboxError, StoreError
from pml.runtime.calls import Unknown
from pml.runtime.sandbox import protocol

WAITS = frozenset({RunState.PAUSED, RunState.APPROVAL_REQUIRED, RunState.IN_DOUBT})
"""States in which somebody has to answer."""
STORE_UNAVAILABLE = "store_unavailable"
"""Code of the error where the database was lost."""
NOT_CLOSED = "not_closed"
"""Code of the error where PML itself failed to write down how a run ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How the run stands when the broker lets go of it."""

    state: RunState
    result: JsonText | None = None
    error: ExecuteError | None = None
    approvals: tuple[Permission, ...] = ()
    """What somebody has to agree to, of a run that waits for approval."""
    calls: tuple[Issued, ...] = ()
    """The calls that wait: for approval exactly those that nobody agreed to, of a pause all
    that are held."""
    checkpoint: Checkpoint | None = None
    """Of a pause; its ``layer`` is the number of the frontier that is held."""
    layer_calls: tuple[CallState, ...] = ()
    """Of a pause: the calls that came to their outcome since the last one."""
    children: tuple[tuple[int, ExecuteResponse], ...] = ()
    """Runs of capabilities that wait, by the number of the call that they answer."""

    def outweighs(self, other: "Ending") -> bool:
        """Whether it says all that the other says, and more."""
        asks = self.state is other.state is RunState.APPROVAL_REQUIRED
        return asks and set(other.calls) < set(self.calls)


def needs_sandbox(ledger: Ledger) -> bool:
    """Whether a run with this log can go on only in a sandbox."""
    return ledger.settled is None and waits(ledger) is None


def waits(ledger: Ledger) -> Ending | None:
    """How a run stands whose log says that somebody has to answer before it goes on."""
    if ledger.pending is not None:
        return paused(ledger)
    if ledger.in_doubt:
        return in_doubt(ledger)
    return None


def paused(ledger: Ledger) -> Ending:
    """How a run stands that waits at its pending checkpoint."""
    assert ledger.pending is not None
    return Ending(
        state=RunState.PAUSED,
        checkpoint=ledger.pending,
        calls=tuple(call.issued for call in ledger.open_calls),
        layer_calls=_since_last_pause(ledger),
    )


def _since_last_pause(ledger: Ledger) -> tuple[CallState, ...]:
    """Calls that came to their outcome since, in order of issue."""
    found: set[int] = set()
    for record in reversed(ledger.records[:-1]):
        if isinstance(record, Checkpoint):
            break
        if isinstance(record, Delivered | Undelivered):
            found.add(record.call)
    return tuple(ledger.calls[number] for number in sorted(found))


def in_doubt(ledger: Ledger, why: Unknown | str = "") -> Ending:
    """How a run stands that left a write behind whose outcome is unknown."""
    if isinstance(why, str):
        why = Unknown(ledger.in_doubt[0].issued.call, why)
    return Ending(state=RunState.IN_DOUBT, error=doubt_error(ledger, why))


def failed(error: ExecuteError) -> Ending:
    """How a run ends that was stopped for good."""
    return Ending(state=RunState.ERROR, error=error)


def approval_required(
    uncovered: Mapping[Issued, Permission], before: Ending | None = None
) -> Ending:
    """How a run stands whose calls nobody agreed to, together with what was asked before."""
    asked = before.calls if before is not None else ()
    permissions = {each.tool: each for each in before.approvals} if before is not None else {}
    permissions |= {each.tool: each for each in uncovered.values()}
    return Ending(
        state=RunState.APPROVAL_REQUIRED,
        calls=(*asked, *uncovered),
        approvals=tuple(permissions.values()),
    )


def ending_of(settled: Settled) -> Ending:
    """How a run ends whose program has settled."""
    match settled.outcome:
        case Returned(value=value):
            return Ending(state=RunState.SUCCESS, result=value)
        case Failed(code=code, message=message, data=data):
            where = msgspec.json.decode(data or "{}", type=_Where)
            error = ExecuteError(
                code=code,
                message=message,
                line=where.line,
                data={"tool": where.tool} if where.tool else None,
            )
            return Ending(state=RunState.ERROR, error=error)


class _Where(msgspec.Struct, omit_defaults=True):
    """What the log keeps of the place at which a program threw."""

    line: int | None = None
    tool: str | None = None


def diverged(error: DivergedError) -> Ending:
    """The program took another way than its log; nothing was called."""
    data = {"record": error.seq, "expected": error.expected, "found": error.found}
    return Ending(
        state=RunState.DIVERGED,
        error=ExecuteError(code="diverged", message=str(error), data=data),
    )


def sandbox_lost(error: SandboxError) -> Ending:
    """The sandbox broke; one that was killed from outside leaves the run to be resumed."""
    killed = isinstance(error, SandboxDiedError) and error.reason == protocol.SandboxEnd.KILLED
    return Ending(
        state=RunState.INTERRUPTED if killed else RunState.ERROR,
        error=ExecuteError(code="sandbox", message=str(error)),
    )


def reason_of(ending: Ending) -> str:
    """Why the run stands as it does, in words; empty where the state says it all."""
    return ending.error.message if ending.error else ""


def store_lost(error: StoreError, ledger: Ledger) -> Ending:
    """The log could not be written: nothing more was sent, and the run can be resumed."""
    message = (
        f"{error}. The run was stopped. Once the database is back, a server may go on with it by "
        "itself: ask how it stands (pml_continue, `pml runs`), and do not send it again, or what "
        "it does is done twice"
    )
    return Ending(
        state=RunState.IN_DOUBT if ledger.in_doubt else RunState.INTERRUPTED,
        error=ExecuteError(code=STORE_UNAVAILABLE, message=message),
    )


def settlement(item: protocol.ProgramReturned | protocol.ProgramThrew, limits: Limits) -> Outcome:
    """What the program's own end means for the log."""
    if isinstance(item, protocol.ProgramThrew):
        message = f"{item.name}: {item.message}" if item.name else item.message
        where = msgspec.json.encode(_Where(line=item.line, tool=item.tool)).decode()
        return Failed(
            code=item.code or "program_error",
            message=_shortened(message, limits),
            data=None if where == "{}" else where,
        )
    size = len(item.value.encode())
    if size > limits.result_bytes:
        return Failed(
            code="too_large",
            message=f"the program's result is {size} bytes, the limit is {limits.result_bytes} "
            "(result_bytes): return a summary, or write the data with a tool",
        )
    return Returned(value=item.value)


def within(outcome: Outcome, limits: Limits) -> Outcome:
    """The outcome of a call, or that it is too large."""
    size = len(outcome.value.encode()) if isinstance(outcome, Returned) else 0
    if size <= limits.result_bytes:
        return outcome
    return Failed(
        code="too_large",
        message=f"the result is {size} bytes, the limit is {limits.result_bytes} (result_bytes): "
        "ask the tool for less",
    )


def _shortened(message: str, limits: Limits) -> str:
    rest = len(message) - limits.message_chars
    return f"{message[: limits.message_chars]}... ({rest} more characters)" if rest > 0 else message


def deadline_error(ledger: Ledger, timeout_ms: int) -> ExecuteError:
    """The run was still going when its time was up."""
    waiting = [call.issued.task_id for call in ledger.open_calls]
    where = (
        f"while waiting for {', '.join(waiting)}"
        if waiting
        else "while it computed, or waited for something that never happens"
    )
    return ExecuteError(
        code="timeout",
        message=f"the program was stopped after {timeout_ms} ms {where}: "
        "raise options.timeout, or do less in one run",
    )


def not_replayed(timeout_ms: int) -> Ending:
    """The log was not used up in time; the program has not got any further, so nothing is lost."""
    message = (
        f"the run could not be replayed within {timeout_ms} ms, more than it may take as a whole: "
        "the machine is busier than it was; continue the run later"
    )
    error = ExecuteError(code="interrupted", message=message)
    return Ending(state=RunState.INTERRUPTED, error=error)


def doubt_error(ledger: Ledger, unknown: Unknown) -> ExecuteError:
    """A write was sent and no answer came."""
    issued = ledger.calls[unknown.call].issued
    why = f" ({unknown.reason})" if unknown.reason else ""
    return ExecuteError(
        code="in_doubt",
        message=f"{issued.task_id} ({issued.tool}) was sent and no answer came{why}: whether "
        "it took effect is unknown, so it is not repeated. Check its effect, then continue the "
        "run and say for it: retry, result or skip",
    )


def limit_error(limits: Limits, name: str) -> ExecuteError:
    """The program is too busy for one run; ``name`` is the limit that it passed."""
    what = {
        "calls_per_run": "made more than {} calls",
        "timers_per_run": "had more than {} timers set at the same time",
        "records_per_run": "left more than {} records in the log",
        "results_bytes_per_run": "called tools that returned more than {} bytes together",
    }[name].format(getattr(limits, name))
    return ExecuteError(
        code="limit", message=f"the program {what} ({name}): split it into several runs"
    )


def internal_error(error: Exception, ledger: Ledger) -> Ending:
    """Something happened that PML does not know; what it was is in PML's log."""
    message = f"{_failed_itself(error)}. The run was stopped"
    return Ending(
        state=RunState.IN_DOUBT if ledger.in_doubt else RunState.ERROR,
        error=ExecuteError(code="internal", message=message),
    )


def not_closed(error: Exception, ledger: Ledger) -> Ending:
    """The run was stopped, and PML failed to write that down: it can be resumed."""
    message = (
        f"{_failed_itself(error)}. The run was stopped, and that could not be written down: a "
        "server may go on with it by itself, so ask how it stands (pml_continue, `pml runs`) and "
        "abort it if need be; do not send it again, or what it does is done twice"
    )
    return Ending(
        state=RunState.IN_DOUBT if ledger.in_doubt else RunState.INTERRUPTED,
        error=ExecuteError(code=NOT_CLOSED, message=message),
    )


def _failed_itself(error: Exception) -> str:
    return f"PML itself failed ({type(error).__name__}): its log on stderr says where"
