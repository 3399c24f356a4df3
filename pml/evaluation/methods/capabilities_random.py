"""Method `random` of the task `capabilities`: what chance reaches."""

import numpy as np

from pml.evaluation.questions import CapabilitiesQuestion, Scores

_SEED = 1


class Random:
    """Random numbers, the same ones each time."""

    name = "random"
    task = "capabilities"

    def answers(self, question: CapabilitiesQuestion) -> Scores:
        """A score per intent and capability."""
        shape = (len(question.intents), len(question.candidates))
        return np.random.default_rng(_SEED).random(shape).astype(np.float32)
