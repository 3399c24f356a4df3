"""The task ``provides``: does one tool's result feed another's arguments (SA-10)?"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from pml.evaluation.dataset import TRAIN, Dataset, Dependency, Tool, Workflow
from pml.evaluation.measured import Measured
from pml.evaluation.overlap import pooled_f1, precision, recall
from pml.evaluation.questions import ProvidesQuestion
from pml.evaluation.splits import held_out
from pml.evaluation.task import Problem

ProvidesProblem = Problem[ProvidesQuestion, Float64[np.ndarray, " cases"]]
_Pair = tuple[str, str]


class ProvidesEdges:
    """Which of the pairs of tools that stand together in workflows have an edge?

    Of a set whose workflows have edges and of whose tools one has an input schema.  The problem
    ``all`` has the workflows of all splits: nothing needs to be learned from workflows here.  The
    problem ``unseen`` has the pairs of ``dev`` and ``test*`` that stand in no training workflow;
    nothing could have been learned of these by whoever trained on the training split.

    A pair of different tools is gold if a workflow has an edge from the first to the second, and
    other if both stand in one workflow, in either order, and none has.  Where the set says of
    dependencies that they are of a parameter, only such pairs are gold, and pairs of which it names
    some other dependency are left out: one tool needing another may be data (a login's session)
    or not (the network is on).

    Each gold or other pair is a case; pairs with one consumer are one group, as they share what
    the consumer's schema says.  Precision, recall and F1 are of all pairs together.
    """

    name = "provides"
    title = "Provides edges"
    headline = "F1"
    higher_is_better = True

    def problems(self, dataset: Dataset) -> Sequence[ProvidesProblem]:
        """As the class says; without gold pairs none."""
        if not any((tool.input_schema or {}).get("properties") for tool in dataset.tools):
            return ()
        tools = {tool.id: tool for tool in dataset.tools}
        parts = {"all": _pairs(dataset.workflows, dataset.dependencies, tools.keys())}
        train = dataset.split(TRAIN)
        if train:
            later = dataset.split(*held_out(dataset))
            found = _pairs(later, dataset.dependencies, tools.keys())
            parts["unseen"] = found.without(_together(train, tools.keys()))
        return [_problem(label, pairs, tools) for label, pairs in parts.items() if pairs.gold]


TASK = ProvidesEdges()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pairs:
    gold: frozenset[_Pair]
    other: frozenset[_Pair]

    def without(self, pairs: AbstractSet[_Pair]) -> "_Pairs":
        return _Pairs(gold=self.gold - pairs, other=self.other - pairs)


def _pairs(
    workflows: Iterable[Workflow], dependencies: Iterable[Dependency], tools: AbstractSet[str]
) -> _Pairs:
    workflows = tuple(workflows)
    together = _together(workflows, tools)
    linked = {link for workflow in workflows for link in workflow.links}
    needed = {(each.provider, each.consumer) for each in dependencies}
    fed = {(each.provider, each.consumer) for each in dependencies if _of_parameter(each)}
    if fed:
        return _Pairs(gold=together & fed, other=together - needed)
    return _Pairs(gold=together & linked, other=together - linked)


def _together(workflows: Iterable[Workflow], tools: AbstractSet[str]) -> frozenset[_Pair]:
    """Pairs of different known tools that stand in one workflow, in both orders."""
    found = (frozenset(workflow.nodes) & tools for workflow in workflows)
    return frozenset((a, b) for nodes in found for a in nodes for b in nodes if a != b)


def _of_parameter(dependency: Dependency) -> bool:
    return dependency.type.upper().startswith("PARAMETER")


def _problem(label: str, pairs: _Pairs, tools: Mapping[str, Tool]) -> ProvidesProblem:
    asked = sorted(pairs.gold | pairs.other)
    gold = np.array([pair in pairs.gold for pair in asked], dtype=np.float64)
    consumers = {tool: at for at, tool in enumerate(sorted({end for _, end in asked}))}
    groups = np.array([consumers[end] for _, end in asked], dtype=np.int64)

    def judge(answers: Float64[np.ndarray, " cases"]) -> Measured:
        said = _said(answers, len(asked))
        return Measured(
            metrics={
                "F1": pooled_f1(said, gold),
                "precision": precision(said, gold),
                "recall": recall(said, gold),
            },
            groups=groups,
        )

    question = ProvidesQuestion(pairs=tuple((tools[a], tools[b]) for a, b in asked))
    return Problem(task=TASK.name, label=label, question=question, judge=judge)


def _said(answers: Float64[np.ndarray, " cases"], n_cases: int) -> Float64[np.ndarray, " cases"]:
    if answers.shape != (n_cases,):
        msg = f"expected {n_cases} numbers, one per pair, got shape {answers.shape}"
        raise ValueError(msg)
    if np.isnan(answers).any():
        msg = "expected a number for each pair, got NaN"
        raise ValueError(msg)
    return (answers >= 0.5).astype(np.float64)  # noqa: PLR2004  # `ProvidesQuestion` says so
