"""Association of nodes: how much closer than chance what is used together belongs together."""

from collections.abc import Sequence
from heapq import nlargest
from itertools import combinations

from pml.features.cooccurrence import Cooccurrence

MOST = 20
"""Partners of a tool, and tools of a capability, that are looked at."""


def tool_association(together: Cooccurrence, tool: str) -> float:
    """Mean `Cooccurrence.npmi` with its most frequent partners; 0 without any.

    High for a tool that always has the same company, low for one that goes with everything.
    """
    partners = together.partners(tool)
    most = nlargest(MOST, partners, key=lambda other: (partners[other], other))
    return _mean([together.npmi(tool, other) for other in most])


def capability_association(together: Cooccurrence, tools: Sequence[str]) -> float:
    """Mean over the pairs of its tools; 0 with fewer than two."""
    return _mean([together.npmi(a, b) for a, b in combinations(sorted(tools)[:MOST], 2)])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
