"""Intent to tools: which tools of the whole catalogue serve an intent?

Rules, whatever the set: workflows of the split ``train`` may be learned from; those of the splits
that begin with ``test`` are asked about, or all workflows where the set has no such splits
and none for training.  Every tool of the set is a candidate; gold is the set of a workflow's
tools.  A set without tools or without workflows to ask about has no such problem.
"""

from collections.abc import Sequence

from pml.evaluation.cases import asked, groups
from pml.evaluation.dataset import TRAIN, Dataset, Workflow
from pml.evaluation.measured import Measured
from pml.evaluation.questions import Scores, ToolsQuestion
from pml.evaluation.ranking import measured
from pml.evaluation.task import Problem


class Tools:
    """See the head."""

    name = "tools"
    title = "Intent to tools"
    headline = "nDCG10"
    higher_is_better = True

    def problems(self, dataset: Dataset) -> Sequence[Problem[ToolsQuestion, Scores]]:
        """At most one."""
        workflows = asked(dataset)
        if not dataset.tools or not workflows:
            return ()
        question = ToolsQuestion(
            tools=dataset.tools,
            train=dataset.split(TRAIN),
            intents=tuple(workflow.intent for workflow in workflows),
        )
        judge = _Judge(dataset, workflows)
        return (Problem(task=self.name, label="", question=question, judge=judge),)


class _Judge:
    def __init__(self, dataset: Dataset, workflows: Sequence[Workflow]) -> None:
        places = {tool.id: place for place, tool in enumerate(dataset.tools)}
        self._gold = [
            {places[node] for node in workflow.nodes if node in places} for workflow in workflows
        ]
        self._candidates = len(places)
        self._groups = groups(workflows)

    def __call__(self, answers: Scores) -> Measured:
        return measured(answers, self._gold, self._groups, candidates=self._candidates)


TASK = Tools()
