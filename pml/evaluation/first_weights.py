"""Weights of evidence with which training begins: those of a conditional logit on its own folds."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64

from pml.evaluation.conditional_logit import fitted
from pml.learning.folds import TrainingFold
from pml.models.inputs import RankingTask

LOGIT_CHOICES = 600
"""Queries that the first weights are fitted on: some ten weights need no more."""
LOGIT_CANDIDATES = 300
LOGIT_PENALTY = 0.3


def fitted_weights(
    folds: Sequence[TrainingFold], task: RankingTask, *, columns: int
) -> tuple[float, ...]:
    """Weights of the evidence by which what served is likeliest among others; zeros for no choice.

    Of `LOGIT_CHOICES` choices, each among at most `LOGIT_CANDIDATES`, drawn with a fixed seed.
    """
    rng = np.random.default_rng(0)
    features: list[Float64[np.ndarray, "candidates columns"]] = []
    for fold in folds:
        if task not in fold.tasks:
            continue
        examples = fold.tasks[task]
        rows = [row for row, one in enumerate(examples.targets.positives) if len(one)]
        for row in rng.permutation(rows)[: LOGIT_CHOICES // len(folds)].tolist():
            evidence = examples.queries.take(np.array([row])).evidence[0]
            positives = examples.targets.positives[row]
            others = np.setdiff1d(np.arange(len(evidence)), positives)
            drawn = rng.permutation(others)[:LOGIT_CANDIDATES]
            chosen = [rng.choice(positives), *np.resize(drawn, LOGIT_CANDIDATES)]
            features.append(evidence[chosen].astype(np.float64))
    if not features:
        return (0.0,) * columns
    found = fitted(np.stack(features), np.zeros(len(features), np.int64), penalty=LOGIT_PENALTY)
    return tuple(found.tolist())
