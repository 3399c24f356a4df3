"""Rankers of the next tool that are learned on cross-fitted places, and fall back.

Of the whole model and its evidence term alone, one answers.  The whole model begins where the term
ends, and leaves it only as far as the stopping fold's loss says; so it is the one, unless that fold
shows that it orders worse (`beats`).  The one that was picked then has to beat the best simple
method on the judging fold, which nothing was learned, stopped or picked by.

Torch is imported where a whole model is trained and nowhere else.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float32

from pml.evaluation.gated_logit import fitted
from pml.evaluation.next_folds import NEXT
from pml.evaluation.next_training import NextSettings
from pml.learning.fallbacks import best_fallbacks
from pml.learning.folds import Fallback, TaskExamples, TrainingFold, View
from pml.learning.gate import gate, ndcg
from pml.models.inputs import Queries

Ranker: TypeAlias = Callable[[Queries], Float32[np.ndarray, "queries candidates"]]
"""Scores all tools; larger is likelier."""
LEAST_FOLDS = 3
"""To learn from, to stop by, to judge by."""


class NextRankers:
    """What some folds teach; each part is learned once, when it is first asked for.

    Args:
        folds: At least `LEAST_FOLDS`.
        full: View of all training.
        settings: How to learn.
    """

    def __init__(self, folds: Sequence[TrainingFold], full: View, settings: NextSettings) -> None:
        *self._learned_from, self._stopping, self._judging = folds
        self._folds, self._full, self._settings = tuple(folds), full, settings

    @cached_property
    def evidence(self) -> Ranker:
        """Weighed evidence, or the fallback if the other folds' weights do not beat it."""
        others = weighed(self._folds[:-1])
        passes = beats(others, self._fallback, self._judging.tasks[NEXT])
        return self._weighed if passes else self._fallback

    @cached_property
    def best(self) -> Ranker:
        """The whole model, or the evidence alone where that is better; or the fallback."""
        from pml.evaluation.next_whole import whole_model  # noqa: PLC0415  # torch: seconds

        alone = weighed(self._learned_from)
        whole = whole_model(self._folds, self._full, self._settings, alone)
        if beats(alone, whole.on(self._stopping.view), self._stopping.tasks[NEXT]):
            return self.evidence
        if not whole.trained.gate.get(NEXT, False):
            return self._fallback
        again = whole.refitted(self._folds, self._full, self._settings, self._weighed)
        return again.on(self._full)

    @cached_property
    def _weighed(self) -> Ranker:
        return weighed(self._folds)

    @cached_property
    def _fallback(self) -> Fallback:
        """The best on all folds but the judging one."""
        return self._judging.tasks[NEXT].fallbacks[best_fallbacks(self._folds[:-1])[NEXT]]


def weighed(folds: Sequence[TrainingFold]) -> Ranker:
    """Evidence, weighed by the stats of the query: SHGAT with nothing but its evidence term."""
    asked = [_all(fold.tasks[NEXT]) for fold in folds]
    weights = fitted(
        np.concatenate([queries.evidence for queries in asked]),
        np.concatenate([queries.stats for queries in asked]),
        np.concatenate([_right(fold.tasks[NEXT]) for fold in folds]),
    )
    return lambda queries: weights.scores(queries.evidence, queries.stats)


def beats(one: Ranker, other: Ranker, examples: TaskExamples) -> bool:
    """Whether it ranks better, and not by chance (`pml.learning.gate`)."""
    queries, targets = _all(examples), examples.targets
    reached, least = (ndcg(ranker(queries), targets.positives) for ranker in (one, other))
    return gate(reached, least, targets.groups, seed=0).passes


def _all(examples: TaskExamples) -> Queries:
    return examples.queries.take(np.arange(len(examples.queries)))


def _right(examples: TaskExamples) -> Bool[np.ndarray, "queries candidates"]:
    right = np.zeros(_all(examples).evidence.shape[:2], dtype=bool)
    for row, positives in enumerate(examples.targets.positives):
        right[row, positives] = True
    return right
