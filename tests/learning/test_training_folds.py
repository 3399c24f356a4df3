"""Which fold has a say in what (LE-5): nothing that the gate judges by had a part before.

Answers of one fold are exchanged, and all that may not depend on them has to stay to the bit.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

from pml.learning.calibration import Calibration
from pml.learning.fitting import refit
from pml.learning.folds import TrainingFold
from pml.learning.held_back import held_back
from pml.learning.prepared import PreparedFold
from pml.learning.shgat_training import train
from pml.learning.trained import Trained
from pml.learning.training_config import TrainingConfig
from pml.models.inputs import RankingTask
from pml.models.shgat import Shgat
from pml.models.start import Start
from pml.models.trained_ids import TrainedIds
from tests.learning.catalogues import CONFIG, Catalogue

CATALOGUE = Catalogue()
FOLDS = CATALOGUE.folds()
LEARNED_FROM, STOPPING, JUDGING = range(len(FOLDS) - 2), len(FOLDS) - 2, len(FOLDS) - 1
STEEP = TrainingConfig(epochs=40, patience=2, batch=24, learning_rate=0.6, scalar_rate=1.0)
"""So steep that the last epoch is not the best."""


def trained(folds: tuple[TrainingFold, ...] = FOLDS, config: TrainingConfig = STEEP) -> Trained:
    return train(folds, CATALOGUE.view, CONFIG, config, start=Start(scale=1.0))


def with_other_answers(place: int) -> tuple[TrainingFold, ...]:
    """Each query of one fold gets the answers of the next one."""

    def other(fold: TrainingFold) -> TrainingFold:
        tasks = {}
        for task, examples in fold.tasks.items():
            positives = examples.targets.positives
            targets = replace(examples.targets, positives=(*positives[1:], positives[0]))
            tasks[task] = replace(examples, targets=targets)
        return replace(fold, tasks=tasks)

    return tuple(other(fold) if at == place else fold for at, fold in enumerate(FOLDS))


@pytest.fixture(scope="module")
def found() -> Trained:
    return trained()


def same_parameters(one: Trained, other: Trained) -> bool:
    return all(
        np.array_equal(one.parameters[name], other.parameters[name]) for name in one.parameters
    )


def test_the_judging_fold_judges_and_does_nothing_else(found: Trained) -> None:
    other = trained(with_other_answers(JUDGING))
    assert same_parameters(found, other)
    assert found.calibrations == other.calibrations
    assert found.history == other.history
    assert found.verdicts != other.verdicts
    assert found.reports != other.reports


def test_the_stopping_fold_stops_and_calibrates_and_teaches_nothing(found: Trained) -> None:
    other = trained(with_other_answers(STOPPING), replace(STEEP, epochs=1))
    alike = trained(config=replace(STEEP, epochs=1))
    losses = [[epoch.loss for epoch in one.history] for one in (alike, other)]
    assert losses[0] == losses[1]
    assert found.history[0].held_back_loss != other.history[0].held_back_loss
    assert found.calibrations != other.calibrations


def test_a_model_is_that_of_its_best_epoch(found: Trained) -> None:
    assert 0 < found.best_epoch < len(found.history)
    fold = PreparedFold(found.model, FOLDS[STOPPING])
    kept = found.history[found.best_epoch - 1].held_back_loss
    assert held_back(found.model, fold, STEEP).loss == kept


def test_patience_is_how_many_epochs_without_a_better_one_are_waited_for(found: Trained) -> None:
    assert len(found.history) == found.best_epoch + STEEP.patience


def test_a_model_trained_again_has_the_calibration_that_was_fitted() -> None:
    again = trained(config=replace(STEEP, epochs=2, refit=True))
    for task, calibration in again.calibrations.items():
        assert calibration != Calibration()
        np.testing.assert_allclose(
            again.parameters[f"calibration.{task}"], calibration.numbers, rtol=1e-6
        )


def a_model() -> Shgat:
    model = Shgat(
        CONFIG,
        TrainedIds.of(CATALOGUE.view.graph),
        generator=torch.Generator().manual_seed(0),
        start=Start(scale=1.0),
    )
    model.standardise_by(CATALOGUE.view.inputs)
    return model


def refitted(epochs: int, folds: tuple[TrainingFold, ...] = FOLDS) -> dict[str, torch.Tensor]:
    model = a_model()
    refit(model, folds, STEEP, epochs=epochs)
    return model.state_dict()


def test_training_again_takes_as_many_epochs_as_asked() -> None:
    name = "query.tools.weight"
    assert torch.equal(refitted(0)[name], a_model().state_dict()[name])
    assert not torch.equal(refitted(1)[name], refitted(2)[name])


@pytest.mark.parametrize("place", [0, STOPPING, JUDGING])
def test_training_again_learns_from_every_fold(place: int) -> None:
    name = "query.tools.weight"
    assert not torch.equal(refitted(1)[name], refitted(1, with_other_answers(place))[name])


def test_training_begins_where_chances_add_up_to_what_served() -> None:
    model = a_model()
    refit(model, FOLDS, STEEP, epochs=0)
    fold = PreparedFold(model, FOLDS[STOPPING])
    scores = held_back(model, fold, STEEP).scores
    for task in RankingTask:
        chances = torch.from_numpy(scores[task]).sigmoid().sum().item()
        served = sum(map(len, fold.tasks[task].targets.positives))
        assert chances == pytest.approx(served, rel=1e-2)
