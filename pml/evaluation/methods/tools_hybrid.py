"""Method `hybrid` of the task `tools`."""

from pml.evaluation.fusing import fused
from pml.evaluation.known_tools import known_tools
from pml.evaluation.questions import Scores, ToolsQuestion


class Hybrid:
    """Reciprocal rank fusion of words and meaning, and of past intents where there are any."""

    name = "hybrid"
    task = "tools"

    def answers(self, question: ToolsQuestion) -> Scores:
        """A score per intent and tool."""
        known = known_tools(question)
        voted = [] if known.knn is None else [known.knn]
        return fused([known.bm25, known.dense, *voted])
