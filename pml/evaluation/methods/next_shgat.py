"""What comes next by SHGAT: state of what was called, the intent, and the evidence of past runs.

Trained on the training sequences, each scored on a view without its intent
(`pml.evaluation.next_training`).  ``shgat`` is the whole model, or its evidence term alone where
that is better (`pml.evaluation.next_rankers`); ``shgat evidence`` is that term whatever is better.
Either answers only where it beats the best simple method on training intents that it has not
learned from (`pml.learning.gate`); elsewhere that method does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pml.discovery.next_tool import NextToolEvidence, Place
from pml.embedding.static import default_encoder
from pml.evaluation.next_parts import ranked
from pml.evaluation.next_rankers import LEAST_FOLDS, NextRankers
from pml.evaluation.next_training import NextSettings, NextViews
from pml.evaluation.once import once_for
from pml.evaluation.questions import NextQuestion, Point, Rankings
from pml.models.inputs import Queries

_BLOCK = 256
"""Points whose evidence is held at once."""
_DIGITS = 4
"""Of scores: how many points are asked together may change further ones."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Prepared:
    """Of the training of a question: what is learned, and what is known at the end."""

    views: NextViews
    rankers: NextRankers | None
    """None where there is too little to learn from."""
    evidence: NextToolEvidence


def _training(question: NextQuestion) -> tuple[object, ...]:
    return question.tools, question.train, question.past_intents


@once_for(_training)
def _prepared(question: NextQuestion) -> _Prepared:
    """The same object for questions of one training, whatever they ask."""
    settings = NextSettings()
    views = NextViews(question, settings, default_encoder())
    folds, (view, evidence) = views.folds(), views.full()
    lost = views.lost({tool.id: tool.server for tool in question.tools})
    rankers = NextRankers(folds, view, settings, lost) if len(folds) >= LEAST_FOLDS else None
    return _Prepared(views=views, rankers=rankers, evidence=evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class NextShgat:
    """What comes next by a ranker that is learned."""

    name: str
    whole: bool
    """Whether the whole model may answer, or its evidence term alone."""
    task: str = "next"

    def answers(self, question: NextQuestion) -> Rankings | None:
        """All tools; None where intents of training are unknown, or it shows too little."""
        if len(question.past_intents) != len(question.train) or not question.tools:
            return None
        prepared = _prepared(question)
        if prepared.rankers is None:
            return None
        ranker = prepared.rankers.best if self.whole else prepared.rankers.evidence
        tools = tuple(tool.id for tool in question.tools)
        return [
            ranked(tools, np.asarray(scores, dtype=np.float64).round(_DIGITS))
            for start in range(0, len(question.points), _BLOCK)
            for scores in ranker(_asked(prepared, question.points[start : start + _BLOCK]))
        ]


def _asked(prepared: _Prepared, points: Sequence[Point]) -> Queries:
    places = [Place(prefix=point.prefix, intent=point.intent) for point in points]
    return prepared.views.queries(prepared.evidence, places)


METHODS = (
    NextShgat(name="shgat", whole=True),
    NextShgat(name="shgat evidence", whole=False),
)
