"""What happens in a run, as it happens (EX-9).  Values are sanitised and shortened."""

from typing import Any, TypeAlias

from pml.domain.record import Count, Duration, Record
from pml.domain.run import RunState


class _Event(Record, frozen=True, kw_only=True, tag_field="type"):
    run_id: str
    at_ms: Count


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
    duration_ms: Duration
    result: Any = None
    error: str | None = None


class CapabilityStart(_Event, frozen=True, kw_only=True, tag="capability_start"):
    """A capability that the code calls begins; its calls come as events of its own run."""

    task_id: str
    capability_id: str
    child_run_id: str


class CapabilityEnd(_Event, frozen=True, kw_only=True, tag="capability_end"):
    """A capability that the code called ended."""

    task_id: str
    capability_id: str
    success: bool
    duration_ms: Duration
    result: Any = None
    error: str | None = None


class DecisionTaken(_Event, frozen=True, kw_only=True, tag="decision"):
    """A branch was taken."""

    node_id: str
    outcome: str


class ApprovalRequired(_Event, frozen=True, kw_only=True, tag="approval_required"):
    """A person has to agree before the run goes on."""

    tools: tuple[str, ...]


class LayerComplete(_Event, frozen=True, kw_only=True, tag="layer_complete"):
    """A layer is done and the next one is held (EX-5)."""

    checkpoint_id: str
    pending_layer: Count
    task_ids: tuple[str, ...]
    """The calls of the layer that is done."""


class DecisionRequired(_Event, frozen=True, kw_only=True, tag="decision_required"):
    """Somebody has to say how a waiting run goes on."""

    checkpoint_id: str | None = None
    options: tuple[str, ...]
    """What may be answered: ``continue``, ``abort``, ``replan``..."""


class RunEnd(_Event, frozen=True, kw_only=True, tag="run_end"):
    """The run ended or waits."""

    state: RunState
    duration_ms: Duration


Event: TypeAlias = (
    RunStarted
    | TaskStart
    | TaskEnd
    | CapabilityStart
    | CapabilityEnd
    | DecisionTaken
    | DecisionRequired
    | LayerComplete
    | ApprovalRequired
    | RunEnd
)
