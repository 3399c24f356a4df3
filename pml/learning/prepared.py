"""A fold as the torch model takes it: its view as tensors, and its examples by trace."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Float32
from torch import Tensor

from pml.learning.contrastive import Marks
from pml.learning.folds import Rows, Targets, TaskExamples, TrainingFold
from pml.learning.replay import Batch
from pml.learning.sampling import Candidates
from pml.models.inputs import Queries, RankingTask
from pml.models.shgat import Shgat
from pml.models.tensors import NodeStates, View


class PreparedFold:
    """Invariant: every row of ``tasks`` with a known answer is that of one of ``sources``."""

    def __init__(self, model: Shgat, fold: TrainingFold) -> None:
        """For this model; tasks that it does not have are left out.

        Raises:
            ValueError: sizes do not fit the model, or a value is not finite.
        """
        self._graph = fold.view.graph
        self.view: View = model.view(fold.view.graph, fold.view.inputs)
        self.tasks: Mapping[RankingTask, TaskExamples] = {
            task: fold.tasks[task] for task in model.config.tasks if task in fold.tasks
        }
        self._rows = {
            task: _rows_by_source(examples.targets) for task, examples in self.tasks.items()
        }
        by_source = (source for rows in self._rows.values() for source in rows)
        self.sources: tuple[str, ...] = tuple(dict.fromkeys(by_source))
        """Ids of the traces."""

    def rows(
        self, task: RankingTask, batch: Batch[str]
    ) -> tuple[Rows, Float32[np.ndarray, " rows"]]:
        """Of the examples of the traces drawn, with importance weights; again if drawn again."""
        known = self._rows[task]
        found = [
            (row, weight)
            for source, weight in zip(batch.keys, batch.weights.tolist(), strict=True)
            for row in known.get(source, ())
        ]
        rows = np.array([row for row, _ in found], dtype=np.int64)
        return rows, np.array([weight for _, weight in found], dtype=np.float32)

    def scores(
        self,
        model: Shgat,
        task: RankingTask,
        states: NodeStates,
        queries: Queries,
        chosen: Candidates | None = None,
    ) -> Float[Tensor, "queries candidates"]:
        """Before calibration; of all candidates unless some are chosen."""
        if chosen is None or len(chosen.places) == queries.evidence.shape[1]:
            return model.scores(task, states, model.query_tensors(task, self._graph, queries))
        some = replace(queries, evidence=queries.evidence[:, chosen.places])
        tensors = model.query_tensors(task, self._graph, some, sampled=len(chosen.places))
        places = torch.from_numpy(chosen.places)
        return model.scores(task, states, tensors, candidates=places)


def marks_of(targets: Targets, rows: Rows, chosen: Candidates) -> Marks:
    """Which of the chosen candidates served, and which failed, in each row."""
    width = int(chosen.places[-1]) + 1 if len(chosen.places) else 0
    marks = []
    for known in (targets.positives, targets.failed):
        of_rows = [known[row] for row in rows.tolist()]
        marked = np.zeros((len(rows), width), dtype=bool)
        at = np.repeat(np.arange(len(rows)), [len(one) for one in of_rows])
        marked[at, np.concatenate([*of_rows, np.zeros(0, np.int64)])] = True
        marks.append(torch.from_numpy(marked[:, chosen.places]))
    return Marks(positives=marks[0], failed=marks[1])


def _rows_by_source(targets: Targets) -> dict[str, list[int]]:
    """Only rows with a known answer."""
    found: dict[str, list[int]] = defaultdict(list)
    for row, source in enumerate(targets.sources):
        if len(targets.positives[row]) or len(targets.failed[row]):
            found[source].append(row)
    return dict(found)
