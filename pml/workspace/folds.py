"""Examples on views that do not know them, as the trainer takes them."""

from collections.abc import Sequence

from pml.learning.examples import Example
from pml.learning.folds import HeldQueries, TaskExamples, TrainingFold, targets_of
from pml.models.inputs import RankingTask
from pml.workspace.evidence import Evidence, fallback
from pml.workspace.views import Source


class Folds:
    """Builds folds of a data set: a `pml.learning.folds.FoldBuilder`."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def __call__(self, known: Sequence[Example], asked: Sequence[Example]) -> TrainingFold:
        """Examples ``asked`` on a view of which only ``known`` ones are part."""
        view = self._source.view(known)
        evidence = Evidence(self._source, view.graph.capabilities, known)
        tasks = {}
        for task in RankingTask:
            of_task = [example for example in asked if example.task is task]
            capabilities = task is RankingTask.CAPABILITIES
            candidates = view.graph.capabilities if capabilities else view.graph.tools
            if of_task and candidates:
                intents = [example.intent for example in of_task]
                prefixes = [example.prefix for example in of_task]
                tasks[task] = TaskExamples(
                    queries=HeldQueries(queries=evidence.queries(task, intents, prefixes)),
                    targets=targets_of(of_task, candidates),
                    fallback=fallback,
                )
        return TrainingFold(view=view, tasks=tasks)
