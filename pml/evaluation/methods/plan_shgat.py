"""A plan for an intent: the one that likely sequences of calls and past plans agree on.

What may be the right plan comes from two sides.  A ranker of the next tool, SHGAT's evidence term,
says call by call which sequences are likely (`pml.evaluation.plan_beam`); the 20 nearest past
plans were right for similar intents.  The answer is the plan whose expected likeness to them is the
greatest (minimum Bayes risk, as in ``kNN20 consensus``, which has the second side alone).

The roots of the chances, the power of the cosines and the share of past plans were chosen on 250
training workflows held out, among eight settings (experiments/012-next-and-plans).

Where most workflows are graphs and no chains, sequences say too little, and it stays silent.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from pml.embedding.static import default_encoder
from pml.evaluation.dataset import Workflow
from pml.evaluation.methods.plan_consensus import agreed
from pml.evaluation.orders import mostly_graphs
from pml.evaluation.plan_beam import PlanBeam
from pml.evaluation.plan_parts import chain, plan_parts
from pml.evaluation.questions import Plan, Plans, PlansQuestion

LEAST_INTENTS = 10
"""From which on there is something to learn."""
_ROOT = 0.5
_POWER = 4
_PAST = 0.5
"""What past plans weigh together; likely sequences weigh 1."""


class PlanShgat:
    """What likely sequences and the nearest past plans agree on."""

    name = "shgat consensus"
    task = "plans"

    def answers(self, question: PlansQuestion) -> Plans | None:
        """A plan for each intent; None with little training, or where that is graphs."""
        train = [workflow for workflow in question.train if workflow.nodes]
        if len({workflow.intent for workflow in train}) < LEAST_INTENTS or mostly_graphs(train):
            return None
        beam = PlanBeam(question.tools, train, default_encoder())
        parts = plan_parts(question)
        near = zip(
            parts.neighbours.indices.tolist(), parts.neighbours.cosines.tolist(), strict=True
        )
        plans = []
        for intent, (indices, cosines) in zip(question.intents, near, strict=True):
            likely = _weighted(beam.plans(intent))
            past = _past([question.train[index] for index in indices], cosines)
            voters = [*likely, *past]
            plans.append(
                agreed([plan for plan, _ in voters], [w for _, w in voters], parts.transitions)
            )
        return plans


def _weighted(sequences: Mapping[tuple[str, ...], float]) -> list[tuple[Plan, float]]:
    """The roots of the chances, as shares."""
    roots = {sequence: chance**_ROOT for sequence, chance in sequences.items()}
    total = sum(roots.values())
    return [(chain(sequence), root / total) for sequence, root in roots.items()]


def _past(near: Sequence[Workflow], cosines: Sequence[float]) -> list[tuple[Plan, float]]:
    weights = np.array(cosines) ** _POWER
    total = float(weights.sum())
    shares = _PAST * weights / total if total > 0 else np.full(len(near), _PAST / len(near))
    return [
        (Plan(nodes=workflow.nodes, links=workflow.links), share)
        for workflow, share in zip(near, shares.tolist(), strict=True)
    ]
