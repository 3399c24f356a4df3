"""Method `knn20 past intents` of the task `tools`."""

from pml.evaluation.known_tools import known_tools
from pml.evaluation.questions import Scores, ToolsQuestion


class Knn:
    """The tools of the 20 nearest past intents, each by its squared cosine."""

    name = "knn20 past intents"
    task = "tools"

    def answers(self, question: ToolsQuestion) -> Scores | None:
        """None where nothing is past."""
        return known_tools(question).knn
