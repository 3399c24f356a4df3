"""The whole model of the next tool: training begins where its evidence term alone ends (LE-5).

Evidence that is weighed already (`pml.evaluation.gated_logit`) is one column more, and the only one
that counts before training.  So what is learned is what states of the calls and the intent add to
it, in a few hundred steps that would not be enough to weigh the evidence as well.

Reference: D. Wolpert, "Stacked generalization", Neural Networks 5(2), 1992 (scores as inputs).
Where we differ: the weights of that column are fitted on the places that the model learns from.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float32

from pml.evaluation.next_folds import NEXT
from pml.evaluation.next_training import NextSettings
from pml.learning.folds import HeldQueries, TaskExamples, TrainingFold, View
from pml.learning.shgat_training import refitted, train
from pml.learning.trained import Trained
from pml.models.inputs import Queries
from pml.models.start import Start

_Ranker: TypeAlias = Callable[[Queries], Float32[np.ndarray, "queries candidates"]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WholeModel:
    """A model, and the weighed evidence that it is given beside the evidence."""

    trained: Trained
    weighed: _Ranker

    def on(self, view: View) -> _Ranker:
        """Scores of queries on this view, before calibration; nodes are passed over once."""
        model = self.trained.model
        with torch.no_grad():
            states = model.states(model.view(view.graph, view.inputs))

        @torch.no_grad()
        def scores(queries: Queries) -> Float32[np.ndarray, "queries candidates"]:
            asked = model.query_tensors(NEXT, view.graph, _with(queries, self.weighed))
            return np.asarray(model.scores(NEXT, states, asked).numpy(), dtype=np.float32)

        return scores

    def refitted(
        self, folds: Sequence[TrainingFold], full: View, settings: NextSettings, weighed: _Ranker
    ) -> "WholeModel":
        """Learned again from all folds, those that stopped and judged too.

        Args:
            folds: All.
            full: Of all training.
            settings: How it was trained.
            weighed: The evidence, with weights of all folds.
        """
        known = [_fold_with(fold, weighed) for fold in folds]
        start = _start(settings)
        trained = refitted(self.trained, known, full, settings.training, start=start)
        return WholeModel(trained=trained, weighed=weighed)


def whole_model(
    folds: Sequence[TrainingFold], full: View, settings: NextSettings, weighed: _Ranker
) -> WholeModel:
    """Trained, stopped by the last fold but one, and judged on the last.

    Args:
        folds: At least three.
        full: Of all training.
        settings: How to learn.
        weighed: The evidence, with weights of the folds that are learned from, and no others'.
    """
    known = [_fold_with(fold, weighed) for fold in folds]
    sizes = settings.config(full.inputs.vectors.shape[1])
    trained = train(known, full, sizes, settings.training, start=_start(settings))
    return WholeModel(trained=trained, weighed=weighed)


def _start(settings: NextSettings) -> Start:
    """The weighed evidence counts as it is, its columns not at all."""
    return Start(scale=settings.scale, evidence={NEXT: (*(0.0 for _ in settings.columns), 1.0)})


def _fold_with(fold: TrainingFold, weighed: _Ranker) -> TrainingFold:
    examples = fold.tasks[NEXT]
    rows = np.arange(len(examples.queries))
    queries = HeldQueries(queries=_with(examples.queries.take(rows), weighed))
    asked = TaskExamples(
        queries=queries, targets=examples.targets, fallbacks=examples.fallbacks
    )  # fallbacks read columns by their places, which stay
    return TrainingFold(view=fold.view, tasks={NEXT: asked})


def _with(queries: Queries, weighed: _Ranker) -> Queries:
    """With the weighed evidence as its last column."""
    column = weighed(queries)[:, :, None].astype(np.float32)
    return replace(queries, evidence=np.concatenate([queries.evidence, column], axis=2))
