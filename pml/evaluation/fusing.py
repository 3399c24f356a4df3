"""Several score matrices into one, by the fusion that PML's search uses."""

from collections.abc import Sequence

import numpy as np

from pml.discovery.fusion import fuse
from pml.evaluation.questions import Scores


def fused(rankings: Sequence[Scores]) -> Scores:
    """Reciprocal rank fusion, case by case (`pml.discovery.fusion`)."""
    rows = [
        fuse([np.asarray(scores[case], np.float64) for scores in rankings])
        for case in range(len(rankings[0]))
    ]
    return np.array(rows, np.float32).reshape(rankings[0].shape)
