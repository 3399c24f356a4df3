"""Epochs of training, until held-back examples say that it is enough."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float64
from scipy.optimize import brentq

from pml.learning.folds import TrainingFold
from pml.learning.held_back import held_back, ndcg_by_task
from pml.learning.learner import Learner
from pml.learning.prepared import PreparedFold
from pml.learning.training_config import Epoch, TrainingConfig
from pml.models.shgat import Shgat


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """How training went."""

    history: tuple[Epoch, ...]
    best_epoch: int
    """0: as training began."""
    errors: Mapping[str, float]
    """Of the traces, when they were last learned from."""


def fit(
    model: Shgat,
    learned_from: Sequence[TrainingFold],
    stopping: TrainingFold,
    config: TrainingConfig,
    *,
    known_errors: Mapping[str, float] | None,
    on_epoch: Callable[[Epoch], None],
) -> Fit:
    """Leaves the model with the parameters of the epoch of the least held-back loss."""
    held = PreparedFold(model, stopping)
    _begin_at_base_rates(model, held, config)
    learner = Learner(model, learned_from, config, known_errors=known_errors)
    best, best_loss, kept = 0, held_back(model, held, config).loss, _copied(model)
    history: list[Epoch] = []
    for number in range(1, config.epochs + 1):
        seen = learner.run()
        now = held_back(model, held, config)
        epoch = Epoch(
            number=number,
            loss=seen.loss,
            held_back_loss=now.loss,
            held_back_ndcg=ndcg_by_task(held, now.scores),
            examples=seen.examples,
        )
        history.append(epoch)
        if now.loss < best_loss:
            best, best_loss, kept = number, now.loss, _copied(model)
        on_epoch(epoch)
        if number - best >= config.patience:
            break
    model.load_state_dict(kept)
    return Fit(history=tuple(history), best_epoch=best, errors=learner.errors)


def refit(
    model: Shgat, folds: Sequence[TrainingFold], config: TrainingConfig, *, epochs: int
) -> None:
    """As `fit` would, on all folds, with nothing to stop by but the number of epochs."""
    _begin_at_base_rates(model, PreparedFold(model, folds[-2]), config)
    learner = Learner(model, folds, config)
    for _ in range(epochs):
        learner.run()


@torch.no_grad()
def _begin_at_base_rates(model: Shgat, fold: PreparedFold, config: TrainingConfig) -> None:
    """Shift each task's scores so that the chances read off them add up to what served.

    Steps of AdamW are as large for a bias as for any parameter: from 0 it would travel for a
    thousand steps to where one candidate in hundreds serves, and lead all others astray.
    """
    scores = held_back(model, fold, config).scores
    for task, examples in fold.tasks.items():
        positives = examples.targets.positives
        known = [row for row, served in enumerate(positives) if len(served)]
        if known:
            served = sum(map(len, positives))
            model.bias[task] += _shift(scores[task][known].astype(np.float64), served)


def _shift(scores: Float64[np.ndarray, "queries candidates"], served: int) -> float:
    """What to add so that the chances add up to ``served``, within a half of one each way."""
    wanted = min(max(served, 0.5), scores.size - 0.5)
    span = float(np.abs(scores).max()) + math.log(2.0 * scores.size + 1)

    def surplus(shift: float) -> float:
        return float(np.exp(-np.logaddexp(0.0, -(scores + shift))).sum()) - wanted

    return float(brentq(surplus, -span, span, xtol=1e-3))


def _copied(model: Shgat) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}
