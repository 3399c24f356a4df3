"""What happens in a run, as it happens (EX-9).  Values are sanitised and shortened."""

from typing import Any, TypeAlias

from pml.domain.record import Record


class _Event(Record, frozen=True, kw_only=True, tag_field="type"):
    run_id: str
    at_ms: int


class RunStarted(_Event, frozen=True, kw_only=True, tag="run_started"):
    """The sandbox has the program."""

    intent: str


class TaskStart(_Event, frozen=True, kw_only=True, tag="task_start"):
    """A call goes to its server."""

    task_id: str
    tool: str


class TaskEnd(_Event, frozen=True, kw_only=True, tag="task_end"):
    """A call came back."""

    task_id: str
    tool: str
    success: bool
    duration_ms: float
    result: Any = None
    error: str | None = None


class DecisionTaken(_Event, frozen=True, kw_only=True, tag="decision"):
    """A branch was taken."""

    node_id: str
    outcome: str


class ApprovalRequired(_Event, frozen=True, kw_only=True, tag="approval_required"):
    """A person has to agree before the run goes on."""

    tools: tuple[str, ...]


class RunEnd(_Event, frozen=True, kw_only=True, tag="run_end"):
    """The run ended or waits."""

    state: str
    duration_ms: float


Event: TypeAlias = RunStarted | TaskStart | TaskEnd | DecisionTaken | ApprovalRequired | RunEnd
