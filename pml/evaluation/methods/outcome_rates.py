"""How likely a call fails: as any call did in training, and as its tool did."""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from pml.evaluation.dataset import Call
from pml.evaluation.questions import Chances, OutcomesQuestion

_PRIOR_CALLS = 4
"""Calls that the rate of all tools counts for beside a tool's own."""


class GlobalRate:
    """The share of training calls that failed; a half if there are none."""

    name = "global rate"
    task = "outcomes"

    def answers(self, question: OutcomesQuestion) -> Chances:
        """The same for all."""
        return np.full(len(question.calls), _rate(question.train))


class ToolPosterior:
    """The mean of a Beta posterior per tool, whose prior has the mean of all tools.

    With ``p`` the global rate, the prior is Beta(4 p, 4 (1 - p)): four calls' worth.
    """

    name = "per-tool Beta posterior"
    task = "outcomes"

    def answers(self, question: OutcomesQuestion) -> Chances:
        """The global rate for tools that training never called."""
        prior = _PRIOR_CALLS * _rate(question.train)
        calls = Counter(call.tool_id for call in question.train if call.ok is not None)
        failed = Counter(call.tool_id for call in question.train if call.ok is False)
        chances = [
            (failed[call.tool_id] + prior) / (calls[call.tool_id] + _PRIOR_CALLS)
            for call in question.calls
        ]
        return np.array(chances, dtype=np.float64)


def _rate(calls: Iterable[Call]) -> float:
    known = [call.ok for call in calls if call.ok is not None]
    return known.count(False) / len(known) if known else 0.5
