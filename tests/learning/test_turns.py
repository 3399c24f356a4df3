"""Where one fold has too few intents, every fold judges once (LE-5)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from pml.learning.cold_start import ColdCases
from pml.learning.fallbacks import best_fallbacks
from pml.learning.folds import TrainingFold
from pml.learning.gate import gate, ndcg
from pml.learning.held_back import held_back
from pml.learning.prepared import PreparedFold
from pml.learning.shgat_training import train
from pml.learning.trained import Trained
from pml.learning.training_config import TrainingConfig
from pml.learning.turns import ENOUGH, judged_in_turns
from pml.models.inputs import RankingTask
from tests.learning.catalogues import CONFIG, Catalogue

QUICK = TrainingConfig(epochs=2, batch=24, learning_rate=6e-2)
CATALOGUE = Catalogue(intents=100)


def train_on(folds: Sequence[TrainingFold]) -> Trained:
    return train(folds, CATALOGUE.view, CONFIG, QUICK)


@pytest.fixture(scope="module")
def folds() -> tuple[TrainingFold, ...]:
    return CATALOGUE.folds()


@pytest.fixture(scope="module")
def first(folds: tuple[TrainingFold, ...]) -> Trained:
    return train_on(folds)


@pytest.fixture(scope="module")
def found(first: Trained, folds: tuple[TrainingFold, ...]) -> Trained:
    return judged_in_turns(first, folds, train_on, seed=0, cold={})


def test_every_intent_is_judged_by_a_model_that_did_not_learn_from_it(
    found: Trained, folds: tuple[TrainingFold, ...]
) -> None:
    """By hand: of each fold the scores of a model whose last fold it was."""
    task, model, said = RankingTask.TOOLS, [], []
    for last in (4, 0, 1, 2, 3):
        order = (*folds[last + 1 :], *folds[: last + 1])
        assert order[-1] is folds[last]
        trained = train_on(order).model
        prepared = PreparedFold(trained, folds[last])
        examples = folds[last].tasks[task]
        positives = examples.targets.positives
        model.append(ndcg(held_back(trained, prepared, QUICK).scores[task], positives))
        queries = examples.queries.take(np.arange(len(examples.queries)))
        said.append(ndcg(queries.evidence[..., 0], positives))
    expected = gate(np.concatenate(model), np.concatenate(said), np.arange(100), seed=0)
    assert found.verdicts[task] == expected
    assert expected.intents == 100


def test_the_model_that_serves_is_the_first(found: Trained, first: Trained) -> None:
    assert found.model is first.model
    assert found.calibrations is first.calibrations
    assert found.reports is first.reports
    assert all(first.verdicts[task].intents == 20 for task in RankingTask)


def test_the_fallback_is_the_best_of_all_folds(folds: tuple[TrainingFold, ...]) -> None:
    """Of four folds each is the better one on two; the last decides."""
    both = {
        "first": lambda queries: queries.evidence[..., 0],
        "other": lambda queries: -queries.evidence[..., 0],
    }
    swapped = dict(zip(both, reversed(both.values()), strict=True))
    made = [
        replace(
            fold,
            tasks={task: replace(one, fallbacks=named) for task, one in fold.tasks.items()},
        )
        for fold, named in zip(folds, [both, swapped, swapped, both, swapped], strict=True)
    ]
    found = judged_in_turns(train_on(made), made, train_on, seed=0, cold={})
    assert found.fallbacks == best_fallbacks(made)
    assert found.fallbacks[RankingTask.TOOLS] == "other"


def test_requests_for_lost_servers_judge_with_all_folds(
    first: Trained, folds: tuple[TrainingFold, ...]
) -> None:
    cold = ColdCases(
        model=np.zeros(40),
        fallbacks={"said": np.ones(40)},
        groups=np.arange(40),
        servers=np.arange(40),
        share=0.5,
    )
    task = RankingTask.TOOLS
    found = judged_in_turns(first, folds, train_on, seed=0, cold={task: cold})
    assert (found.verdicts[task].intents, found.verdicts[task].cold_intents) == (100, 40)
    assert not found.verdicts[task].passes
    assert found.verdicts[RankingTask.NEXT_TOOL].cold_intents == 0


def test_where_one_fold_has_enough_intents_no_other_judges(
    first: Trained, folds: tuple[TrainingFold, ...]
) -> None:
    """Of two tasks only the one with few intents is judged again; of none, none is trained."""
    trained: list[int] = []

    def again(order: Sequence[TrainingFold]) -> Trained:
        trained.append(len(order))
        return train_on(order)

    many = {
        task: replace(verdict, intents=ENOUGH if task is RankingTask.TOOLS else ENOUGH - 1)
        for task, verdict in first.verdicts.items()
    }
    told = replace(first, verdicts=many)
    found = judged_in_turns(told, folds, again, seed=0, cold={})
    assert trained == [5] * 4
    assert found.verdicts[RankingTask.TOOLS] is told.verdicts[RankingTask.TOOLS]
    assert found.verdicts[RankingTask.NEXT_TOOL].intents == 100

    trained.clear()
    all_many = {task: replace(verdict, intents=ENOUGH) for task, verdict in many.items()}
    enough = replace(first, verdicts=all_many)
    assert judged_in_turns(enough, folds, again, seed=0, cold={}) is enough
    nothing = train_on(folds[:1])
    assert judged_in_turns(nothing, folds[:1], again, seed=0, cold={}) is nothing
    assert not trained
