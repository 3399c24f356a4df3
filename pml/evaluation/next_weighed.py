"""Evidence of the next tool, weighed: SHGAT with nothing but its evidence term."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float32

from pml.evaluation.gated_logit import fitted
from pml.evaluation.next_folds import NEXT
from pml.learning.folds import TaskExamples, TrainingFold
from pml.models.inputs import Queries

Ranker: TypeAlias = Callable[[Queries], Float32[np.ndarray, "queries candidates"]]
"""Scores all tools; larger is likelier."""


def weighed(folds: Sequence[TrainingFold], lost: Sequence[TaskExamples] = ()) -> Ranker:
    """Evidence, weighed by the stats of the query: SHGAT with nothing but its evidence term.

    Args:
        folds: Examples to learn from.
        lost: More of them, on views of their own; at least one example in all.
    """
    each = [*(fold.tasks[NEXT] for fold in folds), *lost]
    asked = [every(examples) for examples in each]
    weights = fitted(
        np.concatenate([queries.evidence for queries in asked]),
        np.concatenate([queries.stats for queries in asked]),
        np.concatenate([_right(examples) for examples in each]),
    )
    return lambda queries: weights.scores(queries.evidence, queries.stats)


def every(examples: TaskExamples) -> Queries:
    """All of its queries."""
    return examples.queries.take(np.arange(len(examples.queries)))


def _right(examples: TaskExamples) -> Bool[np.ndarray, "queries candidates"]:
    right = np.zeros(every(examples).evidence.shape[:2], dtype=bool)
    for row, positives in enumerate(examples.targets.positives):
        right[row, positives] = True
    return right
