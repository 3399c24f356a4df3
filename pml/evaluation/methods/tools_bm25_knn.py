"""Method `bm25+knn` of the task `tools`."""

from pml.evaluation.known_tools import known_tools
from pml.evaluation.questions import Scores, ToolsQuestion
from pml.evaluation.retrieval import relative

_WEIGHT = 2
"""Of past intents; that of texts is 1."""


class Bm25AndKnn:
    """A weighted sum of BM25 and of the votes of past intents, each relative to its best."""

    name = "bm25+knn"
    task = "tools"

    def answers(self, question: ToolsQuestion) -> Scores | None:
        """None where nothing is past."""
        known = known_tools(question)
        if known.knn is None:
            return None
        scores: Scores = relative(known.bm25) + _WEIGHT * relative(known.knn)
        return scores
