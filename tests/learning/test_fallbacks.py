"""Of simple methods the best serves where the model does not; the gate has no part in it (LE-5)."""

from dataclasses import replace

import numpy as np

from pml.learning.fallbacks import best_fallbacks
from pml.learning.folds import Fallback, TrainingFold
from pml.learning.gate import LEAST_INTENTS, mean_over_groups
from pml.learning.shgat_training import train
from pml.learning.training_config import TrainingConfig
from pml.models.inputs import Queries, RankingTask
from tests.learning.catalogues import CONFIG, Catalogue

QUICK = TrainingConfig(epochs=1)
TOLD = (RankingTask.TOOLS, RankingTask.CAPABILITIES)
"""Tasks whose answers the evidence of the catalogue says something of."""


def said(queries: Queries) -> np.ndarray:
    return np.asarray(queries.evidence[..., 0])


def opposite(queries: Queries) -> np.ndarray:
    return -said(queries)


def nothing(queries: Queries) -> np.ndarray:
    return np.zeros_like(said(queries))


def folds(told: Catalogue, **fallbacks: Fallback) -> tuple[TrainingFold, ...]:
    return tuple(
        replace(
            fold,
            tasks={
                task: replace(examples, fallbacks=fallbacks)
                for task, examples in fold.tasks.items()
                if task in TOLD
            },
        )
        for fold in told.folds()
    )


def test_the_best_is_chosen_wherever_it_is_named() -> None:
    made = folds(Catalogue(), opposite=opposite, nothing=nothing, said=said)
    assert best_fallbacks(made) == dict.fromkeys(TOLD, "said")


def test_of_equal_ones_and_by_few_intents_the_first_is_chosen() -> None:
    equal = folds(Catalogue(), nothing=nothing, also=nothing)
    few = folds(Catalogue(intents=LEAST_INTENTS - 1), opposite=opposite, said=said)
    assert best_fallbacks(equal) == dict.fromkeys(TOLD, "nothing")
    assert best_fallbacks(few) == dict.fromkeys(TOLD, "opposite")
    assert best_fallbacks([]) == {}


def test_the_fold_that_judges_has_no_part_in_the_choice() -> None:
    """There the other one is better."""
    catalogue = Catalogue()
    *others, judging = folds(catalogue, one=said, two=opposite)
    swapped = {
        task: replace(examples, fallbacks={"one": opposite, "two": said})
        for task, examples in judging.tasks.items()
    }
    found = train([*others, replace(judging, tasks=swapped)], catalogue.view, CONFIG, QUICK)
    as_it_was = train([*others, judging], catalogue.view, CONFIG, QUICK)
    assert found.fallbacks == as_it_was.fallbacks == dict.fromkeys(TOLD, "one")
    for task in TOLD:
        assert found.verdicts[task].fallback < as_it_was.verdicts[task].fallback


def test_a_task_that_only_the_judging_fold_asks_has_its_first_one() -> None:
    catalogue = Catalogue()
    *others, judging = folds(catalogue, opposite=opposite, said=said)
    kept = [
        replace(fold, tasks={RankingTask.TOOLS: fold.tasks[RankingTask.TOOLS]}) for fold in others
    ]
    found = train([*kept, judging], catalogue.view, CONFIG, QUICK)
    assert found.fallbacks[RankingTask.TOOLS] == "said"
    assert found.fallbacks[RankingTask.CAPABILITIES] == "opposite"


def test_intents_count_alike_however_often_they_are_asked() -> None:
    values, groups = np.array([1.0, 1.0, 1.0, 0.0, np.nan]), np.array([0, 0, 0, 1, 2])
    assert mean_over_groups(values, groups) == (0.5, 2)
    assert mean_over_groups(values[4:], groups[4:]) == (0.0, 0)
