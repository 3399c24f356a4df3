"""Dependency closure: which tool was asked for, and what has to be fetched with it?

Rules, whatever the set: a set with dependencies and workflows gives the problem ``all``, which
asks about every workflow, and, if it has a split for training and splits that begin with
``test``, the problem ``test``, which asks about those.  Gold is the set of a workflow's tools.

What a method may know beside the tools and their dependencies: in ``test`` the workflows of
the training split.  In ``all`` the workflows of the other folds, of five: the main tools (the
sets of tools, where the set names no main tool) are dealt into folds, so that a method
never knows a workflow for the tool that is asked for.  M. Stone: Cross-Validatory Choice
and Assessment of Statistical Predictions, JRSS B 36(2), 1974.
"""

from collections.abc import Sequence

import numpy as np

from pml.evaluation.cases import asked, groups
from pml.evaluation.dataset import TRAIN, Dataset, Workflow
from pml.evaluation.measured import Measured
from pml.evaluation.questions import ClosureQuestion, Closures
from pml.evaluation.ranking import measured_closures
from pml.evaluation.task import Problem

FOLDS = 5
_SEED = 0


class DependencyClosure:
    """See the head."""

    name = "closure"
    title = "Dependency closure"
    headline = "mAP10"
    higher_is_better = True

    def problems(self, dataset: Dataset) -> Sequence[Problem[ClosureQuestion, Closures]]:
        """``all`` and ``test``, or fewer."""
        workflows = tuple(one for one in dataset.workflows if one.nodes)
        if not dataset.dependencies or not workflows:
            return ()
        problems = [_problem(dataset, "all", workflows, others(workflows))]
        train, tested = dataset.split(TRAIN), tuple(one for one in asked(dataset) if one.nodes)
        if train and tested:
            problems.append(_problem(dataset, "test", tested, (train,) * len(tested)))
        return problems


def others(workflows: Sequence[Workflow]) -> tuple[tuple[Workflow, ...], ...]:
    """By workflow, those of the other folds."""
    keys = [one.main_tool or frozenset(one.nodes) for one in workflows]
    distinct = list(dict.fromkeys(keys))
    dealt = np.random.default_rng(_SEED).permutation(len(distinct)) % FOLDS
    fold = dict(zip(distinct, dealt.tolist(), strict=True))
    outside = [
        tuple(one for one, key in zip(workflows, keys, strict=True) if fold[key] != number)
        for number in range(FOLDS)
    ]
    return tuple(outside[fold[key]] for key in keys)


def _problem(
    dataset: Dataset,
    label: str,
    workflows: Sequence[Workflow],
    known: tuple[tuple[Workflow, ...], ...],
) -> Problem[ClosureQuestion, Closures]:
    question = ClosureQuestion(
        tools=dataset.tools,
        dependencies=dataset.dependencies,
        intents=tuple(workflow.intent for workflow in workflows),
        known=known,
    )
    gold = [frozenset(workflow.nodes) for workflow in workflows]

    def judge(answers: Closures) -> Measured:
        return measured_closures(answers, gold, groups(workflows))

    return Problem(task=DependencyClosure.name, label=label, question=question, judge=judge)


TASK = DependencyClosure()
