"""Method `nearest past intent` of the task `capabilities`."""

from pml.evaluation.known_capabilities import known_capabilities
from pml.evaluation.questions import CapabilitiesQuestion, Scores


class Nearest:
    """The largest cosine of the intent with a capability's past intents."""

    name = "nearest past intent"
    task = "capabilities"

    def answers(self, question: CapabilitiesQuestion) -> Scores | None:
        """None where nothing is past."""
        return known_capabilities(question).nearest
