"""A plan for an intent: the one that likely sequences of calls and past plans agree on.

What may be the right plan comes from two sides.  A ranker of the next tool, SHGAT's evidence term,
says call by call which sequences are likely (`pml.evaluation.plan_beam`); the 20 nearest past
plans were right for similar intents.  The answer is the plan whose expected likeness to them is the
greatest (minimum Bayes risk, as in ``kNN20 consensus``, which has the second side alone).

Past plans never have a tool of a server that nobody has used.  So where servers are new, this has
to compete with two others: likely sequences alone, of a ranker that has also learned from requests
for lost servers, and the two tools whose texts fit best.  The better of these serves if it beats
consensus in trials (`pml.evaluation.plan_learning`).

The roots of the chances, the power of the cosines and the share of past plans were chosen on 250
training workflows held out, among eight settings (experiments/012-next-and-plans).

Where most workflows are graphs and no chains, sequences say too little, and it stays silent.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from jaxtyping import Float64

from pml.domain.capability import normalised_intent
from pml.embedding.static import default_encoder
from pml.evaluation.dataset import Workflow
from pml.evaluation.methods.plan_consensus import agreed
from pml.evaluation.methods.plan_ordered import OrderedTools
from pml.evaluation.orders import mostly_graphs
from pml.evaluation.overlap import f1
from pml.evaluation.plan_beam import PlanBeam
from pml.evaluation.plan_learning import Beams, PlanLearning, Trial
from pml.evaluation.plan_parts import Size, chain, plan_parts
from pml.evaluation.questions import Plan, Plans, PlansQuestion
from pml.learning.cold_start import ColdCases, merged
from pml.learning.gate import LEAST_INTENTS as LEAST_JUDGED
from pml.learning.gate import ColdPair, gate

LEAST_INTENTS = 10
"""From which on there is something to learn."""
_ROOT = 0.5
_POWER = 4
_PAST = 0.5
"""What past plans weigh together; likely sequences weigh 1."""
_Way = Callable[[PlansQuestion, Beams], Plans]


class PlanShgat:
    """What likely sequences and the nearest past plans agree on, or what is better than that."""

    name = "shgat consensus"
    task = "plans"

    def answers(self, question: PlansQuestion) -> Plans | None:
        """A plan for each intent; None with little training, or where that is graphs."""
        train = [workflow for workflow in question.train if workflow.nodes]
        if _few_intents(train) or mostly_graphs(train):
            return None
        learned = PlanLearning(question.tools, train, default_encoder())
        trials = learned.cold_trials()
        way = chosen(learned.warm_trial(), trials, learned.share) if trials else of_both
        return way(question, learned.beams())


def _few_intents(train: Sequence[Workflow]) -> bool:
    return len({normalised_intent(workflow.intent) for workflow in train}) < LEAST_INTENTS


def chosen(warm: Trial, lost: Sequence[Trial], share: float) -> _Way:
    """Consensus, or the best of the others if it beats that: by mean node-F1 over all requests.

    Args:
        warm: Requests whose tools have a history.
        lost: Requests for lost servers, by part.
        share: What requests for new servers are expected to be of all.
    """
    of_warm, of_lost = _cases(warm, share), merged(_cases(trial, share) for trial in lost)
    if min(len(of_warm.model), len(of_lost.model)) < LEAST_JUDGED:
        return of_both

    def worth(name: str) -> float:
        of_kinds = of_warm.fallbacks[name].mean(), of_lost.fallbacks[name].mean()
        return float((1 - share) * of_kinds[0] + share * of_kinds[1])

    best = max(_OTHERS, key=worth)
    others = ColdPair(
        model=of_lost.fallbacks[best],
        fallback=of_lost.model,
        groups=of_lost.groups,
        servers=of_lost.servers,
        share=share,
    )
    verdict = gate(of_warm.fallbacks[best], of_warm.model, of_warm.groups, seed=0, cold=others)
    return _OTHERS[best] if verdict.passes else of_both


def _cases(trial: Trial, share: float) -> ColdCases:
    """Node-F1 of consensus, and of the others as its fallbacks."""

    def reached(way: _Way) -> Float64[np.ndarray, " requests"]:
        plans = way(trial.question, trial.beams)
        pairs = zip(plans, trial.right, strict=True)
        return np.array([f1(frozenset(p.nodes), frozenset(right.nodes)) for p, right in pairs])

    return ColdCases(
        model=reached(of_both),
        fallbacks={name: reached(way) for name, way in _OTHERS.items()},
        groups=np.arange(len(trial.right)),
        servers=trial.servers,
        share=share,
    )


def of_both(question: PlansQuestion, beams: Beams) -> Plans:
    """Consensus of likely sequences and past plans."""
    return _consensus(question, beams.warm, past=True)


def of_sequences(question: PlansQuestion, beams: Beams) -> Plans:
    """Consensus of likely sequences, some of which call what nobody has used."""
    return _consensus(question, beams.cold, past=False)


def of_texts(question: PlansQuestion, _beams: Beams) -> Plans:
    """The two tools whose texts fit best; nothing without past plans."""
    return OrderedTools(retriever="bm25", size=Size.TWO).answers(question) or ()


_OTHERS: Mapping[str, _Way] = {"likely sequences": of_sequences, "bm25 top two": of_texts}


def _consensus(question: PlansQuestion, beam: PlanBeam, *, past: bool) -> Plans:
    """Of likely sequences, and past plans if they are to count or no sequence is likely."""
    parts = plan_parts(question)
    near = zip(parts.neighbours.indices.tolist(), parts.neighbours.cosines.tolist(), strict=True)
    plans = []
    for intent, (indices, cosines) in zip(question.intents, near, strict=True):
        voters = _weighted(beam.plans(intent))
        if past or not voters:
            voters += _past([question.train[index] for index in indices], cosines)
        weights = [weight for _, weight in voters]
        plans.append(agreed([plan for plan, _ in voters], weights, parts.transitions))
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
