"""Method `dense` of the task `tools`."""

from pml.evaluation.known_tools import known_tools
from pml.evaluation.questions import Scores, ToolsQuestion


class Dense:
    """Cosines of what intents and tools mean to the encoder that PML brings."""

    name = "dense"
    task = "tools"

    def answers(self, question: ToolsQuestion) -> Scores:
        """A score per intent and tool."""
        return known_tools(question).dense
