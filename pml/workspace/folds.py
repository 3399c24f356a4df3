"""Folds of all three tasks: those of `pml.evaluation.shgat_folds`, and the next tool.

For the next tool, evidence is what is said of the tools for the intent, and how often each came
after the last tool called.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float32, Int64

from pml.evaluation import shgat_folds
from pml.evaluation.shgat_folds import STATS, ViewEvidence
from pml.evaluation.shgat_views import Source
from pml.learning.examples import Example
from pml.learning.folds import HeldQueries, TaskExamples, TrainingFold, View, targets_of
from pml.models.inputs import Queries, RankingTask

COLUMNS: Mapping[RankingTask, tuple[str, ...]] = {
    RankingTask.TOOLS: shgat_folds.COLUMNS,
    RankingTask.CAPABILITIES: shgat_folds.COLUMNS,
    RankingTask.NEXT_TOOL: (*shgat_folds.COLUMNS, "after"),
}
__all__ = ["COLUMNS", "STATS", "Evidence", "Folds", "fallback_of"]
_Scores = Float32[np.ndarray, "queries candidates"]
_VOTES = shgat_folds.COLUMNS.index("votes")


class Evidence:
    """What is said of the candidates of any task, by what a view knows."""

    def __init__(self, ranked: ViewEvidence, view: View, known: Sequence[Example]) -> None:
        self._ranked = ranked
        self._place = {tool: at for at, tool in enumerate(view.graph.tools)}
        self._after: dict[str, Counter[str]] = defaultdict(Counter)
        for example in known:
            if example.task is RankingTask.NEXT_TOOL:
                self._after[example.prefix[-1]].update(example.positives)

    def queries(
        self,
        task: RankingTask,
        intents: Sequence[str],
        prefixes: Sequence[Sequence[str]] = (),
    ) -> Queries:
        """Vectors, evidence and stats; ``prefixes`` of the next tool are not empty."""
        if task is not RankingTask.NEXT_TOOL:
            return self._ranked.queries(task, intents)
        told = self._ranked.queries(RankingTask.TOOLS, intents)
        after = np.zeros((len(intents), len(self._place), 1), np.float32)
        for row, prefix in zip(after, prefixes, strict=True):
            seen = self._after[prefix[-1]]
            for tool in seen.keys() & self._place.keys():
                row[self._place[tool]] = seen[tool] / seen.total()
        evidence = np.concatenate([told.evidence, after], axis=2)
        return replace(told, evidence=evidence, prefixes=tuple(map(self._numbered, prefixes)))

    def _numbered(self, prefix: Sequence[str]) -> Int64[np.ndarray, " called"]:
        known = [self._place[tool] for tool in prefix if tool in self._place]
        return np.array(known, dtype=np.int64)


class Folds:
    """Builds folds of a data set: a `pml.learning.folds.FoldBuilder`."""

    def __init__(self, source: Source) -> None:
        self._folds = shgat_folds.Folds(source)

    def evidence(self, view: View, known: Sequence[Example]) -> Evidence:
        """On a view of the known examples."""
        return Evidence(self._folds.evidence(view, known), view, known)

    def __call__(self, known: Sequence[Example], asked: Sequence[Example]) -> TrainingFold:
        """Examples ``asked`` on a view of which only ``known`` ones are part."""
        fold = self._folds(known, asked)
        asked_next = [one for one in asked if one.task is RankingTask.NEXT_TOOL]
        if not asked_next:
            return fold
        queries = self.evidence(fold.view, known).queries(
            RankingTask.NEXT_TOOL,
            [example.intent for example in asked_next],
            [example.prefix for example in asked_next],
        )
        examples = TaskExamples(
            queries=HeldQueries(queries=queries),
            targets=targets_of(asked_next, fold.view.graph.tools),
            fallback=fallback_of(RankingTask.NEXT_TOOL),
        )
        return replace(fold, tasks={**fold.tasks, RankingTask.NEXT_TOOL: examples})


def fallback_of(task: RankingTask) -> Callable[[Queries], _Scores]:
    """What ranks where the model does not."""
    return _next if task is RankingTask.NEXT_TOOL else shgat_folds.fallback


def _next(queries: Queries) -> _Scores:
    """What came after the last tool, then what serves such intents."""
    found: _Scores = queries.evidence[:, :, -1] + queries.evidence[:, :, _VOTES]
    return found
