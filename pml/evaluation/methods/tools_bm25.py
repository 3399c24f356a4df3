"""Method `bm25` of the task `tools`."""

from pml.evaluation.known_tools import known_tools
from pml.evaluation.questions import Scores, ToolsQuestion


class Bm25:
    """BM25 of the intent with each tool's name, twice, and description."""

    name = "bm25"
    task = "tools"

    def answers(self, question: ToolsQuestion) -> Scores:
        """A score per intent and tool."""
        return known_tools(question).bm25
