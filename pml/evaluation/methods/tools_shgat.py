"""Methods `shgat` and `shgat gated` of the task `tools`."""

from pml.evaluation.questions import Scores, ToolsQuestion
from pml.evaluation.shgat_asking import shgat_of_tools, torch_is_there


class Shgat:
    """The model, trained on the question's training split, whatever the gate says."""

    name = "shgat"
    task = "tools"

    def answers(self, question: ToolsQuestion) -> Scores | None:
        """None without torch."""
        return shgat_of_tools(question).model if torch_is_there() else None


class ShgatGated:
    """What ships: the model where it beats search on held-back training intents, else search."""

    name = "shgat gated"
    task = "tools"

    def answers(self, question: ToolsQuestion) -> Scores | None:
        """None without torch."""
        return shgat_of_tools(question).gated if torch_is_there() else None
