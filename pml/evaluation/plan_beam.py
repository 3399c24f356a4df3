"""Plans for an intent, call by call: what is likely to be called next, until nothing is.

A plan of training is a sequence that begins with a sign and ends with another.  The end counts as
a tool, so that a ranker of the next tool (`pml.evaluation.next_rankers`) also says when a plan is
complete, and its softmax is the chance of each step.  The likeliest plans are found by beam search.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float64

from pml.discovery.next_tool import NextToolEvidence, Place
from pml.evaluation.next_training import NextViews
from pml.evaluation.next_weighed import Ranker

START, END = "\x02", "\x03"
"""Start and end of text: no tool has such an id."""
_WIDTH = 6
"""Beginnings that are followed up."""
_LONGEST = 7
_LEAST = 0.01
"""Chance of a beginning below which it is given up."""
_Sequence = tuple[str, ...]


class PlanBeam:
    """Says which sequences of calls are likely for an intent.

    Args:
        tools: Ids, in the order of the evidence; the end is one of them.
        views: Makes queries.
        evidence: Of past sequences with both signs.
        rank: Says what comes next.
    """

    def __init__(
        self, tools: Sequence[str], views: NextViews, evidence: NextToolEvidence, rank: Ranker
    ) -> None:
        self._ids = tuple(tools)
        self._views, self._evidence, self._rank = views, evidence, rank

    def plans(self, intent: str) -> Mapping[_Sequence, float]:
        """Complete sequences of calls with their chances, which sum to at most 1."""
        open_: dict[_Sequence, float] = {(START,): 0.0}
        complete: dict[_Sequence, float] = {}
        for _ in range(_LONGEST):
            found: dict[_Sequence, float] = {}
            for prefix, row in zip(open_, self._log_chances(intent, list(open_)), strict=True):
                for at in np.argsort(-row, kind="stable")[:_WIDTH].tolist():
                    step, chance = self._ids[at], open_[prefix] + float(row[at])
                    if step != END and step != prefix[-1]:
                        found[*prefix, step] = chance
                    elif step == END and len(prefix) > 1:
                        complete[prefix[1:]] = float(np.exp(chance))
            likely = sorted(found, key=lambda prefix: -found[prefix])[:_WIDTH]
            open_ = {prefix: found[prefix] for prefix in likely if np.exp(found[prefix]) > _LEAST}
            if not open_:
                break
        return complete

    def _log_chances(
        self, intent: str, prefixes: Sequence[_Sequence]
    ) -> Float64[np.ndarray, "prefixes tools"]:
        places = [Place(prefix=prefix, intent=intent) for prefix in prefixes]
        scores = self._rank(self._views.queries(self._evidence, places))
        rounded = scores.astype(np.float64).round(4)
        most = rounded.max(axis=1, keepdims=True)
        sums = np.log(np.exp(rounded - most).sum(axis=1, keepdims=True))
        return np.asarray(rounded - most - sums)
