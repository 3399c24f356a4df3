"""How much past intents count when rankings are fused, where each way to describe counts 1.

Past intents tell more of tools than descriptions do, if they are like what is asked; strangers
among them tell less.  Chosen on training intents (docs/explanation/discovery.md).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

VOTES_FOR_TOOLS = 2.0
"""What votes weigh, relative to all descriptions together, where the intent itself is past."""


def weight_of_votes(
    votes: NDArray[np.float64], described: Sequence[NDArray[np.float64]], kind: str
) -> float:
    """The weight of the ranking by past intents.

    Args:
        votes: By entry, squared cosines of past intents.
        described: How well each description fits, by entry; what names nothing does not count.
        kind: What is ranked.  A capability's texts and vectors are past intents too, so votes
            count as one of them; among tools and capabilities together as all of them; among
            tools up to twice that, with the cosine of the nearest past intents.
    """
    if kind == "capability":
        return 1.0
    describing = max(sum(bool(scores.any()) for scores in described), 1)
    if kind == "all":
        return float(describing)
    likeness = min(float(np.sqrt(votes.max(initial=0.0))), 1.0)
    return VOTES_FOR_TOOLS * likeness * describing
