"""What the methods of the task `plans` share: retrieval, transitions, how long a plan is.

Retrieval is held fixed between the methods that order tools or search paths, so that their
figures differ by that alone.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cached_property
from itertools import pairwise, permutations

import numpy as np
from jaxtyping import Float32, Int64

from pml.evaluation.dataset import Workflow
from pml.evaluation.once import once
from pml.evaluation.questions import Plan, PlansQuestion, Scores
from pml.evaluation.retrieval import Neighbours, Texts, nearest, relative, votes
from pml.evaluation.text import tool_text

MOST_ORDERED = 5
"""Tools whose orders are all compared; more stay in the order in which they were retrieved."""
_KNN_WEIGHT = 2 / 3
"""Of past intents, beside BM25's third, where both count."""
_UNSEEN = 0.01
"""Times that a transition which training never made counts as made."""


class Transitions:
    """How often a tool came right after another on a link of training."""

    def __init__(self, workflows: Iterable[Workflow]) -> None:
        self._after: dict[str, Counter[str]] = defaultdict(Counter)
        for workflow in workflows:
            for first, second in workflow.links:
                self._after[first][second] += 1
        self._totals = {first: after.total() for first, after in self._after.items()}

    def __len__(self) -> int:
        return sum(map(len, self._after.values()))

    def count(self, first: str, second: str) -> int:
        """How often; 0 for what was never seen."""
        return self._after[first][second] if first in self._after else 0

    def log_chance(self, first: str, second: str) -> float:
        """Logarithm of the smoothed chance that ``second`` follows ``first``."""
        total = self._totals.get(first, 0)
        return math.log((self.count(first, second) + _UNSEEN) / (total + 1))


class Size(Enum):
    """How many tools a plan gets."""

    TWO = "k=2"
    VOTED = "voted k"
    """As many as most of the nearest training plans have."""
    ORACLE = "oracle k"
    """As many as the right plan has."""


class PlanParts:
    """Scores of the tools for each intent, and what past plans say."""

    def __init__(self, question: PlansQuestion) -> None:
        self.tools = tuple(tool.id for tool in question.tools)
        self.transitions = Transitions(question.train)
        self._intents = question.intents
        self._train = question.train
        self._texts = [tool_text(tool) for tool in question.tools]

    @cached_property
    def neighbours(self) -> Neighbours:
        """The nearest training intents of each intent."""
        return nearest(self._intents, [each.intent for each in self._train], self._texts)

    @cached_property
    def bm25(self) -> Scores:
        """How well the tools' texts fit, as a share of the best."""
        return relative(Texts(self._texts).bm25(self._intents))

    @cached_property
    def knn(self) -> Scores:
        """Votes of the nearest training intents for their tools, as a share of the best."""
        place = {tool: at for at, tool in enumerate(self.tools)}
        served = [{place[n] for n in each.nodes if n in place} for each in self._train]
        return relative(votes(self.neighbours, served, len(self.tools)))

    @cached_property
    def both(self) -> Scores:
        """One third BM25, two thirds past intents."""
        return ((1 - _KNN_WEIGHT) * self.bm25 + _KNN_WEIGHT * self.knn).astype(np.float32)

    @cached_property
    def voted_sizes(self) -> tuple[int, ...]:
        """Numbers of tools that the nearest training plans have, by squared cosine."""
        return tuple(
            self._voted(near, cosines)
            for near, cosines in zip(
                self.neighbours.indices.tolist(), self.neighbours.cosines.tolist(), strict=True
            )
        )

    def sizes(self, choice: Size, question: PlansQuestion) -> Sequence[int]:
        """How many tools the plan for each intent gets."""
        if choice is Size.ORACLE:
            return question.sizes
        return self.voted_sizes if choice is Size.VOTED else (2,) * len(question.intents)

    def _voted(self, near: Iterable[int], cosines: Iterable[float]) -> int:
        sizes: dict[int, float] = defaultdict(float)
        for index, cosine in zip(near, cosines, strict=True):
            sizes[len(set(self._train[index].nodes))] += cosine**2
        return max(sizes, key=lambda size: sizes[size], default=0)


@once
def plan_parts(question: PlansQuestion) -> PlanParts:
    """The same object for the same question."""
    return PlanParts(question)


RETRIEVERS: Mapping[str, Callable[[PlanParts], Scores]] = {
    "bm25": lambda parts: parts.bm25,
    "kNN20": lambda parts: parts.knn,
    "bm25+kNN20": lambda parts: parts.both,
}


def best(scores: Float32[np.ndarray, " tools"], most: int) -> Int64[np.ndarray, " best"]:
    """Indices of the tools with the largest scores; equal ones in an order fixed at random."""
    mixed = np.random.default_rng(0).permutation(len(scores))
    return mixed[np.argsort(-scores[mixed], kind="stable")][:most]


def chain(tools: Sequence[str]) -> Plan:
    """Each tool linked to the next."""
    return Plan(nodes=tuple(tools), links=tuple(pairwise(tools)))


def likeliest(tools: Sequence[str], transitions: Transitions) -> Sequence[str]:
    """The order whose steps are the most likely; of equal ones the first of `permutations`."""
    if len(tools) > MOST_ORDERED:
        return tools
    chance = {pair: transitions.log_chance(*pair) for pair in permutations(tools, 2)}
    return max(permutations(tools), key=lambda order: sum(map(chance.__getitem__, pairwise(order))))
