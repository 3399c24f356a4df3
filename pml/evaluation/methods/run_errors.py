"""Whether a run failed: by how many of its calls did."""

import numpy as np
from jaxtyping import Float64

from pml.evaluation.questions import RunsQuestion


class FailedCalls:
    """The number of failed calls."""

    name = "failed calls"
    task = "runs"

    def answers(self, question: RunsQuestion) -> Float64[np.ndarray, " cases"]:
        """0 for a run without calls."""
        counts = [sum(call.ok is False for call in run) for run in question.runs]
        return np.array(counts, dtype=np.float64)
