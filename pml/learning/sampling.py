"""Which candidates a batch is trained against, where all would be too many.

Kept for sure is what is known (what served, what failed) and, for each query, what retrievers say
most of: the candidates that it is hard to tell from what serves.  From the rest a few are drawn for
the whole batch.  Each candidate comes with the logarithm of its chance to be taken, for the
correction in `pml.learning.contrastive`: 0 for what is kept for sure, log(drawn / rest) else.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int64

from pml.learning.folds import Rows, Targets
from pml.models.inputs import Queries


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """Of a batch, in the order of their places.

    Invariant: places are unique and in order; chances are above 0.
    """

    places: Int64[np.ndarray, " candidates"]
    log_q: Float32[np.ndarray, " candidates"]
    """Logarithm of the chance to be here."""


def candidates_for(
    queries: Queries,
    targets: Targets,
    rows: Rows,
    *,
    hard: int,
    sampled: int,
    rng: np.random.Generator,
) -> Candidates:
    """All candidates if there are at most ``sampled``; else a sample.

    Args:
        queries: The batch.
        targets: Of which ``rows`` belong to the batch.
        rows: In the order of ``queries``.
        hard: Candidates per query that are kept for what retrievers say of them.
        sampled: Candidates to draw from the rest.
        rng: Draws them.
    """
    count = queries.evidence.shape[1]
    if count <= sampled:
        return Candidates(places=np.arange(count), log_q=np.zeros(count, np.float32))
    kept = np.zeros(count, dtype=bool)
    for row in rows.tolist():
        kept[targets.positives[row]] = True
        kept[targets.failed[row]] = True
    kept[_hardest(queries, hard)] = True
    rest = np.flatnonzero(~kept)
    drawn = rng.choice(rest, size=min(sampled, len(rest)), replace=False)
    chances = kept.astype(np.float64)
    chances[drawn] = len(drawn) / max(len(rest), 1)
    places = np.flatnonzero(chances)
    return Candidates(places=places, log_q=np.log(chances[places]).astype(np.float32))


def _hardest(queries: Queries, hard: int) -> Int64[np.ndarray, " _"]:
    """Places that some query's evidence, summed over columns, puts among its first; maybe twice."""
    total = queries.evidence.sum(axis=2)
    hard = min(hard, total.shape[1])
    places: Int64[np.ndarray, " _"] = np.argpartition(-total, hard - 1, axis=1)[:, :hard].ravel()
    return places if hard else np.zeros(0, dtype=np.int64)
