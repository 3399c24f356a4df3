"""Rankers of the next tool that are learned on cross-fitted places, and fall back.

Torch is imported where a whole model is trained and nowhere else.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float32, Float64

from pml.evaluation.conditional_logit import fitted as conditional_logit
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


def weighed(folds: Sequence[TrainingFold]) -> Ranker:
    """Evidence, weighed by the stats of the query: SHGAT with nothing but its evidence term."""
    asked = [_all(fold.tasks[NEXT]) for fold in folds]
    weights = fitted(
        np.concatenate([queries.evidence for queries in asked]),
        np.concatenate([queries.stats for queries in asked]),
        np.concatenate([_right(fold.tasks[NEXT]) for fold in folds]),
    )
    return lambda queries: weights.scores(queries.evidence, queries.stats)


def gated(folds: Sequence[TrainingFold]) -> Ranker:
    """`weighed`, or the best fallback if it is not beaten on the last fold by the others' weights.

    Args:
        folds: At least two.
    """
    *others, judged = folds
    fallback = judged.tasks[NEXT].fallbacks[best_fallbacks(others)[NEXT]]
    return weighed(folds) if _passes(weighed(others), judged.tasks[NEXT], fallback) else fallback


def model(folds: Sequence[TrainingFold], view: View, settings: NextSettings) -> Ranker:
    """SHGAT as it is trained, or the fallback if its gate is not passed.

    Weights of evidence begin as those of a conditional logit.

    Args:
        folds: At least `LEAST_FOLDS`.
        view: Of all training.
        settings: How to learn.
    """
    import torch  # noqa: PLC0415  # seconds, and an extra

    from pml.learning.shgat_training import train  # noqa: PLC0415
    from pml.models.start import Start  # noqa: PLC0415

    start = Start(scale=settings.scale, evidence={NEXT: _first_weights(folds, settings)})
    sizes = settings.config(view.inputs.vectors.shape[1])
    trained = train(folds, view, sizes, settings.training, start=start)
    if not trained.gate.get(NEXT, False):
        return folds[-1].tasks[NEXT].fallbacks[trained.fallbacks[NEXT]]
    made = trained.model
    with torch.no_grad():
        states = made.states(made.view(view.graph, view.inputs))

    def scores(queries: Queries) -> Float32[np.ndarray, "queries candidates"]:
        with torch.no_grad():
            asked = made.query_tensors(NEXT, view.graph, queries)
            found = made.scores(NEXT, states, asked)
        return np.asarray(found.numpy(), dtype=np.float32)

    return scores


def _all(examples: TaskExamples) -> Queries:
    return examples.queries.take(np.arange(len(examples.queries)))


def _right(examples: TaskExamples) -> Bool[np.ndarray, "queries candidates"]:
    right = np.zeros(_all(examples).evidence.shape[:2], dtype=bool)
    for row, positives in enumerate(examples.targets.positives):
        right[row, positives] = True
    return right


def _passes(ranker: Ranker, examples: TaskExamples, fallback: Fallback) -> bool:
    """Whether it ranks better than the fallback."""
    queries, targets = _all(examples), examples.targets

    def reached(
        scores: Float32[np.ndarray, "queries candidates"],
    ) -> Float64[np.ndarray, " queries"]:
        return ndcg(scores, targets.positives)

    verdict = gate(reached(ranker(queries)), reached(fallback(queries)), targets.groups, seed=0)
    return verdict.passes


def _first_weights(folds: Sequence[TrainingFold], settings: NextSettings) -> tuple[float, ...]:
    """Of the evidence, by a conditional logit on places of all folds."""
    evidence, first = [], []
    for fold in folds:
        examples = fold.tasks[NEXT]
        rows = np.arange(min(len(examples.queries), settings.first_choices // len(folds)))
        evidence.append(examples.queries.take(rows).evidence)
        first += [examples.targets.positives[row][0] for row in rows.tolist()]
    chosen_tools = np.array(first, dtype=np.int64)
    return tuple(
        conditional_logit(np.concatenate(evidence).astype(np.float64), chosen_tools).tolist()
    )
