"""A plan for an intent: the one that served the most similar intent of training."""

from pml.evaluation.dataset import Workflow
from pml.evaluation.plan_parts import plan_parts
from pml.evaluation.questions import Plan, Plans, PlansQuestion


class PlanCopy:
    """The plan of the nearest training intent, whole."""

    name = "kNN-1 plan copy"
    task = "plans"

    def answers(self, question: PlansQuestion) -> Plans | None:
        """A copy for each intent; None without training."""
        if not question.train:
            return None
        nearest = plan_parts(question).neighbours.indices[:, 0].tolist()
        return [_copied(question.train[index]) for index in nearest]


def _copied(workflow: Workflow) -> Plan:
    return Plan(nodes=workflow.nodes, links=workflow.links)
