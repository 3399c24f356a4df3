"""The task ``plans``: what to call for an intent, and which call follows or feeds which.

Reference:
    Wu et al.: Can Graph Learning Improve Planning in LLM-based Agents?, NeurIPS 2024,
    arXiv:2405.19119, section 5.1 (node-F1, link-F1 and exact set, mean over requests).
"""

from collections.abc import Sequence

import numpy as np

from pml.evaluation.cases import asked, groups
from pml.evaluation.dataset import TRAIN, Dataset, Workflow
from pml.evaluation.measured import Mean, Measured
from pml.evaluation.overlap import f1
from pml.evaluation.questions import Plan, Plans, PlansQuestion
from pml.evaluation.splits import sampled
from pml.evaluation.task import Problem

PlansProblem = Problem[PlansQuestion, Plans]


class PlansOfIntents:
    """Which plan serves each intent?

    Of a set whose workflows have a training split, splits ``test*`` and edges, one problem
    ``test``: the intents of all test splits, or of a sample of 1,500 where there are more.

    Each intent is a case; those with one main tool are one group.  ``nodeF1`` compares sets of
    tools, ``linkF1`` sets of ordered pairs of tools where the right plan has any, ``acc`` is 1
    where the set of tools is right.
    """

    name = "plans"
    title = "Plan for an intent"
    headline = "nodeF1"
    higher_is_better = True

    def problems(self, dataset: Dataset) -> Sequence[PlansProblem]:
        """As the class says."""
        train, test = dataset.split(TRAIN), sampled(asked(dataset))
        if not train or not any(workflow.edges for workflow in test):
            return ()
        question = PlansQuestion(
            tools=dataset.tools,
            train=train,
            intents=tuple(workflow.intent for workflow in test),
            sizes=tuple(len(set(workflow.nodes)) for workflow in test),
        )

        def judge(answers: Plans) -> Measured:
            return _measured(answers, test)

        return (Problem(task=self.name, label="test", question=question, judge=judge),)


def _measured(plans: Plans, workflows: Sequence[Workflow]) -> Measured:
    if len(plans) != len(workflows):
        msg = f"expected {len(workflows)} plans, one per intent, got {len(plans)}"
        raise ValueError(msg)
    cases = [_compared(plan, right) for plan, right in zip(plans, workflows, strict=True)]
    by_metric = np.array(cases, dtype=np.float64).reshape(-1, 3).T
    names = ("nodeF1", "linkF1", "acc")
    return Measured(
        metrics={name: Mean(values=values) for name, values in zip(names, by_metric, strict=True)},
        groups=groups(workflows),
    )


def _compared(plan: Plan, right: Workflow) -> tuple[float, float, float]:
    """Node-F1, link-F1 (NaN without links) and whether the tools are right."""
    tools, links = frozenset(plan.nodes), frozenset(plan.links)
    of_links = f1(links, frozenset(right.links)) if right.edges else float("nan")
    return f1(tools, frozenset(right.nodes)), of_links, float(tools == frozenset(right.nodes))
