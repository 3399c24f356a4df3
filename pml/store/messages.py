"""What the stores say when they refuse: the same words from both implementations."""

from collections.abc import Sequence

from pml.domain.approval import ApiKey, Approval, ApprovalState
from pml.domain.run import LogRecord
from pml.domain.tools import Tool
from pml.domain.trace import ExecutionTrace
from pml.errors import ApprovalStateError, NotFoundError


def no_run(run_id: str) -> NotFoundError:
    """There is no run of that id."""
    return NotFoundError("run", run_id, "`pml runs` lists the runs that are kept")


def run_exists(run_id: str) -> ValueError:
    """Run ids are made by the server and never used twice."""
    return ValueError(f"there is a run {run_id!r} already")


def no_program(run_id: str) -> NotFoundError:
    """The run ended, and its log and program were deleted."""
    return NotFoundError(
        "program of run", run_id, "it was deleted with the run's log; `pml trace` shows what it did"
    )


def log_gap(run_id: str, records: Sequence[LogRecord]) -> ValueError:
    """The records do not continue the run's log."""
    span = f"{records[0].seq}..{records[-1].seq}"
    return ValueError(f"records {span} do not continue the log of run {run_id!r}")


def no_trace(trace_id: str) -> NotFoundError:
    """There is no trace of that id."""
    return NotFoundError("trace", trace_id, "`pml runs` lists the runs; `pml trace RUN` shows one")


def check_trace(run_id: str, trace: ExecutionTrace) -> None:
    """A run ends with a trace of its own.

    Raises:
        ValueError: the trace is of another run.
    """
    if trace.run_id != run_id:
        message = f"trace {trace.id!r} is of run {trace.run_id!r}, not of {run_id!r}"
        raise ValueError(message)


def no_capability(capability_id: str) -> ValueError:
    """A capability's row exists before its first run (ST-8)."""
    return ValueError(f"there is no capability {capability_id!r}")


def capability_not_found(capability_id: str) -> NotFoundError:
    """There is no capability of that id."""
    return NotFoundError(
        "capability", capability_id, "`pml capabilities` lists those that are kept"
    )


def no_parent(run_id: str) -> ValueError:
    """A run's row exists before its code calls another."""
    return ValueError(f"there is no run {run_id!r} that could call another")


def no_replaced(run_id: str) -> ValueError:
    """A run is replanned from one that there is."""
    return ValueError(f"there is no run {run_id!r} to be replaced")


def check_page(offset: int, limit: int) -> None:
    """Pages start at 0 and are not empty by request.

    Raises:
        ValueError: ``offset`` is negative, or ``limit`` is not positive.
    """
    if offset < 0 or limit <= 0:
        message = f"offset {offset} must be 0 or more, limit {limit} must be more than 0"
        raise ValueError(message)


def no_result(run_id: str, task_id: str, expired_at_ms: int | None) -> NotFoundError:
    """No such result, or not any more."""
    if expired_at_ms is None:
        hint = "no such run, or no such task in it; `pml trace` lists the tasks of a run"
    else:
        hint = "it has expired: results are kept for a limited time; run the program again"
    return NotFoundError("result", f"{run_id}/{task_id}", hint)


def check_pending(approval: Approval) -> None:
    """What is asked waits for an answer.

    Raises:
        ValueError: it has one.
    """
    if approval.state is not ApprovalState.PENDING:
        message = f"approval {approval.id!r} is {approval.state}: expected a pending one"
        raise ValueError(message)


def no_run_to_approve(run_id: str) -> ValueError:
    """Approval is asked for a run that there is."""
    return ValueError(f"there is no run {run_id!r} to be approved")


def approval_exists(approval_id: str) -> ValueError:
    """Ids of approvals are made by the server and never used twice."""
    return ValueError(f"there is an approval {approval_id!r} already")


def no_approval(approval_id: str) -> NotFoundError:
    """There is no request of that id."""
    return NotFoundError("approval", approval_id, "`pml approve` lists those that wait")


def answered(approval: Approval, wanted: ApprovalState) -> Approval:
    """A request that cannot be answered any more, if it was answered so.

    Raises:
        ApprovalStateError: it was answered otherwise, withdrawn, or has expired.
    """
    if approval.state is wanted:
        return approval
    over = approval.state is ApprovalState.PENDING
    raise ApprovalStateError(approval.id, ApprovalState.EXPIRED if over else approval.state)


def grant_exists(grant_id: str) -> ValueError:
    """Ids of grants are never used twice."""
    return ValueError(f"there is a grant {grant_id!r} already")


def no_grant(grant_id: str) -> NotFoundError:
    """There is no grant of that id."""
    return NotFoundError("grant", grant_id, "`pml approve --remembered` lists them")


def key_exists(key: ApiKey) -> ValueError:
    """The id, the name or the key itself is taken."""
    return ValueError(f"there is an API key {key.name!r} (or one of its id) already: revoke it")


def no_key(key_id: str) -> NotFoundError:
    """There is no key of that id."""
    return NotFoundError("API key", key_id)


def check_looked_at(tool: Tool, schema_hash: str) -> None:
    """A tool is accepted as it was looked at.

    Raises:
        ApprovalStateError: its server describes it otherwise again.
    """
    if tool.schema_hash() != schema_hash:
        raise ApprovalStateError(tool.id, "described otherwise again")


def no_tool(tool_id: str) -> NotFoundError:
    """No server lists that tool."""
    return NotFoundError("tool", tool_id, "`pml tools` lists those that there are")


def check_retention(traces_kept: int, trace_age_ms: int) -> None:
    """Bounds of what is kept.

    Raises:
        ValueError: one of them is negative.
    """
    if traces_kept < 0 or trace_age_ms < 0:
        message = f"found {traces_kept} traces and {trace_age_ms} ms: expected 0 or more of both"
        raise ValueError(message)
