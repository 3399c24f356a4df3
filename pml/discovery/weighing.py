"""How much past intents count when rankings are fused, where each way to describe counts 1.

Past intents tell more of tools than descriptions do, if they are like what is asked; strangers
among them tell less, and of tools that they could not have used they tell nothing.  Chosen on
training intents (docs/explanation/discovery.md).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pml.discovery.newness import NewTools

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


def presumed_votes(
    tools: NewTools, described: Sequence[NDArray[np.float64]], cosine: float
) -> NDArray[np.float64]:
    """By entry, what new tools are presumed to get of votes that do not name them; 1 is all.

    Where votes leave a doubt, a new tool's chance is that of its description against the
    best of a used tool: ``fit ** 4 / (fit ** 4 + best ** 4)``, the mean of the descriptions.

    Args:
        tools: Which are new, and which votes could have named.
        described: How well each description fits, by entry; what names nothing does not count.
        cosine: Of the nearest past intent.  Its square is what it votes with, so the rest is
            left open; an intent that was served before stays with what served it.
    """
    presumed = np.zeros(len(described[0]))
    if not len(tools.new):
        return presumed
    telling = [scores for scores in described if scores.any()]
    if telling:
        chances = sum(_chances(scores[tools.new], scores[tools.used]) for scores in telling)
        left_open = 1 - min(cosine, 1.0) ** 2
        presumed[tools.new] = tools.newness * chances * (left_open / len(telling))
    return presumed


def _chances(fits: NDArray[np.float64], used: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each against the best used one; 0 for what does not fit at all."""
    ours = np.square(np.square(np.maximum(fits, 0.0)))
    theirs = np.square(np.square(used.max(initial=0.0)))
    total = ours + theirs
    chances: NDArray[np.float64] = np.divide(ours, total, out=np.zeros(len(fits)), where=total > 0)
    return chances
