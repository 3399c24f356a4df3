"""`pml train`: from a folder to an exported model in one go, and what there is to say of it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pml.domain.record import Record
from pml.evaluation.shgat_examples import examples_of, learned_from
from pml.evaluation.shgat_views import Source
from pml.learning.examples import Example
from pml.learning.folds import LostFolds, TrainingFold, View, cross_fitted
from pml.learning.trained import Trained
from pml.learning.training_config import Epoch, TrainingConfig
from pml.models.model_file import to_bytes
from pml.tracking.package import TaskVerdict
from pml.tracking.tracked import DataFacts, RunFacts
from pml.workspace.encoding import write_encoder
from pml.workspace.folds import Folds
from pml.workspace.importing import Imported
from pml.workspace.layout import encoder_beside
from pml.workspace.lost import lost_folds
from pml.workspace.parameters import Parameters
from pml.workspace.training import (
    FeatureParameters,
    Lineage,
    check_sections,
    exported,
    trained_and_judged,
)
from pml.workspace.verdicts import task_verdicts

PARTS = ("encoder", "encoder_training", "features", "model", "train")
"""Sections of params.yaml that a model depends on."""


class Learned(Record, frozen=True, kw_only=True):
    """What `pml train` tells."""

    data: str
    data_hash: str
    tools: int
    capabilities: int
    requests: int
    """Training workflows."""
    traces: int
    examples: dict[str, int]
    """By task."""
    failures: int
    """Examples with a choice that failed."""
    epochs: int
    best_epoch: int
    verdicts: tuple[TaskVerdict, ...]
    model: str
    bytes: int
    encoder: str
    run: str | None = None
    """Id in MLflow, where it was tracked."""
    notes: tuple[str, ...] = ()

    @property
    def switched_on(self) -> bool:
        """Whether the model would serve any task."""
        return any(verdict.switched_on for verdict in self.verdicts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Prepared:
    """Folds of a data set, ready to be trained on."""

    data: DataFacts
    encoder: str
    examples: tuple[Example, ...]
    folds: tuple[TrainingFold, ...]
    full: View
    lost: tuple[LostFolds, ...] = ()
    """None where few tools are on new servers, nor before `with_lost`."""


def prepared(imported: Imported, parameters: Parameters, encoder: Path) -> Prepared:
    """Make the encoder in a new folder, and the folds with it.

    Raises:
        ConfigError: a parameter is unknown or out of range.
    """
    check_sections(parameters)  # before anything takes time
    how = parameters.section("features", FeatureParameters)
    dataset = imported.loaded.dataset
    source = Source(dataset, write_encoder(dataset, parameters, encoder), imported.traces)
    examples = examples_of(dataset, imported.traces)
    folds = cross_fitted(examples, Folds(source), folds=how.folds, seed=how.seed)
    return Prepared(
        data=imported.facts,
        encoder=source.encoder.name,
        examples=examples,
        folds=folds,
        full=source.view(examples),
    )


def with_lost(
    ready: Prepared, imported: Imported, parameters: Parameters, encoder: Path
) -> Prepared:
    """What is ready, and folds without some servers where others are new: the gate needs them.

    Raises:
        ConfigError: a parameter is unknown or out of range.
    """
    lost = lost_folds(imported, ready.examples, parameters, encoder)
    return replace(ready, lost=tuple(lost))


def run_facts(data: DataFacts, parameters: Parameters) -> RunFacts:
    """What a tracking server is told before a training."""
    return RunFacts(
        name=f"train {data.name}",
        kind="training",
        data=data,
        seed=parameters.section("train", TrainingConfig).seed,
        parameters=parameters.flat(*PARTS),
    )


def with_seed(parameters: Parameters, seed: int) -> Parameters:
    """The same with one seed for everything that is drawn."""
    drawn = ("encoder", "features", "train")
    return parameters.with_values({f"{name}.seed": seed for name in drawn})


def trained_to(
    out: Path,
    ready: Prepared,
    parameters: Parameters,
    *,
    on_epoch: Callable[[Epoch], None],
    on_judge: Callable[[str], None],
) -> Trained:
    """Train, and write the model; `trained_and_judged` says what is told meanwhile."""
    trained = trained_and_judged(
        ready.folds, ready.full, parameters, lost=ready.lost, on_epoch=on_epoch, on_judge=on_judge
    )
    lineage = Lineage(
        data_hash=ready.data.hash,
        encoder=ready.encoder,
        seed=parameters.section("train", TrainingConfig).seed,
    )
    out.write_bytes(to_bytes(exported(trained, lineage)))
    return trained


def learned(
    imported: Imported, ready: Prepared, trained: Trained, out: Path, *, run: str | None
) -> Learned:
    """Everything in one record."""
    dataset = imported.loaded.dataset
    return Learned(
        data=ready.data.name,
        data_hash=ready.data.hash,
        tools=len(dataset.tools),
        capabilities=len(ready.full.graph.capabilities),
        requests=len(learned_from(dataset)),
        traces=len(imported.traces),
        examples=dict(Counter(str(example.task) for example in ready.examples)),
        failures=sum(bool(example.failed) for example in ready.examples),
        epochs=len(trained.history),
        best_epoch=trained.best_epoch,
        verdicts=task_verdicts(
            trained.gate,
            trained.figures,
            {str(task): name for task, name in trained.fallbacks.items()},
        ),
        model=str(out),
        bytes=out.stat().st_size,
        encoder=str(encoder_beside(out)),
        run=run,
        notes=imported.loaded.notes,
    )
