"""Method `tfidf` of the task `tools`."""

from pml.evaluation.known_tools import known_tools
from pml.evaluation.questions import Scores, ToolsQuestion


class TfIdf:
    """Cosine of sublinear TF-IDF; past intents help to weigh words."""

    name = "tfidf"
    task = "tools"

    def answers(self, question: ToolsQuestion) -> Scores:
        """A score per intent and tool."""
        return known_tools(question).tfidf
