"""Heat: which tools and capabilities are near to what was active lately.

Heat starts where something ran and spreads along ties and memberships for a while.  After time t
it is exp(-t (I - P)) times what it was, with P the walk; that is the mean over walks whose number
of steps is Poisson distributed with mean t.

Reference: F. Chung, "The heat kernel as the pagerank of a graph", PNAS 104(50), 2007, section 2;
A. Jensen, "Markoff chains as an aid in the study of Markoff processes", 1953 (uniformization:
all terms are positive, so nothing cancels, and what is cut off is the tail of a Poisson
distribution).  Where we differ from Chung: a node without edges keeps its heat.
"""

import math

import numpy as np
from jaxtyping import Float64

from pml.features.walks import Walk

TIME = 1.0
"""Steps that heat takes on average: what is near is what shares a tool."""
TOLERANCE = 1e-9
"""Share of all heat that may be missing."""
LONGEST = 100.0
"""By then heat has spread everywhere it can; more would take steps for nothing."""


def heat(
    walk: Walk,
    sources: Float64[np.ndarray, " nodes"],
    *,
    time: float = TIME,
    tolerance: float = TOLERANCE,
) -> Float64[np.ndarray, " nodes"]:
    """Heat of each node; linear in ``sources``, and the sum stays the same.

    Of the sum, ``tolerance`` at most is missing.

    Raises:
        ValueError: a source is negative, infinite or NaN, or ``time`` is outside [0, `LONGEST`].
    """
    if not (np.isfinite(sources).all() and (sources >= 0).all()):
        msg = "sources of heat must be finite and not negative"
        raise ValueError(msg)
    if not 0 <= time <= LONGEST:
        msg = f"time must be in [0, {LONGEST:g}], got {time}"
        raise ValueError(msg)
    weight = math.exp(-time)
    x, total, step = sources, weight * sources, 0
    # The tail after step s is below the last weight times a geometric series once s > 2 t.
    while not (step > 2 * time and 2 * weight <= tolerance):
        step += 1
        x = walk.moved(x) + walk.leak * x
        weight *= time / step
        total = total + weight * x
    return np.asarray(total)
