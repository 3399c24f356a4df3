"""Which simple method ranks where the model may not: the best on folds that do not judge (LE-5).

A gate that compares with a weak method lets through what another simple method beats.  So several
are candidates, none of which is fitted to the folds, and the one that the gate compares with, and
that serves where the model does not, is the best of them on all folds but the judging one.  Where
requests for new servers are to be expected, those for lost servers count as in the gate; the gate
judges by the same ones, which favours the fallback.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pml.learning.cold_start import ColdCases
from pml.learning.folds import TaskExamples, TrainingFold, in_blocks
from pml.learning.gate import LEAST_INTENTS, mean_over_groups, ndcg
from pml.models.inputs import RankingTask

_NOTHING_LOST: Mapping[RankingTask, ColdCases] = MappingProxyType({})


def best_fallbacks(
    folds: Sequence[TrainingFold], cold: Mapping[RankingTask, ColdCases] = _NOTHING_LOST
) -> dict[RankingTask, str]:
    """By task, the name of the fallback with the highest nDCG@10 over intents.

    Of equal ones, and where fewer than `LEAST_INTENTS` intents tell, the first.
    """
    found: dict[RankingTask, str] = {}
    for task in RankingTask:
        asked = [fold.tasks[task] for fold in folds if task in fold.tasks]
        if asked:
            found[task] = _best(asked, cold.get(task))
    return found


def _best(asked: Sequence[TaskExamples], cold: ColdCases | None) -> str:
    names = list(asked[0].fallbacks)
    totals, intents = dict.fromkeys(names, 0.0), 0
    for examples in asked:
        targets = examples.targets
        for name in names:
            reached = ndcg(in_blocks(examples, examples.fallbacks[name]), targets.positives)
            mean, groups = mean_over_groups(reached, targets.groups)
            totals[name] += mean * groups
        intents += groups
    if intents < LEAST_INTENTS:
        return names[0]
    worth = {name: total / intents for name, total in totals.items()}
    if cold is not None and cold.enough:
        for name in names:
            lost, _ = mean_over_groups(cold.fallbacks[name], cold.groups)
            worth[name] = (1 - cold.share) * worth[name] + cold.share * lost
    return max(names, key=worth.__getitem__)
