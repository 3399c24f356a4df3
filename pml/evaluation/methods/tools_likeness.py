"""Method `bm25+knn by likeness` of the task `tools`."""

import numpy as np

from pml.evaluation.known_tools import known_tools
from pml.evaluation.questions import Scores, ToolsQuestion
from pml.evaluation.retrieval import relative

_WEIGHT = 2
"""Of past intents at most; that of texts is 1."""


class ByLikeness:
    """As `bm25+knn`, but strangers among the past intents weigh less.

    Rank fusion forgets how much better the first is than the second; a sum of relative scores
    forgets whether the nearest past intents are near at all.  Here their weight grows with the
    root of the best vote, which is about the cosine of one near past intent.
    """

    name = "bm25+knn by likeness"
    task = "tools"

    def answers(self, question: ToolsQuestion) -> Scores | None:
        """None where nothing is past."""
        known = known_tools(question)
        if known.knn is None:
            return None
        likeness = np.minimum(np.sqrt(known.knn.max(axis=1, keepdims=True, initial=0)), 1)
        scores: Scores = relative(known.bm25) + _WEIGHT * likeness * relative(known.knn)
        return scores
