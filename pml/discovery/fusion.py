"""Reciprocal rank fusion: one ranking out of several whose scores cannot be compared.

G. Cormack, C. Clarke, S. Buettcher: Reciprocal Rank Fusion Outperforms Condorcet and
Individual Rank Learning Methods, SIGIR 2009: an entry gets the sum of ``1 / (k + rank)``
over the rankings that name it.  Here equal scores have equal ranks (the best of them), so
the result does not depend on the order in which entries came, rankings may have weights, and
the sum is divided by what an entry would get that is first everywhere.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

K = 5
"""The larger, the less the first ranks stand out; the authors take 60.  On intents over a few
hundred tools 5 was never worse and mostly better (docs/explanation/discovery.md)."""
DEPTH = 500
"""How many entries a ranking names at most, those that tie with the last of them included."""


def fuse(
    rankings: Sequence[NDArray[np.float64]],
    weights: Sequence[float] | None = None,
    presumed: Sequence[NDArray[np.float64] | None] | None = None,
    *,
    k: int = K,
    depth: int = DEPTH,
) -> NDArray[np.float64]:
    """Fused scores in [0, 1] by entry.

    Args:
        rankings: Scores by entry, one array of the same length each; an entry that scores 0
            is not named.  A ranking that names nothing does not count.
        weights: How much each ranking counts; 1 where left out.
        presumed: For a ranking that could not name every entry, by entry, what share of the first
            rank one gets that scores 0; None, or left out, for nothing.
        k: See the head.
        depth: See `DEPTH`.
    """
    fused = np.zeros(len(rankings[0]) if rankings else 0)
    best_possible = 0.0
    weights, presumed = weights or [1.0] * len(rankings), presumed or [None] * len(rankings)
    for scores, weight, shares in zip(rankings, weights, presumed, strict=True):
        named = np.flatnonzero(scores > 0)
        if not len(named):
            continue
        best_possible += weight
        best = scores[named]
        if len(named) > depth:
            last = np.partition(best, len(best) - depth)[len(best) - depth]
            named = named[best >= last]
            best = scores[named]
        if shares is not None:
            silent = np.flatnonzero(shares > 0)
            silent = silent[scores[silent] <= 0]
            fused[silent] += weight * shares[silent]
        ranks = 1 + np.searchsorted(np.sort(-best), -best, side="left")
        fused[named] += weight * (k + 1) / (k + ranks)
    return fused / best_possible if best_possible else fused
