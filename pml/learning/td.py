"""What a trace adds to a capability's statistics (LE-2).

TD(0) with a reward at the end of the run only: the value of a path, and of each way that a
decision went, moves a tenth of the way towards the outcome, so that what happened lately
counts more than what happened long ago.

Reference: R. Sutton, A. Barto, "Reinforcement Learning: An Introduction", 2nd edition 2018,
section 6.1; one state per path, gamma = 0.  Starting values: design, section 5, rule 10.

Where we differ from the seed (story 11.3): a decision that a loop reaches a thousand times
with one outcome counts once per run, as its node does in the executed path.  The run is one
observation; a thousand updates by it would only say that its outcome was seen.
"""

import msgspec

from pml.domain.capability import DecisionStatistics, Learning, OutcomeStatistics, PathStatistics
from pml.domain.structure import Decision, StaticStructure
from pml.domain.trace import BranchDecision, ExecutionTrace
from pml.learning.priority import path_statistics

ALPHA = 0.1
"""Learning rate."""
START_RATE = 0.5
"""Success rate before the first outcome: nothing is known."""
DOMINANT_COUNT = 3
"""Traces of a path before it may dominate."""
MOST_PATHS = 100
"""Paths kept.  A program with n branches has up to 2^n, and all are rewritten with each trace;
past the bound the least seen of them, the earliest first, makes room."""


def learned(learning: Learning, trace: ExecutionTrace, structure: StaticStructure) -> Learning:
    """The statistics after the trace; decisions are described as ``structure`` has them."""
    paths = _with_path(learning, trace)
    return Learning(
        paths=paths,
        decision_stats=_with_decisions(learning, trace, structure),
        dominant_path=_dominant(paths),
    )


def moved(value: float, target: float) -> float:
    """One step of TD(0)."""
    return value + ALPHA * (target - value)


def _with_path(learning: Learning, trace: ExecutionTrace) -> tuple[PathStatistics, ...]:
    old = path_statistics(learning, trace.executed_path)
    if old is None:
        new = PathStatistics(
            path=trace.executed_path,
            count=1,
            success_rate=moved(START_RATE, float(trace.success)),
            avg_duration_ms=trace.duration_ms,
        )
        return (*_with_room(learning.paths), new)
    new = PathStatistics(
        path=old.path,
        count=old.count + 1,
        success_rate=moved(old.success_rate, float(trace.success)),
        avg_duration_ms=moved(old.avg_duration_ms, trace.duration_ms),
    )
    return tuple(new if path is old else path for path in learning.paths)


def _with_room(paths: tuple[PathStatistics, ...]) -> tuple[PathStatistics, ...]:
    if len(paths) < MOST_PATHS:
        return paths
    least = min(paths, key=lambda path: path.count)
    return tuple(path for path in paths if path is not least)


def _dominant(paths: tuple[PathStatistics, ...]) -> tuple[str, ...]:
    """The path with the most expected successes; of equals the one seen first."""
    often = [path for path in paths if path.count >= DOMINANT_COUNT]
    best = max(often, key=lambda path: path.success_rate * path.count, default=paths[0])
    return best.path


def _with_decisions(
    learning: Learning, trace: ExecutionTrace, structure: StaticStructure
) -> tuple[DecisionStatistics, ...]:
    conditions = {node.id: node.condition for node in structure.nodes if isinstance(node, Decision)}
    known = {decision.node_id: decision for decision in learning.decision_stats}
    for taken in _each_once(trace.decisions):
        stats = known.get(taken.node_id) or DecisionStatistics(
            node_id=taken.node_id, condition=conditions.get(taken.node_id, "")
        )
        outcome = _with_outcome(stats.outcomes.get(taken.outcome), success=trace.success)
        known[taken.node_id] = msgspec.structs.replace(
            stats, outcomes=stats.outcomes | {taken.outcome: outcome}
        )
    return tuple(known.values())


def _each_once(decisions: tuple[BranchDecision, ...]) -> dict[BranchDecision, None]:
    return dict.fromkeys(decisions)


def _with_outcome(old: OutcomeStatistics | None, *, success: bool) -> OutcomeStatistics:
    count, rate = (0, START_RATE) if old is None else (old.count, old.success_rate)
    return OutcomeStatistics(count=count + 1, success_rate=moved(rate, float(success)))
