"""What comes next by all simple predictors together, weighted by what training shows.

A logarithmic opinion pool (`pml.evaluation.conditional_logit`) of PPM, a Markov chain, the
tools' texts and the nearest past intents (`pml.evaluation.next_experts`).  How much each counts
is learned on training alone: past intents are dealt into five parts, and what was called next
in each part is what predictors that have seen only the other four are weighted by.  All predictors
that were tried are in it.  It cannot learn what to do with tools that training never calls (sgd).
"""

from collections.abc import Sequence
from itertools import islice

import numpy as np
from jaxtyping import Float64, Int64

from pml.evaluation.conditional_logit import fitted
from pml.evaluation.next_experts import FEATURES, Experts
from pml.evaluation.next_parts import ranked
from pml.evaluation.questions import NextQuestion, Point, Rankings

_PARTS = 5
_CHOICES = 120
"""Of a part, by which weights are learned: six weights need no more."""
_BLOCK = 256
"""Points whose features are held at once."""
_Choice = tuple[Point, str]
"""A point of training, and what came next there."""


class Pool:
    """PPM, Markov chain, texts and past intents, with learned weights."""

    name = "pool"
    task = "next"

    def answers(self, question: NextQuestion) -> Rankings | None:
        """All tools; None where intents of training are unknown, or it shows no next tool."""
        if len(question.past_intents) != len(question.train):
            return None
        weights = _weights(question)
        if weights is None:
            return None
        experts = Experts(question.tools, question.train, question.past_intents)
        tools = tuple(tool.id for tool in question.tools)
        return [
            ranked(tools, scores)
            for start in range(0, len(question.points), _BLOCK)
            for scores in experts.features(question.points[start : start + _BLOCK]) @ weights
        ]


def _weights(question: NextQuestion) -> Float64[np.ndarray, " features"] | None:
    rng = np.random.default_rng(0)
    intents = list(dict.fromkeys(question.past_intents))
    part = dict(zip(intents, (rng.permutation(len(intents)) % _PARTS).tolist(), strict=True))
    found = [_learned(question, part, held, rng) for held in range(_PARTS)]
    features = np.concatenate([each[0] for each in found])
    chosen = np.concatenate([each[1] for each in found])
    return fitted(features, chosen) if len(chosen) else None


def _learned(
    question: NextQuestion, part: dict[str, int], held: int, rng: np.random.Generator
) -> tuple[Float64[np.ndarray, "choices tools features"], Int64[np.ndarray, " choices"]]:
    """What predictors that have not seen a part say of its points, and which tool it was."""
    place = {tool.id: at for at, tool in enumerate(question.tools)}
    taught = list(zip(question.train, question.past_intents, strict=True))
    choices = [choice for choice in _choices(taught, part, held) if choice[1] in place]
    drawn = [choices[at] for at in islice(rng.permutation(len(choices)), _CHOICES)]
    rest = [each for each in taught if part[each[1]] != held]
    if not drawn or not rest:
        return np.zeros((0, len(place), len(FEATURES))), np.zeros(0, dtype=np.int64)
    experts = Experts(question.tools, [each[0] for each in rest], [each[1] for each in rest])
    features = experts.features([point for point, _ in drawn])
    return features, np.array([place[tool] for _, tool in drawn], dtype=np.int64)


def _choices(
    taught: Sequence[tuple[Sequence[str], str]], part: dict[str, int], held: int
) -> list[_Choice]:
    """Paths of one graph begin alike: what they share is one choice."""
    found = {
        (Point(prefix=tuple(tools[:at]), intent=intent), tools[at])
        for tools, intent in taught
        if part[intent] == held
        for at in range(1, len(tools))
    }
    return sorted(found, key=lambda choice: (choice[0].intent, choice[0].prefix, choice[1]))
