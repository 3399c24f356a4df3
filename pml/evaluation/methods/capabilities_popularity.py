"""Method `popularity` of the task `capabilities`."""

import numpy as np

from pml.evaluation.questions import CapabilitiesQuestion, Scores


class Popularity:
    """How many past intents a capability served, whatever is asked."""

    name = "popularity"
    task = "capabilities"

    def answers(self, question: CapabilitiesQuestion) -> Scores | None:
        """None where nothing is past."""
        counts = [len(candidate.past_intents) for candidate in question.candidates]
        if not any(counts):
            return None
        return np.tile(np.array(counts, np.float32), (len(question.intents), 1))
