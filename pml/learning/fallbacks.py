"""Which simple method ranks where the model may not: the best on folds that do not judge (LE-5).

A gate that compares with a weak method lets through what another simple method beats.  So several
are candidates, none of which is fitted to the folds, and the one that the gate compares with, and
that serves where the model does not, is the best of them on all folds but the judging one.
"""

from collections.abc import Sequence

from pml.learning.folds import TaskExamples, TrainingFold, in_blocks
from pml.learning.gate import LEAST_INTENTS, mean_over_groups, ndcg
from pml.models.inputs import RankingTask


def best_fallbacks(folds: Sequence[TrainingFold]) -> dict[RankingTask, str]:
    """By task, the name of the fallback with the highest nDCG@10 over intents.

    Of equal ones, and where fewer than `LEAST_INTENTS` intents tell, the first.
    """
    found: dict[RankingTask, str] = {}
    for task in RankingTask:
        asked = [fold.tasks[task] for fold in folds if task in fold.tasks]
        if asked:
            found[task] = _best(asked)
    return found


def _best(asked: Sequence[TaskExamples]) -> str:
    names = list(asked[0].fallbacks)
    totals, intents = dict.fromkeys(names, 0.0), 0
    for examples in asked:
        targets = examples.targets
        for name in names:
            reached = ndcg(in_blocks(examples, examples.fallbacks[name]), targets.positives)
            mean, groups = mean_over_groups(reached, targets.groups)
            totals[name] += mean * groups
        intents += groups
    return names[0] if intents < LEAST_INTENTS else max(names, key=totals.__getitem__)
