"""Methods `shgat` and `shgat gated` of the task `capabilities`."""

from pml.evaluation.questions import CapabilitiesQuestion, Scores
from pml.evaluation.shgat_asking import shgat_of_capabilities, torch_is_there


class Shgat:
    """The model, trained on the candidates' past intents, whatever the gate says."""

    name = "shgat"
    task = "capabilities"

    def answers(self, question: CapabilitiesQuestion) -> Scores | None:
        """None without torch, or where nothing is past."""
        asked = shgat_of_capabilities(question) if torch_is_there() else None
        return None if asked is None else asked.model


class ShgatGated:
    """What ships: the model where it beats search on held-back past intents, else search."""

    name = "shgat gated"
    task = "capabilities"

    def answers(self, question: CapabilitiesQuestion) -> Scores | None:
        """None without torch, or where nothing is past."""
        asked = shgat_of_capabilities(question) if torch_is_there() else None
        return None if asked is None else asked.gated
