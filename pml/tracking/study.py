"""Studies: a search for parameters, by several processes at once, that can be gone on with.

Optuna (T. Akiba et al., KDD 2019, arXiv:1907.10902) proposes parameters with TPE (J. Bergstra et
al., NeurIPS 2011); a trial that is worse than the others were at its epoch is ended early: by the
median (D. Golovin et al., KDD 2017), or by Hyperband (L. Li et al., JMLR 18, 2018).

A study is known by its name within its storage.  Every process that opens it adds trials until
enough are finished; one whose process died is marked as failed when its heart has not beaten for a
while, and does not count.  The module is the only one that imports optuna.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.pruners import BasePruner, HyperbandPruner, MedianPruner
from optuna.storages import RDBStorage
from optuna.trial import TrialState
from sqlalchemy.exc import SQLAlchemyError

from pml.errors import NotFoundError, StoreError
from pml.tracking.tracked import Scalar

HEARTBEAT_S = 15
"""How often a process tells that its trial goes on."""
GRACE_S = 60
"""After so long without a sign a trial is taken to be dead."""
_STARTUP = 5
"""Trials that are drawn at random and never pruned: there is nothing to compare them with."""
_FINISHED = (TrialState.COMPLETE, TrialState.PRUNED)


def _always() -> bool:
    return True


class Pruner(StrEnum):
    """How a trial is ended early."""

    MEDIAN = "median"
    HYPERBAND = "hyperband"


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Numbers from ``low`` to ``high``, both included; whole ones if both are.

    Raises:
        ValueError: ``low`` is above ``high``, or a logarithm of it is asked that it has not.
    """

    low: float | int
    high: float | int
    log: bool = False

    def __post_init__(self) -> None:
        if self.low > self.high or (self.log and self.low <= 0):
            msg = f"expected 0 < low <= high (low may be negative without log), got {self}"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One of these."""

    choices: tuple[Scalar, ...]


Space = Mapping[str, Range | Choice]
"""By name of a parameter."""


class Trial:
    """Parameters to try, under way."""

    def __init__(self, trial: optuna.Trial, space: Space) -> None:
        self.number = trial.number
        self.parameters: Mapping[str, Scalar] = {
            name: _suggested(trial, name, range_) for name, range_ in space.items()
        }
        self._trial = trial

    def report(self, step: int, value: float) -> None:
        """Tell how good it is so far; larger is better.

        Raises:
            optuna.TrialPruned: it is not worth going on; to be let through.
        """
        self._trial.report(value, step)
        if self._trial.should_prune():
            raise optuna.TrialPruned


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a study has come to."""

    name: str
    complete: int
    pruned: int
    failed: int
    """Ended with an error, or with their process."""
    running: int
    best: Mapping[str, Scalar]
    """Parameters of the best complete trial; empty before there is one."""
    best_value: float | None
    best_number: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """An open study."""

    study: optuna.Study
    space: Space

    def search(
        self,
        objective: Callable[[Trial], float],
        *,
        trials: int,
        take: Callable[[], bool] = _always,
    ) -> None:
        """Make trials until ``trials`` of the study are complete or pruned, whoever made them.

        Args:
            objective: Says how good a trial is, larger being better; what it raises ends the
                search, and its trial counts as failed.
            trials: So many; what others have under way now is not counted, and may come on top.
            take: Asked before each trial, and false where there is none left to make.
        """
        while self.finished() < trials and take():
            self.study.optimize(lambda trial: objective(Trial(trial, self.space)), n_trials=1)

    def finding(self) -> Finding:
        """What all processes have found so far."""
        states = [trial.state for trial in self.study.get_trials(deepcopy=False)]
        complete = states.count(TrialState.COMPLETE)
        best = self.study.best_trial if complete else None
        return Finding(
            name=self.study.study_name,
            complete=complete,
            pruned=states.count(TrialState.PRUNED),
            failed=states.count(TrialState.FAIL),
            running=states.count(TrialState.RUNNING),
            best={} if best is None else best.params,
            best_value=None if best is None else best.value,
            best_number=None if best is None else best.number,
        )

    def note(self, name: str, value: str) -> None:
        """Keep something beside the study."""
        self.study.set_user_attr(name, value)

    def noted(self, name: str) -> str | None:
        """What `note` kept; None where it kept nothing."""
        found: str | None = self.study.user_attrs.get(name)
        return found

    def finished(self) -> int:
        """How many trials are complete or pruned, whoever made them."""
        return len(self.study.get_trials(deepcopy=False, states=_FINISHED))


@contextmanager
def open_study(
    url: str,
    name: str,
    space: Space,
    *,
    seed: int,
    pruner: Pruner = Pruner.MEDIAN,
    create: bool = True,
    heartbeat_s: int = HEARTBEAT_S,
    grace_s: int = GRACE_S,
) -> Iterator[Study]:
    """The study of that name in the storage, new or gone on with.

    Args:
        url: Of the storage, for SQLAlchemy.
        name: Of the study.
        space: What is varied.
        seed: Of the proposals; another one per process, which would propose the same otherwise.
        pruner: How trials are ended early.
        create: Whether it is made where there is none; else that is an error.
        heartbeat_s: See `HEARTBEAT_S`.
        grace_s: See `GRACE_S`.

    Raises:
        NotFoundError: there is none of that name, and none is to be made.
        StoreError: the storage cannot be had.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        storage = _storage(url, heartbeat_s, grace_s)
        if not create and name not in optuna.get_all_study_names(storage):
            raise NotFoundError("study", name, "`pml tune` makes one")
        study = optuna.create_study(
            storage=storage,
            study_name=name,
            direction="maximize",
            load_if_exists=True,
            sampler=optuna.samplers.TPESampler(seed=seed, n_startup_trials=_STARTUP),
            pruner=_pruner(pruner),
        )
    except SQLAlchemyError as exc:
        message = f"the storage of studies cannot be used: {str(exc).splitlines()[0]}"
        raise StoreError(message) from exc
    try:
        yield Study(study=study, space=space)
    finally:
        storage.remove_session()
        storage.engine.dispose()


def _storage(url: str, heartbeat_s: int, grace_s: int) -> RDBStorage:
    with warnings.catch_warnings():
        # The heartbeat has been called experimental since Optuna 2.5, of 2021.
        warnings.simplefilter("ignore", ExperimentalWarning)
        return RDBStorage(url, heartbeat_interval=heartbeat_s, grace_period=grace_s)


def _pruner(pruner: Pruner) -> BasePruner:
    if pruner is Pruner.HYPERBAND:
        return HyperbandPruner()
    return MedianPruner(n_startup_trials=_STARTUP)


def _suggested(trial: optuna.Trial, name: str, what: Range | Choice) -> Scalar:
    if isinstance(what, Choice):
        # It gives one of what it was given, which mypy cannot know.
        return cast("Scalar", trial.suggest_categorical(name, what.choices))
    if isinstance(what.low, int) and isinstance(what.high, int):
        return trial.suggest_int(name, what.low, what.high, log=what.log)
    return trial.suggest_float(name, what.low, what.high, log=what.log)
