"""The task ``links``: which of these tools feed or precede which?"""

from collections.abc import Sequence

import numpy as np

from pml.evaluation.cases import asked, groups
from pml.evaluation.dataset import TRAIN, Dataset, Workflow
from pml.evaluation.measured import Mean, Measured
from pml.evaluation.overlap import f1
from pml.evaluation.questions import Links, LinksQuestion
from pml.evaluation.task import Problem

LinksProblem = Problem[LinksQuestion, Links]


class LinksGivenNodes:
    """Which pairs of a workflow's tools are links?

    Of a set with splits ``test*``, one problem ``test``: the workflows of all test splits that have
    edges; of a set with neither these nor a training split, all workflows that have edges.  Each
    is a case; those with one main tool are one group.  ``F1`` compares sets of ordered pairs.
    """

    name = "links"
    title = "Links given the tools"
    headline = "F1"
    higher_is_better = True

    def problems(self, dataset: Dataset) -> Sequence[LinksProblem]:
        """As the class says."""
        test = tuple(workflow for workflow in asked(dataset) if workflow.edges)
        if not test:
            return ()
        question = LinksQuestion(
            tools=dataset.tools,
            train=dataset.split(TRAIN),
            nodes=tuple(workflow.nodes for workflow in test),
        )

        def judge(answers: Links) -> Measured:
            return _measured(answers, test)

        return (Problem(task=self.name, label="test", question=question, judge=judge),)


def _measured(links: Links, workflows: Sequence[Workflow]) -> Measured:
    if len(links) != len(workflows):
        msg = f"expected {len(workflows)} sets of links, one per case, got {len(links)}"
        raise ValueError(msg)
    values = [f1(said, frozenset(w.links)) for said, w in zip(links, workflows, strict=True)]
    return Measured(
        metrics={"F1": Mean(values=np.array(values, dtype=np.float64))},
        groups=groups(workflows),
    )
