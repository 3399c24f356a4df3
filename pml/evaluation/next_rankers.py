"""Rankers of the next tool that are learned on cross-fitted places, and fall back.

Of the whole model and its evidence term alone, one answers.  The whole model begins where the term
ends, and leaves it only as far as the stopping fold's loss says; so it is the one, unless that fold
shows that it orders worse (`beats`).  The one that was picked then has to beat the best simple
method on the judging fold, which nothing was learned, stopped or picked by.

The folds hold back intents and never tools.  So where servers are new, what answers after a call
that nobody has gone on from is chosen by itself (`pml.evaluation.next_unfollowed`).

Torch is imported where a whole model is trained and nowhere else.
"""

from collections.abc import Sequence
from functools import cached_property

from pml.evaluation.next_folds import NEXT
from pml.evaluation.next_training import LostExamples, NextSettings
from pml.evaluation.next_unfollowed import Chosen, chosen, completed
from pml.evaluation.next_weighed import Ranker, every, weighed
from pml.learning.fallbacks import best_fallbacks
from pml.learning.folds import Fallback, TaskExamples, TrainingFold, View
from pml.learning.gate import gate, ndcg

LEAST_FOLDS = 3
"""To learn from, to stop by, to judge by."""


class NextRankers:
    """What some folds teach; each part is learned once, when it is first asked for.

    Args:
        folds: At least `LEAST_FOLDS`.
        full: View of all training.
        settings: How to learn.
        lost: Places in requests for servers that are lost, where such requests are to be expected.
    """

    def __init__(
        self,
        folds: Sequence[TrainingFold],
        full: View,
        settings: NextSettings,
        lost: Sequence[LostExamples] = (),
    ) -> None:
        *self._learned_from, self._stopping, self._judging = folds
        self._folds, self._full, self._settings = tuple(folds), full, settings
        self._lost = tuple(lost)

    @cached_property
    def evidence(self) -> Ranker:
        """Weighed evidence, or the fallback if the other folds' weights do not beat it."""
        return self._completed(self._evidence)

    @cached_property
    def best(self) -> Ranker:
        """The whole model, or the evidence alone where that is better; or the fallback."""
        return self._completed(self._best)

    @cached_property
    def _evidence(self) -> Ranker:
        others = weighed(self._folds[:-1])
        passes = beats(others, self._fallback, self._judging.tasks[NEXT])
        return self._weighed if passes else self._fallback

    @cached_property
    def _best(self) -> Ranker:
        from pml.evaluation.next_whole import whole_model  # noqa: PLC0415  # torch: seconds

        alone = weighed(self._learned_from)
        whole = whole_model(self._folds, self._full, self._settings, alone)
        if beats(alone, whole.on(self._stopping.view), self._stopping.tasks[NEXT]):
            return self._evidence
        if not whole.trained.gate.get(NEXT, False):
            return self._fallback
        again = whole.refitted(self._folds, self._full, self._settings, self._weighed)
        return again.on(self._full)

    def _completed(self, ranker: Ranker) -> Ranker:
        """With what was chosen for unfollowed places, if that is better there."""
        standing = self._fallback if ranker is self._fallback else self._weighed
        if self._chosen is None or not self._chosen.beats(standing):
            return ranker
        return completed(ranker, self._chosen.ranker)

    @cached_property
    def _chosen(self) -> Chosen | None:
        return chosen(self._lost)

    @cached_property
    def _weighed(self) -> Ranker:
        return weighed(self._folds)

    @cached_property
    def _fallback(self) -> Fallback:
        """The best on all folds but the judging one."""
        return self._judging.tasks[NEXT].fallbacks[best_fallbacks(self._folds[:-1])[NEXT]]


def beats(one: Ranker, other: Ranker, examples: TaskExamples) -> bool:
    """Whether it ranks better, and not by chance (`pml.learning.gate`)."""
    queries, targets = every(examples), examples.targets
    reached, least = (ndcg(ranker(queries), targets.positives) for ranker in (one, other))
    return gate(reached, least, targets.groups, seed=0).passes
