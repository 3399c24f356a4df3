"""Method `dense` of the task `capabilities`."""

from pml.evaluation.known_capabilities import known_capabilities
from pml.evaluation.questions import CapabilitiesQuestion, Scores


class Dense:
    """The largest cosine with a past intent, or with the title, to the encoder that PML brings."""

    name = "dense"
    task = "capabilities"

    def answers(self, question: CapabilitiesQuestion) -> Scores:
        """A score per intent and capability."""
        return known_capabilities(question).dense
