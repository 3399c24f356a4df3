"""`pml tune`: a study of parameters over prepared folds, by several processes (RW-4).

A trial trains with its parameters and is as good as its ranking of the stopping fold; the judging
fold is not looked at, so that the gate's verdict on the winner stays honest.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pml.domain.record import Record
from pml.errors import ConfigError, RequestError
from pml.learning.training_config import Epoch, TrainingConfig
from pml.models.inputs import RankingTask
from pml.tracking.study import Choice, Pruner, Range, Space, Study, Trial, open_study
from pml.tracking.tracked import DataFacts, RunFacts, Scalar
from pml.workspace.parameters import Parameters, least
from pml.workspace.stored import read_folds
from pml.workspace.training import trained_on

_DATA = "data.hash"
_TUNABLE = ("model", "train")
"""Sections: those before are what folds were prepared with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneParameters:
    """Section ``tune`` of params.yaml."""

    trials: int = 20
    """Complete or pruned, by all processes together."""
    pruner: Pruner = Pruner.MEDIAN
    task: RankingTask = RankingTask.TOOLS
    """Whose ranking is to be good."""
    seed: int = 0
    space: Mapping[str, Any] | None = None
    """By ``section.key``: low, high and log, or choices."""

    def __post_init__(self) -> None:
        least(self, trials=1, seed=0)


_USUAL: Space = {
    "train.learning_rate": Range(low=5e-4, high=2e-2, log=True),
    "train.batch": Choice(choices=(32, 64, 128)),
    "model.heads": Choice(choices=(1, 2, 4, 8)),
    "model.feature_dim": Choice(choices=(0, 4, 8)),
    "model.message_passing": Choice(choices=(True, False)),
}


Telling = Callable[[Trial], AbstractContextManager[Any]]
"""Opens a run for a trial."""


class Work(Record, frozen=True, kw_only=True):
    """What a process of a study is told."""

    study: str
    storage: str | None
    """For SQLAlchemy; None is PML's own database."""
    data_dir: str
    folds: str
    """Folder that `write_folds` filled."""
    sections: dict[str, dict[str, Any]]
    """Of params.yaml."""
    source: str
    worker: int
    data_name: str
    data_path: str
    data_hash: str
    parent: str | None = None
    """Run in MLflow that trials are parts of; None where they are not tracked."""
    places: int | None = None
    """Inherited descriptor with a byte for each trial that is to be made: whoever reads one makes
    it.  None where nobody else makes any."""

    @property
    def parameters(self) -> Parameters:
        """Of the sections."""
        return Parameters(source=self.source, sections=self.sections)

    @property
    def data(self) -> DataFacts:
        """What is trained on."""
        return DataFacts(name=self.data_name, path=self.data_path, hash=self.data_hash)


def space_of(parameters: Parameters) -> Space:
    """What is varied.

    Raises:
        ConfigError: it is no range and no choice, or of a section that is not trained with.
    """
    given = parameters.section("tune", TuneParameters).space
    if given is None:
        return _USUAL
    return {name: _varied(parameters.source, name, said) for name, said in given.items()}


def _varied(source: str, name: str, said: object) -> Range | Choice:
    expected = "expected {low: ..., high: ..., log: ...} or {choices: [...]}"
    if name.partition(".")[0] not in _TUNABLE:
        message = f"tune.space.{name}: expected model.* or train.*, which a trial can vary"
        raise ConfigError(source, message)
    try:
        if isinstance(said, dict) and said.keys() == {"choices"}:
            return Choice(choices=tuple(said["choices"]))
        if isinstance(said, dict) and {"low", "high"} <= said.keys() <= {"low", "high", "log"}:
            return Range(**said)
    except (TypeError, ValueError) as exc:
        raise ConfigError(source, f"tune.space.{name}: {exc}") from exc
    raise ConfigError(source, f"tune.space.{name}: {expected}, found {said}")


def opened(work: Work, url: str) -> AbstractContextManager[Study]:
    """The study, as a process of it opens it.

    Raises:
        StoreError: its storage cannot be had.
    """
    how = work.parameters.section("tune", TuneParameters)
    seed = how.seed + work.worker
    return open_study(url, work.study, space_of(work.parameters), seed=seed, pruner=how.pruner)


def check_same_data(study: Study, work: Work) -> None:
    """Note what the study is of; figures of other data say nothing of these.

    Raises:
        RequestError: it is of other data, or of another task.
    """
    how = work.parameters.section("tune", TuneParameters)
    for name, value in ((_DATA, work.data_hash), ("task", str(how.task))):
        known = study.noted(name)
        if known is None:
            study.note(name, value)
        elif known != value:
            message = (
                f"the study {work.study!r} is of another {name} ({known[:12]}, not {value[:12]}): "
                "its trials cannot be compared with new ones; give --name another one"
            )
            raise RequestError(message)


def searched(study: Study, work: Work, tell: Telling | None = None) -> None:
    """Make trials until there are enough."""
    parameters = work.parameters
    how = parameters.section("tune", TuneParameters)
    folds, full = read_folds(Path(work.folds))

    def objective(trial: Trial) -> float:
        tried = parameters.with_values(trial.parameters)
        with nullcontext() if tell is None else tell(trial) as run:
            reached: list[float] = []

            def on_epoch(epoch: Epoch) -> None:
                reached.append(epoch.held_back_ndcg.get(how.task, 0.0))
                if run is not None:
                    run.metrics({"held_back_ndcg": reached[-1]}, step=epoch.number)
                trial.report(epoch.number, reached[-1])

            trained = trained_on(folds, full, tried, on_epoch=on_epoch)
        return reached[trained.best_epoch - 1] if reached else 0.0

    def take() -> bool:
        return work.places is None or bool(os.read(work.places, 1))

    study.search(objective, trials=how.trials, take=take)


def trial_facts(work: Work, trial: Trial) -> RunFacts:
    """What a tracking server is told of a trial."""
    chosen: dict[str, Scalar] = dict(trial.parameters)
    return RunFacts(
        name=f"{work.study} {trial.number}",
        kind="trial",
        data=work.data,
        seed=work.parameters.section("train", TrainingConfig).seed,
        parameters=chosen,
        parent=work.parent,
    )
