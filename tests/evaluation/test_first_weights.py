"""Training begins with weights that the folds themselves suggest (LE-5)."""

import numpy as np

from pml.evaluation.first_weights import fitted_weights
from pml.models.inputs import RankingTask
from tests.learning.catalogues import Catalogue


def test_what_says_the_answer_weighs_and_twice_is_the_same() -> None:
    folds = Catalogue(told=0.8).folds()
    (weight,) = fitted_weights(folds, RankingTask.TOOLS, columns=1)
    assert weight > 1
    assert fitted_weights(folds, RankingTask.TOOLS, columns=1) == (weight,)


def test_without_choices_nothing_weighs() -> None:
    assert fitted_weights([], RankingTask.TOOLS, columns=3) == (0, 0, 0)
    folds = Catalogue(intents=0).folds(Catalogue(intents=3).examples[:1], folds=2)
    found = np.array(fitted_weights(folds, RankingTask.NEXT_TOOL, columns=1))
    assert not found.any()
