"""Method `random` of the task `tools`: what chance reaches."""

import numpy as np

from pml.evaluation.questions import Scores, ToolsQuestion

_SEED = 1


class Random:
    """Random numbers, the same ones each time."""

    name = "random"
    task = "tools"

    def answers(self, question: ToolsQuestion) -> Scores:
        """A score per intent and tool."""
        shape = (len(question.intents), len(question.tools))
        return np.random.default_rng(_SEED).random(shape).astype(np.float32)
