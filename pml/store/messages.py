"""What the stores say when they refuse: the same words from both implementations."""

from collections.abc import Sequence

from pml.domain.run import LogRecord
from pml.domain.trace import ExecutionTrace
from pml.errors import NotFoundError


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
