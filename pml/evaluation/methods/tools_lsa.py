"""Method `lsa` of the task `tools`."""

from pml.evaluation.known_tools import known_tools
from pml.evaluation.questions import Scores, ToolsQuestion


class Lsa:
    """Cosine in up to 200 topics, learned from tools and past intents."""

    name = "lsa"
    task = "tools"

    def answers(self, question: ToolsQuestion) -> Scores:
        """A score per intent and tool."""
        return known_tools(question).lsa
