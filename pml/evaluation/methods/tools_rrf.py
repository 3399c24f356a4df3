"""Method `rrf` of the task `tools`."""

from pml.evaluation.fusing import fused
from pml.evaluation.known_tools import known_tools
from pml.evaluation.questions import Scores, ToolsQuestion


class Fused:
    """Reciprocal rank fusion of BM25 and past intents; of BM25 and TF-IDF where none is past."""

    name = "rrf"
    task = "tools"

    def answers(self, question: ToolsQuestion) -> Scores:
        """A score per intent and tool."""
        known = known_tools(question)
        return fused([known.bm25, known.tfidf if known.knn is None else known.knn])
