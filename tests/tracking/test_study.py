"""A study is gone on with under its name, and ends bad trials early (RW-4)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pml.errors import NotFoundError, StoreError
from pml.tracking.study import Choice, Finding, Pruner, Range, Space, Study, Trial, open_study

SPACE: Space = {
    "train.learning_rate": Range(low=1e-4, high=1e-1, log=True),
    "model.heads": Range(low=1, high=8),
    "model.message_passing": Choice(choices=(True, False)),
}


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/studies.db"


@pytest.fixture
def study(url: str) -> Iterator[Study]:
    with open_study(url, "first", SPACE, seed=1) as study:
        yield study


def heads(trial: Trial) -> float:
    return float(trial.parameters["model.heads"])


def test_parameters_are_within_their_ranges_and_whole_where_the_ends_are(study: Study) -> None:
    tried: list[Trial] = []

    def objective(trial: Trial) -> float:
        tried.append(trial)
        return heads(trial)

    study.search(objective, trials=9)

    for trial in tried:
        values = trial.parameters
        assert 1e-4 <= float(values["train.learning_rate"]) <= 1e-1
        assert values["model.heads"] in range(1, 9)
        assert values["model.message_passing"] in (True, False)
    assert study.finding().best_value == max(map(heads, tried))
    assert study.finding().best["model.heads"] == max(map(heads, tried))


def test_a_study_is_gone_on_with_until_enough_trials_are_finished(url: str, study: Study) -> None:
    study.search(heads, trials=3)

    with open_study(url, "first", SPACE, seed=2, create=False) as again:
        again.search(heads, trials=5)
        again.search(heads, trials=4)

        assert again.finding().complete == 5


def test_who_searches_side_by_side_makes_no_trial_more_than_is_missing(
    url: str, study: Study
) -> None:
    """While one makes its last trial, the other begins none: it would come on top."""
    left = [None] * 3

    def take() -> bool:
        return bool(left) and left.pop() is None

    def objective(trial: Trial) -> float:
        if trial.number < 2:  # within a trial of the one, all that the other makes
            with open_study(url, "first", SPACE, seed=2) as other:
                other.search(objective, trials=3, take=take)
        return heads(trial)

    study.search(objective, trials=3, take=take)

    assert study.finding().complete == 3


@pytest.mark.parametrize("pruner", Pruner)
def test_a_trial_worse_than_the_others_is_ended_early(url: str, pruner: Pruner) -> None:
    steps: dict[int, int] = {}

    def objective(trial: Trial) -> float:
        for step in range(1, 10):
            steps[trial.number] = step
            trial.report(step, -float(trial.number))
        return -float(trial.number)

    with open_study(url, "worse", SPACE, seed=1, pruner=pruner) as study:
        study.search(objective, trials=9)
        found = study.finding()

    assert found.pruned > 0
    assert found.complete + found.pruned == 9
    assert found.best_number == 0
    assert min(steps.values()) < 9 == steps[0]


def test_an_objective_that_raises_ends_the_search_and_its_trial_has_failed(study: Study) -> None:
    def broken(trial: Trial) -> float:
        raise ZeroDivisionError(trial.number)

    with pytest.raises(ZeroDivisionError):
        study.search(broken, trials=2)

    assert study.finding() == Finding(
        name="first",
        complete=0,
        pruned=0,
        failed=1,
        running=0,
        best={},
        best_value=None,
        best_number=None,
    )


def test_equal_seeds_propose_equal_parameters_in_one_process(tmp_path: Path) -> None:
    tried: list[list[object]] = []
    for name in ("one", "two"):
        seen: list[object] = []

        def objective(trial: Trial, seen: list[object] = seen) -> float:
            seen.append(trial.parameters)
            return heads(trial)

        with open_study(f"sqlite:///{tmp_path}/{name}.db", "same", SPACE, seed=5) as study:
            study.search(objective, trials=6)
        tried.append(seen)

    assert tried[0] == tried[1]


def test_a_study_that_is_not_there_is_said(url: str) -> None:
    with (
        pytest.raises(NotFoundError, match="no study 'gone'"),
        open_study(url, "gone", SPACE, seed=1, create=False),
    ):
        pass


def test_a_storage_that_cannot_be_had_is_said(tmp_path: Path) -> None:
    with (
        pytest.raises(StoreError, match="the storage of studies cannot be used"),
        open_study(f"sqlite:///{tmp_path}/no/folder.db", "first", SPACE, seed=1),
    ):
        pass


@pytest.mark.parametrize(
    "wrong", [{"low": 2, "high": 1}, {"low": 0, "high": 1, "log": True}], ids=str
)
def test_a_range_without_numbers_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expected 0 < low <= high"):
        Range(**wrong)  # type: ignore[arg-type]
