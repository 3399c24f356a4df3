"""What of a held-back fold is calibrated on and reported (LE-5)."""

import dataclasses

import numpy as np
import pytest
from scipy.special import expit, logsumexp

from pml.learning.calibration import Calibration, Cases, fitted
from pml.learning.examples import Example
from pml.learning.folds import HeldQueries, TaskExamples, targets_of
from pml.learning.held_back import calibrated, report
from pml.models.inputs import Queries, RankingTask

TOOLS = ("a", "b", "c")
EXAMPLES = (
    Example(task=RankingTask.TOOLS, source="1", intent="x", positives=("a",), weight=1.0),
    Example(task=RankingTask.TOOLS, source="2", intent="y", failed=("b",), weight=0.5),
    Example(task=RankingTask.TOOLS, source="3", intent="z", positives=("gone",)),
)
SCORES = np.array([[2.0, 0.5, -1.0], [1.0, 1.5, 3.0], [4.0, 4.0, 4.0]], np.float32)


def task_examples() -> TaskExamples:
    queries = Queries(
        vectors=np.zeros((3, 2), np.float32),
        evidence=np.zeros((3, 3, 1), np.float32),
        stats=np.zeros((3, 0), np.float32),
    )
    return TaskExamples(
        queries=HeldQueries(queries=queries),
        targets=targets_of(EXAMPLES, TOOLS),
        fallbacks={"said": lambda asked: asked.evidence[:, :, 0]},
    )


def test_all_candidates_count_where_something_served_even_none_of_them_and_else_what_failed() -> (
    None
):
    first, second, third = logsumexp(SCORES.astype(np.float64), axis=1)
    cases = Cases(
        scores=np.array([2.0, 0.5, -1.0, 1.5, 4.0, 4.0, 4.0]),
        log_partitions=np.array([first, first, first, second, third, third, third]),
        positive=np.array([True, False, False, False, False, False, False]),
        weights=np.array([1.0, 1.0, 1.0, 0.5, 1.0, 1.0, 1.0]),
    )
    found, expected = calibrated(task_examples(), SCORES), fitted(cases)
    np.testing.assert_allclose(found.numbers, expected.numbers, rtol=1e-9)


def test_reported_is_the_chance_of_the_best_candidate_where_something_served() -> None:
    told = report(task_examples(), SCORES, Calibration(rivalry=-0.5))
    rivals = logsumexp(SCORES.astype(np.float64), axis=1)
    of_hit, of_miss = expit(np.array([2.0, 4.0]) - rivals[[0, 2]] / 2)
    assert told.top_error == pytest.approx((1 - of_hit + of_miss) / 2)


def test_without_candidates_there_is_nothing_to_report() -> None:
    """As of capabilities where only the judging fold would have shown any."""
    queries = Queries(
        vectors=np.zeros((3, 2), np.float32),
        evidence=np.zeros((3, 0, 1), np.float32),
        stats=np.zeros((3, 0), np.float32),
    )
    examples = dataclasses.replace(
        task_examples(), queries=HeldQueries(queries=queries), targets=targets_of(EXAMPLES, ())
    )
    told = report(examples, np.zeros((3, 0), np.float32), Calibration())
    assert (told.log_loss, told.brier, told.top_error) == (0, 0, 0)
