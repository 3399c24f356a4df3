"""What comes next by the intent: alone, and together with a Markov chain."""

import numpy as np

from pml.evaluation.next_parts import next_parts, ranked
from pml.evaluation.questions import NextQuestion, Rankings

_UNSEEN = 0.5
"""Chance that the chain is taken to leave to all tools together."""
_UNSAID = 0.02
"""What a tool whose text has no word of the intent counts for."""


class MarkovTimesIntent:
    """Chance after the last call, times how well the tool's text fits the intent."""

    name = "markov1 x intent tfidf"
    task = "next"

    def answers(self, question: NextQuestion) -> Rankings:
        """All tools."""
        parts = next_parts(question)
        floor = _UNSEEN / max(len(parts.tools), 1)
        rankings = []
        for point in question.points:
            chances = parts.chances(point.prefix, order=1) + floor
            rankings.append(ranked(parts.tools, chances * (_UNSAID + parts.fit(point.intent))))
        return rankings


class UnusedByIntent:
    """How well a tool's text fits the intent; tools that were called already come last."""

    name = "intent tfidf unused tools"
    task = "next"

    def answers(self, question: NextQuestion) -> Rankings:
        """All tools."""
        parts = next_parts(question)
        place = {tool: at for at, tool in enumerate(parts.tools)}
        rankings = []
        for point in question.points:
            scores = parts.fit(point.intent).copy()
            scores[np.array([place[t] for t in point.prefix if t in place], dtype=np.int64)] = 0
            rankings.append(ranked(parts.tools, scores))
        return rankings
