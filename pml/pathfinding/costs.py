"""What a hyperedge costs: anything that adds up and that is better when it is less (LE-6).

The default counts in *nats*: minus the natural logarithm of the chance that a step works.  Costs
add up where chances multiply, so the cheapest path is the one most likely to work if steps fail
independently.  Time is converted at a rate.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pml.domain.capability import NewCapability
from pml.domain.provides import ProvidesEdge
from pml.domain.tools import Tool

_LEAST_CHANCE = 1e-6
"""What never worked may work: weights are finite."""


class Cost(Protocol):
    """Weights of hyperedges, finite and not negative, in a unit of its own."""

    def of_call(self, tool: Tool, flows: Sequence[ProvidesEdge]) -> float:
        """Of calling a tool with what flows into it; no flows where the caller gives all.

        Flows map the required inputs that the caller cannot give, and no others.
        """

    def of_capability(self, capability: NewCapability) -> float:
        """Of having a capability when all its members are reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCost:
    """Nats: ``-log(reliability) - sum(log(coverage)) + duration_s * nats_per_s``.

    Coverage is, for each field that flows in, the score of its best mapping.  Scores are no
    calibrated probabilities; they order providers.
    """

    reliability: Mapping[str, float] = field(default_factory=dict)
    """Chance that a call works, by tool; from 0 to 1."""
    duration_ms: Mapping[str, float] = field(default_factory=dict)
    """Of a call, by tool; none is counted where it is not known."""
    unknown: float = 0.9
    """Chance that a call of an unknown tool works, so that fewer calls are better."""
    nats_per_s: float = 0.01
    """Ten seconds count as much as a tenth of the chance."""

    def of_call(self, tool: Tool, flows: Sequence[ProvidesEdge]) -> float:
        """See the class; of two providers of a field, the better mapping counts."""
        scores: dict[str, float] = {}
        for flow in flows:
            for mapping in flow.field_mapping:
                scores[mapping.to_field] = max(mapping.score, scores.get(mapping.to_field, 0.0))
        seconds = self.duration_ms.get(tool.id, 0.0) / 1000
        return (
            nats(self.reliability.get(tool.id, self.unknown))
            + sum(map(nats, scores.values()))
            + seconds * self.nats_per_s
        )

    def of_capability(self, capability: NewCapability) -> float:  # noqa: ARG002  # of the protocol
        """0: its members are paid for."""
        return 0.0


def nats(chance: float) -> float:
    """Minus the natural logarithm of a chance; finite for 0, and 0 for 1.

    Raises:
        ValueError: it is not between 0 and 1.
    """
    if not 0 <= chance <= 1:
        msg = f"a chance is from 0 to 1, not {chance}"
        raise ValueError(msg)
    return -math.log(max(chance, _LEAST_CHANCE)) + 0.0
