"""A plan for an intent: the cheapest hyperpath over tools and known sequences (DR-DSP, LE-6).

Retrieval is fixed to BM25 over the tools' texts, as for ``bm25 shortest path``.  What a score is
worth is learned on the training split: a logistic regression says how likely a tool with that
score and rank is in the plan.  How much a sequence's frequency counts is chosen on a part of the
training split that neither the regression nor the frequencies have seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from sklearn.linear_model import LogisticRegression

from pml.evaluation.dataset import Workflow
from pml.evaluation.overlap import f1
from pml.evaluation.plan_graph import PlanGraph
from pml.evaluation.plan_parts import plan_parts
from pml.evaluation.questions import Plans, PlansQuestion, Scores
from pml.evaluation.retrieval import Texts, relative
from pml.evaluation.text import tool_text

FREQUENCIES = (0.5, 1.0, 1.5)
"""Weights of frequency that are tried."""
FITTED = 300_000
"""Pairs of a training intent and a tool that the regression sees at most."""
HELD_OUT = 150
"""Those by which the weight is chosen, a quarter of the training split at most."""


@dataclass(frozen=True, slots=True)
class DrDsp:
    """The cheapest hyperpath."""

    name: str = "bm25 dr-dsp"
    task: str = "plans"

    def answers(self, question: PlansQuestion) -> Plans | None:
        """A plan for each intent; None without training."""
        train = [each for each in question.train if each.nodes]
        if not train:
            return None
        texts = Texts([tool_text(tool) for tool in question.tools])
        tools = [tool.id for tool in question.tools]
        order = np.random.default_rng(0).permutation(len(train))
        held = min(HELD_OUT, len(train) // 4)
        kept_out, rest = [train[i] for i in order[:held]], [train[i] for i in order[held:]]
        odds = _fitted(texts, rest[: FITTED // len(tools) + 1], tools)
        weight = _chosen(odds, texts, rest, kept_out, tools)
        graph = PlanGraph((each.nodes for each in train), tools, frequency=weight)
        return _plans(graph, odds(plan_parts(question).bm25), tools)


class _Odds:
    """Log-odds that a tool is in the plan, from its score and its rank."""

    def __init__(self, scores: Scores, served: Float64[np.ndarray, "cases tools"]) -> None:
        self._regression = LogisticRegression(max_iter=500)
        self._regression.fit(_features(scores).reshape(-1, 5), served.ravel())

    def __call__(self, scores: Scores) -> Float64[np.ndarray, "cases tools"]:
        flat = self._regression.decision_function(_features(scores).reshape(-1, 5))
        return np.asarray(flat, dtype=np.float64).reshape(scores.shape).round(6)


def _features(scores: Scores) -> Float64[np.ndarray, "cases tools features"]:
    """Share of the best score, its root, the rank, whether it is the best, whether there is any."""
    order = np.argsort(-scores, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(scores.shape[1])[None, :], axis=1)
    some = scores > 0
    parts = [scores, np.sqrt(scores), np.log1p(np.where(some, rank, 100)), some & (rank == 0), some]
    return np.stack([np.asarray(part, dtype=np.float64) for part in parts], axis=-1)


def _fitted(texts: Texts, train: Sequence[Workflow], tools: Sequence[str]) -> _Odds:
    place = {tool: at for at, tool in enumerate(tools)}
    served = np.zeros((len(train), len(tools)))
    for case, workflow in enumerate(train):
        served[case, [place[node] for node in workflow.nodes if node in place]] = 1
    return _Odds(relative(texts.bm25([each.intent for each in train])), served)


def _chosen(
    odds: _Odds,
    texts: Texts,
    rest: Sequence[Workflow],
    held: Sequence[Workflow],
    tools: Sequence[str],
) -> float:
    """The weight of frequency with the best node-F1 on held-out training workflows."""
    if not held:
        return FREQUENCIES[1]
    scores = odds(relative(texts.bm25([each.intent for each in held])))

    def reached(weight: float) -> float:
        graph = PlanGraph((each.nodes for each in rest), tools, frequency=weight)
        plans = _plans(graph, scores, tools)
        return sum(
            f1(frozenset(plan.nodes), frozenset(each.nodes))
            for plan, each in zip(plans, held, strict=True)
        )

    return max(FREQUENCIES, key=reached)


def _plans(
    graph: PlanGraph, odds: Float64[np.ndarray, "cases tools"], tools: Sequence[str]
) -> Plans:
    return [graph.plan(dict(zip(tools, row, strict=True))) for row in odds.tolist()]
