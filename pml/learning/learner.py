"""Training SHGAT step by step: a batch of traces, one pass over the graph, one step of AdamW.

All examples of a trace are in its batch.  Node states are computed once per step and serve the
examples of all tasks, so that a step costs one message passing and one matrix product per task.

Reference: I. Loshchilov, F. Hutter, "Decoupled weight decay regularization", ICLR 2019,
arXiv:1711.05101 (AdamW); "SGDR", ICLR 2017, arXiv:1608.03983, equation 5 (the cosine, without
restarts).
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from pml.learning.contrastive import LossWeights, errors, losses
from pml.learning.draws import Drawer
from pml.learning.folds import TrainingFold
from pml.learning.prepared import PreparedFold, marks_of
from pml.learning.replay import Batch, annealed_beta
from pml.learning.sampling import candidates_for
from pml.learning.training_config import TrainingConfig
from pml.models.shgat import Shgat
from pml.models.tensors import NodeStates, View
from pml.models.trained_ids import UNKNOWN

_LAST_RATE = 0.01
"""Share of the learning rate at which the cosine ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """What one pass over all traces came to."""

    loss: float
    """Mean over the steps."""
    examples: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Part:
    """What the examples of one task in a batch say."""

    loss: Float[Tensor, ""]
    sources: list[str]
    errors: Float[Tensor, " examples"]


class Learner:
    """Trains a model on folds; draws, dropout and steps follow from the seed alone."""

    def __init__(
        self,
        model: Shgat,
        folds: Sequence[TrainingFold],
        config: TrainingConfig,
        *,
        known_errors: Mapping[str, float] | None = None,
    ) -> None:
        """Prepare views, draws and the optimiser; `run` changes the model.

        Args:
            model: What is trained.
            folds: What it learns from.
            config: How.
            known_errors: Of traces, from an earlier training.

        Raises:
            ValueError: sizes do not fit the model, or a value is not finite.
        """
        self.errors: dict[str, float] = dict(known_errors or {})
        """Of the traces, when they were last learned from."""
        self._model, self._config = model, config
        self._rng = np.random.default_rng(config.seed)
        self._folds = [PreparedFold(model, fold) for fold in folds]
        self._drawers = [
            Drawer(fold.sources, self.errors, draws=config.draws, batch=config.batch)
            for fold in self._folds
        ]
        self._optimiser = torch.optim.AdamW(_groups(model, config), lr=config.learning_rate)
        self._steps = config.epochs * sum(drawer.batches for drawer in self._drawers)
        self._step = 0

    def run(self) -> Pass:
        """One pass: as many batches of each fold as hold its traces once."""
        batches = [drawer.batches for drawer in self._drawers]
        order = self._rng.permutation(np.repeat(np.arange(len(batches)), batches))
        found = [self._learn(self._folds[at], self._drawers[at]) for at in order.tolist()]
        return Pass(
            loss=float(np.mean([loss for loss, _ in found])) if found else 0.0,
            examples=sum(examples for _, examples in found),
        )

    def _learn(self, fold: PreparedFold, drawer: Drawer) -> tuple[float, int]:
        """One step; returns its loss and how many examples it saw."""
        batch = drawer.draw(beta=annealed_beta(self._step, self._steps), rng=self._rng)
        states = self._model.states(self._without_some_ids(fold.view))
        parts = list(self._parts(fold, batch, states))
        loss = torch.stack([part.loss for part in parts]).sum()
        if not math.isfinite(loss.item()):
            msg = (
                f"training diverged: the loss of step {self._step + 1} is {loss.item()}; lower "
                f"learning_rate ({self._config.learning_rate:g}) or scalar_rate"
            )
            raise ValueError(msg)
        self._descend(loss)
        found = _by_source(parts)
        self.errors |= found
        drawer.refresh(list(found), np.array(list(found.values())))
        return loss.item(), sum(len(part.sources) for part in parts)

    def _descend(self, loss: Float[Tensor, ""]) -> None:
        rate = self._config.learning_rate * rate_at(
            self._step, self._steps, warm_up=self._config.warm_up
        )
        for group in self._optimiser.param_groups:
            group["lr"] = rate * group["share"]
        self._optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), self._config.clip)
        self._optimiser.step()
        self._step += 1

    def _parts(self, fold: PreparedFold, batch: Batch[str], states: NodeStates) -> Iterator[_Part]:
        """Of the tasks that the batch has examples of; a trace has one of some task."""
        config = self._config
        of_loss = LossWeights(failures=config.failures, binary=config.binary)
        for task, examples in fold.tasks.items():
            rows, weights = fold.rows(task, batch)
            if not len(rows):
                continue
            queries, targets = examples.queries.take(rows), examples.targets
            chosen = candidates_for(
                queries,
                targets,
                rows,
                hard=config.hard_candidates,
                sampled=config.sampled_candidates,
                rng=self._rng,
            )
            scores = fold.scores(self._model, task, states, queries, chosen)
            marks, log_q = marks_of(targets, rows, chosen), torch.from_numpy(chosen.log_q)
            counted = torch.from_numpy(weights * targets.weights[rows])
            each = counted * losses(scores, marks, log_q, of_loss)
            yield _Part(
                loss=config.weight_of(task) * each.mean(),
                sources=[targets.sources[row] for row in rows.tolist()],
                errors=errors(scores, marks, log_q),
            )

    def _without_some_ids(self, view: View) -> View:
        """As if some nodes had never been trained on."""
        if not self._config.id_dropout:
            return view
        gone = self._rng.random(len(view.rows)) < self._config.id_dropout
        return replace(view, rows=view.rows.masked_fill(torch.from_numpy(gone), UNKNOWN))


def rate_at(step: int, steps: int, *, warm_up: float) -> float:
    """Share of the learning rate: up in a line, then down as half a cosine."""
    rising = max(1, round(warm_up * steps))
    if step < rising:
        return (step + 1) / rising
    done = (step - rising) / max(1, steps - rising)
    return _LAST_RATE + (1 - _LAST_RATE) * (1 + math.cos(math.pi * min(1.0, done))) / 2


def _groups(model: Shgat, config: TrainingConfig) -> list[dict[str, Any]]:
    """Matrices, which decay, and what is none, which has a rate of its own."""
    matrices = [one for one in model.parameters() if one.ndim > 1]
    scalars = [one for one in model.parameters() if one.ndim <= 1]
    return [
        {"params": matrices, "weight_decay": config.weight_decay, "share": 1.0},
        {"params": scalars, "weight_decay": 0.0, "share": config.scalar_rate},
    ]


def _by_source(parts: Sequence[_Part]) -> dict[str, float]:
    """Mean error of each trace's examples."""
    found: dict[str, list[float]] = defaultdict(list)
    for part in parts:
        for source, error in zip(part.sources, part.errors.tolist(), strict=True):
            found[source].append(error)
    return {source: float(np.mean(told)) for source, told in found.items()}
