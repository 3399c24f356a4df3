"""How a run can end, and what is said of it.  Pure."""

from dataclasses import dataclass

from pml.domain.ledger import Ledger
from pml.domain.limits import Limits
from pml.domain.permissions import Permission
from pml.domain.record import JsonText
from pml.domain.response import ExecuteError
from pml.domain.run import Failed, Outcome, Returned, RunState
from pml.errors import StoreError
from pml.runtime.calls import Unknown
from pml.runtime.sandbox import protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How the run stands when the broker lets go of it."""

    state: RunState
    result: JsonText | None = None
    error: ExecuteError | None = None
    approvals: tuple[Permission, ...] = ()


def reason_of(ending: Ending) -> str:
    """Why the run stands as it does, in words; empty where the state says it all."""
    return ending.error.message if ending.error else ""


def store_lost(error: StoreError, ledger: Ledger) -> Ending:
    """The log or the trace could not be written; the next PML process closes the run."""
    message = (
        f"{error}. The run was stopped; once the database is back, `pml runs` says how it was left"
    )
    return Ending(
        state=RunState.IN_DOUBT if ledger.in_doubt else RunState.ERROR,
        error=ExecuteError(code="store_unavailable", message=message),
    )


def settlement(
    item: protocol.ProgramReturned | protocol.ProgramThrew, limits: Limits
) -> tuple[Outcome, Ending]:
    """What the program's own end means for the log and for the run."""
    if isinstance(item, protocol.ProgramThrew):
        message = f"{item.name}: {item.message}" if item.name else item.message
        return _failure(
            item.code or "program_error",
            _shortened(message, limits),
            line=item.line,
            data={"tool": item.tool} if item.tool else None,
        )
    size = len(item.value.encode())
    if size > limits.result_bytes:
        return _failure(
            "too_large",
            f"the program's result is {size} bytes, the limit is {limits.result_bytes}: "
            "return a summary, or write the data with a tool",
        )
    return Returned(value=item.value), Ending(state=RunState.SUCCESS, result=item.value)


def _shortened(message: str, limits: Limits) -> str:
    rest = len(message) - limits.message_chars
    return f"{message[: limits.message_chars]}... ({rest} more characters)" if rest > 0 else message


def _failure(
    code: str, message: str, *, line: int | None = None, data: dict[str, str] | None = None
) -> tuple[Outcome, Ending]:
    error = ExecuteError(code=code, message=message, line=line, data=data)
    return Failed(code=code, message=message), Ending(state=RunState.ERROR, error=error)


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


def doubt_error(ledger: Ledger, unknown: Unknown) -> ExecuteError:
    """A write was sent and no answer came."""
    issued = ledger.calls[unknown.call].issued
    why = f" ({unknown.reason})" if unknown.reason else ""
    return ExecuteError(
        code="in_doubt",
        message=f"{issued.task_id} ({issued.tool}) was sent and no answer came{why}: whether "
        "it took effect is unknown, so it is not repeated. Check its effect yourself",
    )


def limit_error(limits: Limits) -> ExecuteError:
    """The program is too busy for one run."""
    return ExecuteError(
        code="limit",
        message=f"the program made more than {limits.calls_per_run} calls, set more "
        f"than {limits.timers_per_run} timers or left more than {limits.records_per_run} records "
        "in the log: split it into several runs",
    )


def internal_error(error: Exception, ledger: Ledger) -> Ending:
    """Something happened that PML does not know; what it was is in PML's log."""
    message = (
        f"PML itself failed ({type(error).__name__}): its log on stderr says where. "
        "The run was stopped"
    )
    return Ending(
        state=RunState.IN_DOUBT if ledger.in_doubt else RunState.ERROR,
        error=ExecuteError(code="internal", message=message),
    )
