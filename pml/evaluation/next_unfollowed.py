"""What answers after a call that nobody has gone on from: chosen by itself, where servers are new.

A place is *unfollowed* where no past run called anything after its last call.  There all counts
are of other calls, and past intents led elsewhere; what texts and the prefix itself tell is left.
Folds of held-back intents have hardly any such places, so neither weights nor gate of
`pml.evaluation.next_rankers` say how to rank there.  Requests for lost servers have many
(`pml.learning.cold_start`).  Of each part the unfollowed places are ranked by evidence whose
weights were learned on the other parts, and it has to beat the simple method that is best on all.
The better of the two has to beat what answers elsewhere.

Whether a place is unfollowed is known when it is asked, so no share of such places has to be
guessed: each is answered by what was chosen for its kind.  States of the calls have no part in it,
as they are learned from what followed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32, Float64

from pml.discovery.next_tool import STATS
from pml.evaluation.next_training import LostExamples
from pml.evaluation.next_weighed import Ranker, every, weighed
from pml.learning.cold_start import ColdCases, merged
from pml.learning.gate import ColdPair, gate, mean_over_groups, ndcg
from pml.models.inputs import Queries

_TIMES = STATS.index("times of the last call")
_LEAST_PARTS = 2
"""To learn from, and to judge by."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chosen:
    """What ranks unfollowed places best, and how it did in requests for lost servers."""

    ranker: Ranker
    """With weights of all parts, if it has any."""
    reached: Float64[np.ndarray, " queries"]
    """nDCG@10 of all parts' places, each ranked without its part; NaN if not unfollowed."""
    lost: tuple[LostExamples, ...]

    def beats(self, standing: Ranker) -> bool:
        """Whether it ranks them better than this, and not by chance (`pml.learning.gate`).

        Args:
            standing: What answers elsewhere, or if that is a model the weighed evidence that it
                is given.  Either knows what is lost here; a model knows it by states of its own.
        """
        cases = merged(_cases(part, standing) for part in self.lost)
        return _better(self.reached, cases.model, cases)


def chosen(lost: Sequence[LostExamples]) -> Chosen | None:
    """Weighed evidence, or the best fallback if that does not beat it.

    Args:
        lost: By the part that is lost.

    Returns:
        None where there are too few parts, or too few intents with unfollowed places, to tell.
    """
    if len(lost) < _LEAST_PARTS:
        return None
    asked = [part.asked for part in lost]
    cases = merged(
        _cases(part, weighed((), [*asked[:at], *asked[at + 1 :]])) for at, part in enumerate(lost)
    )
    if not cases.enough:
        return None
    simple = {
        name: mean_over_groups(reached, cases.groups)[0]
        for name, reached in cases.fallbacks.items()
    }
    best = max(simple, key=simple.__getitem__)
    learned = _better(cases.model, cases.fallbacks[best], cases)
    return Chosen(
        ranker=weighed((), asked) if learned else asked[0].fallbacks[best],
        reached=cases.model if learned else cases.fallbacks[best],
        lost=tuple(lost),
    )


def completed(ranker: Ranker, other: Ranker) -> Ranker:
    """The first where the last call was followed in past runs, the other where it was not."""

    def scores(queries: Queries) -> Float32[np.ndarray, "queries candidates"]:
        rows = unfollowed(queries)
        if not rows.any():
            return ranker(queries)
        return np.where(rows[:, None], other(queries), ranker(queries)).astype(np.float32)

    return scores


def unfollowed(queries: Queries) -> Bool[np.ndarray, " queries"]:
    """Whether no past run called anything after the last call."""
    return np.asarray(queries.stats[:, _TIMES] == 0)


def _cases(part: LostExamples, ranker: Ranker) -> ColdCases:
    """How a ranker and the fallbacks do; places that are not unfollowed count as unanswered."""
    queries, targets = every(part.asked), part.asked.targets
    answered = np.where(unfollowed(queries), 1.0, np.nan)
    return ColdCases(
        model=ndcg(ranker(queries), targets.positives) * answered,
        fallbacks={
            name: ndcg(of(queries), targets.positives) * answered
            for name, of in part.asked.fallbacks.items()
        },
        groups=targets.groups,
        servers=part.servers,
        share=1.0,
    )


def _better(
    one: Float64[np.ndarray, " queries"], other: Float64[np.ndarray, " queries"], cases: ColdCases
) -> bool:
    """By the gate's test of requests for lost servers, as if there were no others."""
    pair = ColdPair(
        model=one, fallback=other, groups=cases.groups, servers=cases.servers, share=cases.share
    )
    return gate(one, other, cases.groups, seed=0, cold=pair).passes
