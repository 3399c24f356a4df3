"""Evidence of the next tool, weighed: SHGAT with nothing but its evidence term."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float32, Float64

from pml.evaluation.gated_logit import fitted
from pml.evaluation.next_folds import NEXT
from pml.learning.folds import TaskExamples, TrainingFold
from pml.models.inputs import Queries

Ranker: TypeAlias = Callable[[Queries], Float32[np.ndarray, "queries candidates"]]
"""Scores all tools; larger is likelier."""


def weighed(
    folds: Sequence[TrainingFold],
    lost: Sequence[TaskExamples] = (),
    *,
    share: float | None = None,
) -> Ranker:
    """Evidence, weighed by the stats of the query: SHGAT with nothing but its evidence term.

    Args:
        folds: Examples to learn from.
        lost: More of them, on views of their own; at least one example in all.
        share: What ``lost`` counts of all; as many as it has examples if not given.
    """
    each = [*(fold.tasks[NEXT] for fold in folds), *lost]
    asked = [every(examples) for examples in each]
    of_lost = np.repeat([False, True], [len(folds), len(lost)])
    weights = fitted(
        np.concatenate([queries.evidence for queries in asked]),
        np.concatenate([queries.stats for queries in asked]),
        np.concatenate([_right(examples) for examples in each]),
        counts=_counts(np.repeat(of_lost, [len(one.targets) for one in each]), share),
    )
    return lambda queries: weights.scores(queries.evidence, queries.stats)


def _counts(
    lost: Bool[np.ndarray, " queries"], share: float | None
) -> Float64[np.ndarray, " queries"]:
    """As how many each counts, so that the lost ones have their share of all."""
    if share is None or lost.all() or not lost.any():
        return np.ones(len(lost))
    return np.asarray(np.where(lost, share / lost.mean(), (1 - share) / (~lost).mean()))


def every(examples: TaskExamples) -> Queries:
    """All of its queries."""
    return examples.queries.take(np.arange(len(examples.queries)))


def _right(examples: TaskExamples) -> Bool[np.ndarray, "queries candidates"]:
    right = np.zeros(every(examples).evidence.shape[:2], dtype=bool)
    for row, positives in enumerate(examples.targets.positives):
        right[row, positives] = True
    return right
