"""How much there is to learn from a trace (LE-1): as much as it surprises.

A path never taken is all surprise; a known one surprises by how far the outcome is from its
predicted success rate, and a little more when the run took unusually long or short.

Reference: T. Schaul, J. Quan, I. Antonoglou, D. Silver, "Prioritized Experience Replay",
ICLR 2016, arXiv:1511.05952, section 3.3: the size of the TD error is the priority.  The
share for the duration is ours (seed, story 11.3).
"""

from pml.domain.capability import Learning, PathStatistics
from pml.domain.trace import ExecutionTrace

NEW_PATH = 1.0
UNUSUAL_DURATION = 0.2
"""What an unusual duration adds."""
USUAL_DEVIATION = 0.5
"""Of the mean duration; more is unusual."""


def priority(learning: Learning, trace: ExecutionTrace) -> float:
    """Between 0 and 1, against what was learned *before* the trace."""
    known = path_statistics(learning, trace.executed_path)
    if known is None:
        return NEW_PATH
    surprise = abs(known.success_rate - float(trace.success))
    deviation = abs(trace.duration_ms - known.avg_duration_ms)
    if deviation > USUAL_DEVIATION * known.avg_duration_ms:
        surprise = min(1.0, surprise + UNUSUAL_DURATION)
    return surprise


def path_statistics(learning: Learning, path: tuple[str, ...]) -> PathStatistics | None:
    """What is known of the path; None before its first trace."""
    return next((known for known in learning.paths if known.path == path), None)
