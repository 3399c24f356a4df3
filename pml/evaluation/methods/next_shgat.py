"""What comes next by SHGAT: state of what was called, the intent, and the evidence of past runs.

Trained on the training sequences, each scored on a view without its intent
(`pml.evaluation.next_training`).  ``shgat`` is the whole model, ``shgat evidence`` its evidence
term learned by itself.  Either answers only where it beats the best simple method on training
intents that it has not learned from (`pml.learning.gate`); elsewhere that method does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pml.discovery.next_tool import NextToolEvidence, Place
from pml.embedding.static import default_encoder
from pml.evaluation.next_parts import ranked
from pml.evaluation.next_rankers import LEAST_FOLDS, gated, model
from pml.evaluation.next_training import NextSettings, NextViews
from pml.evaluation.once import once
from pml.evaluation.questions import NextQuestion, Point, Rankings
from pml.learning.folds import TrainingFold, View
from pml.models.inputs import Queries

_BLOCK = 256
"""Points whose evidence is held at once."""
_DIGITS = 4
"""Of scores: how many points are asked together may change further ones."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Prepared:
    """Of a question: what is learned from, and what is known at the end."""

    views: NextViews
    folds: tuple[TrainingFold, ...]
    view: View
    evidence: NextToolEvidence


@once
def _prepared(question: NextQuestion) -> _Prepared:
    views = NextViews(question, NextSettings(), default_encoder())
    view, evidence = views.full()
    return _Prepared(views=views, folds=views.folds(), view=view, evidence=evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class NextShgat:
    """What comes next by a ranker that is learned."""

    name: str
    whole: bool
    """Whether the whole model answers, or its evidence term alone."""
    task: str = "next"

    def answers(self, question: NextQuestion) -> Rankings | None:
        """All tools; None where intents of training are unknown, or it shows too little."""
        if len(question.past_intents) != len(question.train) or not question.tools:
            return None
        prepared = _prepared(question)
        if len(prepared.folds) < LEAST_FOLDS:
            return None
        settings = NextSettings()
        ranker = (
            model(prepared.folds, prepared.view, settings) if self.whole else gated(prepared.folds)
        )
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
