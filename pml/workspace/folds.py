"""Folds of all three tasks: those of `pml.evaluation.shgat_folds`, and places of the next tool.

A model has one list of stats for all tasks: those that are not said of a query's task are 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float32

from pml.discovery import next_tool
from pml.discovery.next_tool import NextToolEvidence, Place
from pml.evaluation import shgat_folds
from pml.evaluation.next_folds import NEXT, examples_at, fallbacks, queries_at, ranked_tools
from pml.evaluation.shgat_examples import past_of
from pml.evaluation.shgat_folds import ViewEvidence
from pml.evaluation.shgat_views import Source
from pml.learning.examples import Example
from pml.learning.folds import Fallback, HeldQueries, TaskExamples, TrainingFold, View
from pml.models.inputs import Queries, RankingTask

COLUMNS: Mapping[RankingTask, tuple[str, ...]] = {
    RankingTask.TOOLS: shgat_folds.COLUMNS,
    RankingTask.CAPABILITIES: shgat_folds.COLUMNS,
    NEXT: next_tool.COLUMNS,
}
STATS = (*shgat_folds.STATS, *next_tool.STATS)
FALLBACKS: Mapping[RankingTask, Mapping[str, Fallback]] = {
    **shgat_folds.FALLBACKS,
    NEXT: fallbacks(),
}
"""Simple methods by name, of which the best serves where the model does not."""


class Evidence:
    """What is said of the candidates of any task, by what a view knows."""

    def __init__(self, ranked: ViewEvidence, following: NextToolEvidence, source: Source) -> None:
        self._ranked, self._following = ranked, following
        self._source = source

    def queries(
        self,
        task: RankingTask,
        intents: Sequence[str],
        prefixes: Sequence[Sequence[str]] = (),
    ) -> Queries:
        """Vectors, evidence and stats; ``prefixes`` of the next tool are not empty."""
        if task is not NEXT:
            queries = self._ranked.queries(task, intents)
            return replace(queries, stats=_padded(queries.stats, before=0))
        return _next_queries(self._following, self._source, intents, prefixes)


class Folds:
    """Builds folds of a data set: a `pml.learning.folds.FoldBuilder`."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._folds = shgat_folds.Folds(source)
        self._tools = ranked_tools(source.dataset.tools)

    def evidence(self, view: View, known: Sequence[Example]) -> Evidence:
        """On a view of the known examples."""
        ranked = self._folds.evidence(view, known)
        return Evidence(ranked, self._following(known), self._source)

    def _following(self, known: Sequence[Example]) -> NextToolEvidence:
        past = past_of(self._source.dataset, self._source.traces, known)
        return NextToolEvidence(self._tools, past.sequences, past.intents)

    def __call__(self, known: Sequence[Example], asked: Sequence[Example]) -> TrainingFold:
        """Examples ``asked`` on a view of which only ``known`` ones are part."""
        fold = self._folds(known, asked)
        tasks = {task: _with_all_stats(examples) for task, examples in fold.tasks.items()}
        places = [example for example in asked if example.task is NEXT]
        if places:
            queries = _next_queries(
                self._following(known),
                self._source,
                [example.intent for example in places],
                [example.prefix for example in places],
            )
            tasks[NEXT] = examples_at(places, queries, self._source.tools, next_tool.COLUMNS)
        return replace(fold, tasks=tasks)


def _next_queries(
    evidence: NextToolEvidence,
    source: Source,
    intents: Sequence[str],
    prefixes: Sequence[Sequence[str]],
) -> Queries:
    places = [
        Place(prefix=tuple(prefix), intent=intent)
        for prefix, intent in zip(prefixes, intents, strict=True)
    ]
    queries = queries_at(places, evidence, source.encoded(intents), source.tools)
    return replace(queries, stats=_padded(queries.stats, before=len(shgat_folds.STATS)))


def _with_all_stats(examples: TaskExamples) -> TaskExamples:
    queries = examples.queries.take(np.arange(len(examples.queries)))
    padded = replace(queries, stats=_padded(queries.stats, before=0))
    return replace(examples, queries=HeldQueries(queries=padded))


def _padded(
    stats: Float32[np.ndarray, "queries own"], *, before: int
) -> Float32[np.ndarray, "queries stats"]:
    """With zeros for the stats of other tasks."""
    found = np.zeros((len(stats), len(STATS)), np.float32)
    found[:, before : before + stats.shape[1]] = stats
    return found
