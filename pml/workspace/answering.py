"""A trained model as methods of `pml evaluate`, and the simple method that it has to beat.

Three of each task: `trained`, whatever the gate said; `fallback`; `gated`, which is
what would serve: the model where the gate let it, else the fallback.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from jaxtyping import Float32

from pml.evaluation.questions import CapabilitiesQuestion, NextQuestion, ToolsQuestion
from pml.evaluation.shgat_examples import capability_of
from pml.evaluation.shgat_views import Source
from pml.learning.examples import Example
from pml.models.exported import ExportedShgat
from pml.models.inputs import Queries, RankingTask
from pml.models.scorer import Query, Scorer
from pml.workspace.folds import FALLBACKS, Folds

_EVALUATED_AS = {
    RankingTask.TOOLS: "tools",
    RankingTask.CAPABILITIES: "capabilities",
    RankingTask.NEXT_TOOL: "next",
}
_Ranked = Float32[np.ndarray, "queries candidates"]


class Who(StrEnum):
    """Whose ranking it is."""

    MODEL = "trained"
    FALLBACK = "fallback"
    SWITCHED = "gated"


class Ranker:
    """Ranks for intents with all that the training split tells."""

    def __init__(
        self, source: Source, known: Sequence[Example], model: ExportedShgat | None
    ) -> None:
        self._view = source.view(known)
        self._evidence = Folds(source).evidence(self._view, known)
        view = self._view
        self._scorer = None if model is None else Scorer(model, view.graph, view.inputs)
        self._gate = {} if model is None else model.gate
        chosen = {} if model is None else model.fallbacks
        self._fallbacks = {
            task: named[chosen.get(task, next(iter(named)))] for task, named in FALLBACKS.items()
        }
        self.tools = source.tools
        self.capabilities = self._view.graph.capabilities

    def scores(
        self,
        task: RankingTask,
        who: Who,
        intents: Sequence[str],
        prefixes: Sequence[Sequence[str]] = (),
    ) -> _Ranked | None:
        """A row per intent; None where there is no model, or nothing to rank."""
        if not (self.capabilities if task is RankingTask.CAPABILITIES else self.tools):
            return None
        queries = self._evidence.queries(task, intents, prefixes)
        switched_on = self._gate.get(task, False)
        if who is Who.FALLBACK or (who is Who.SWITCHED and not switched_on):
            return self._fallbacks[task](queries)
        if self._scorer is None:
            return None
        score = {
            RankingTask.TOOLS: self._scorer.score_all_tools,
            RankingTask.CAPABILITIES: self._scorer.score_all_capabilities,
            RankingTask.NEXT_TOOL: self._scorer.predict_next,
        }[task]
        called = prefixes or [()] * len(intents)
        return np.array(
            [score(_query(queries, row, called[row])).raw for row in range(len(called))]
        )


def _query(queries: Queries, row: int, called: Sequence[str]) -> Query:
    return Query(
        vector=queries.vectors[row],
        evidence=queries.evidence[row],
        stats=queries.stats[row],
        called=tuple(called),
    )


@dataclass(slots=True, kw_only=True)  # not frozen: a method's name may be set, says its protocol
class RankerMethod:
    """A method of `pml evaluate`."""

    name: str
    task: str
    answer: Callable[[Any], Any]

    def answers(self, question: Any) -> Any:  # noqa: ANN401  # of any task
        """As the task's questions say (`pml.evaluation.questions`)."""
        return self.answer(question)


def methods(ranker: Ranker) -> Iterator[RankerMethod]:
    """All of them."""
    answering: dict[RankingTask, Callable[[Ranker, Who, Any], Any]] = {
        RankingTask.TOOLS: _tools,
        RankingTask.CAPABILITIES: _capabilities,
        RankingTask.NEXT_TOOL: _next,
    }
    for task, answer in answering.items():
        for who in Who:
            yield RankerMethod(
                name=who, task=_EVALUATED_AS[task], answer=_bound(answer, ranker, who)
            )


def _bound(
    answer: Callable[[Ranker, Who, Any], Any], ranker: Ranker, who: Who
) -> Callable[[Any], Any]:
    return lambda question: answer(ranker, who, question)


def _tools(ranker: Ranker, who: Who, question: ToolsQuestion) -> _Ranked | None:
    return ranker.scores(RankingTask.TOOLS, who, question.intents)


def _capabilities(ranker: Ranker, who: Who, question: CapabilitiesQuestion) -> _Ranked | None:
    """Of sets of tools; None where candidates are something else."""
    place = {key: at for at, key in enumerate(ranker.capabilities)}
    ids = [capability_of(tool.id for tool in one.tools).id for one in question.candidates]
    if len(set(ids)) < len(ids) or not place.keys() >= set(ids):
        return None
    scores = ranker.scores(RankingTask.CAPABILITIES, who, question.intents)
    return None if scores is None else scores[:, [place[key] for key in ids]]


def _next(ranker: Ranker, who: Who, question: NextQuestion) -> list[tuple[str, ...]] | None:
    intents = [point.intent for point in question.points]
    prefixes = [point.prefix for point in question.points]
    if any(not set(prefix) <= set(ranker.tools) for prefix in prefixes):
        return None
    scores = ranker.scores(RankingTask.NEXT_TOOL, who, intents, prefixes)
    if scores is None:
        return None
    orders = np.argsort(-scores, axis=1, kind="stable")
    return [tuple(ranker.tools[at] for at in order) for order in orders.tolist()]
