"""A trace: what a run did.  Immutable, sanitised (ST-5), the input of all learning."""

from enum import StrEnum
from typing import Any

from pml.domain.record import Count, Duration, Record
from pml.domain.run import RunState


class BranchDecision(Record, frozen=True, kw_only=True):
    """The outcome at a decision, each time it was reached, in order."""

    node_id: str
    outcome: str


class TaskResult(Record, frozen=True, kw_only=True):
    """One call: ``n3`` is the first at site ``n3``, ``n3_2`` the second."""

    task_id: str
    node_id: str
    tool: str
    args: Any
    result: Any = None
    success: bool
    error: str | None = None
    error_code: str | None = None
    started_at_ms: Count
    duration_ms: Duration
    attempts: Count
    delivered: bool
    """False for a call whose result the code did not wait for, or that is in doubt."""
    mocked: bool = False
    """The result is a mock: no server was asked (EX-6)."""


class ExecutionTrace(Record, frozen=True, kw_only=True):
    """One run, projected from its log."""

    id: str
    run_id: str
    user_id: str = "local"
    capability_id: str | None = None
    parent_trace_id: str | None = None
    intent_text: str
    initial_context: dict[str, Any] = {}  # noqa: RUF012
    executed_at_ms: Count
    success: bool
    state: RunState
    """State of the run when the trace was written."""
    duration_ms: Duration
    error_message: str | None = None
    executed_path: tuple[str, ...]
    """Each reached node once, in structure order, decisions included (rule 10)."""
    decisions: tuple[BranchDecision, ...]
    task_results: tuple[TaskResult, ...]
    priority: float = 1.0
    exploratory: bool = False
    dry_run: bool = False


class DependencyType(StrEnum):
    """Kinds of edge between tools (ST-3)."""

    DEPENDENCY = "dependency"
    CONTAINS = "contains"
    PROVIDES = "provides"
    SEQUENCE = "sequence"
    CO_OCCURRENCE = "co_occurrence"

    @property
    def weight(self) -> float:
        """How strongly the edge ties its ends."""
        return _WEIGHTS[self]


_WEIGHTS = {
    DependencyType.DEPENDENCY: 1.0,
    DependencyType.CONTAINS: 0.8,
    DependencyType.PROVIDES: 0.7,
    DependencyType.SEQUENCE: 0.5,
    DependencyType.CO_OCCURRENCE: 0.4,
}


class ToolDependency(Record, frozen=True, kw_only=True):
    """An edge between two tools, observed or inferred.

    Invariant: co-occurrence is undirected, so it is stored once, ends in alphabetical order.
    """

    source: str
    target: str
    type: DependencyType
    edge_source: str
    """``template``, ``inferred`` or ``observed``."""
    weight: float
    count: int = 1
