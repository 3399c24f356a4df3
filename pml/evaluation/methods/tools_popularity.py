"""Method `popularity` of the task `tools`."""

from pml.evaluation.known_tools import known_tools
from pml.evaluation.questions import Scores, ToolsQuestion


class Popularity:
    """How many past workflows used the tool, whatever is asked."""

    name = "popularity"
    task = "tools"

    def answers(self, question: ToolsQuestion) -> Scores | None:
        """None where nothing is past."""
        return known_tools(question).popularity
