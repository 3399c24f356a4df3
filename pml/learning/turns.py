"""Every fold judges once, where one of them holds too few intents to tell (LE-5).

With a few hundred intents the judging fold has some fifty, by which a difference of two hundredths
is as good as none, and another deal of the same intents gives another verdict.  So further models
are trained the same way, each judged by another fold and stopped by the one before it, and the
gate is asked of all intents together.  The first model is the one that serves; the verdict is about
how such models are made.  Each is compared with the simple method that is best on the folds that
did not judge it; the one that is best on all folds serves where the verdict is no.

Reference: T. Hastie, R. Tibshirani, J. Friedman, "The Elements of Statistical Learning", 2nd
edition, section 7.10 (cross-validation).  The models share what they learn from, so their
differences depend on each other a little, which the test does not see (T. Dietterich, "Approximate
statistical tests for comparing supervised classification learning algorithms", Neural Computation
10(7), 1998, section 3).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from pml.learning.cold_start import ColdCases, apart, verdict_on
from pml.learning.fallbacks import best_fallbacks
from pml.learning.folds import TrainingFold
from pml.learning.gate import Compared
from pml.learning.trained import Trained
from pml.models.inputs import RankingTask

ENOUGH = 300
"""Held-back intents from which on one fold tells."""


def judged_in_turns(
    first: Trained,
    folds: Sequence[TrainingFold],
    again: Callable[[Sequence[TrainingFold]], Trained],
    *,
    seed: int,
    cold: Mapping[RankingTask, ColdCases],
) -> Trained:
    """The first model, with verdicts of all folds for tasks of which its fold had too few intents.

    Args:
        first: Trained on the folds as they come.
        folds: All; the last one judged.
        again: Trains as the first was, on the folds in another order.
        seed: Of the gate.
        cold: What the verdicts are to see beside (`pml.learning.cold_start`).
    """
    few = [task for task, verdict in first.verdicts.items() if verdict.intents < ENOUGH]
    if not few:
        return first
    turns = [first.compared, *(again(order).compared for order in _other_orders(folds))]
    compared = {task: joined([turn[task] for turn in turns if task in turn]) for task in few}
    best = best_fallbacks(folds, cold)
    fallbacks = {**first.fallbacks, **{task: best[task] for task in few}}
    verdicts = {
        task: verdict_on(each, seed=seed, cold=cold.get(task), fallback=fallbacks[task])
        for task, each in compared.items()
    }
    return replace(
        first,
        compared={**first.compared, **compared},
        verdicts={**first.verdicts, **verdicts},
        fallbacks=fallbacks,
    )


def joined(parts: Sequence[Compared]) -> Compared:
    """Of several folds, at least one, whose intents differ."""
    return Compared(
        model=np.concatenate([one.model for one in parts]),
        fallback=np.concatenate([one.fallback for one in parts]),
        groups=apart([one.groups for one in parts]),
    )


def _other_orders(folds: Sequence[TrainingFold]) -> Iterator[tuple[TrainingFold, ...]]:
    """Turned round, so that each of the other folds comes last once."""
    for first in range(1, len(folds)):
        yield (*folds[first:], *folds[:first])
