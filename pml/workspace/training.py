"""Trains SHGAT on the folds of a data set, and says what it learned from and how good it is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from pml.evaluation.first_weights import fitted_weights
from pml.learning.cold_start import ColdCases
from pml.learning.folds import LostFolds, TrainingFold, View
from pml.learning.held_back import Tried, cold_cases
from pml.learning.shgat_training import train
from pml.learning.trained import Trained
from pml.learning.training_config import Epoch, TrainingConfig
from pml.learning.turns import judged_in_turns
from pml.models.config import ShgatConfig
from pml.models.exported import ExportedShgat
from pml.models.inputs import RankingTask
from pml.models.start import Start
from pml.workspace.folds import COLUMNS, STATS
from pml.workspace.parameters import Parameters, least

_FIRST_SCALE = 1.0
_NAMED = 5
"""Lost servers that are named; more are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureParameters:
    """Section ``features`` of params.yaml."""

    folds: int = 5
    """Parts of the training intents; the last two say when to stop, and whether to switch on."""
    seed: int = 0
    """Of who is in which part."""

    def __post_init__(self) -> None:
        least(self, folds=3, seed=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelParameters:
    """Section ``model`` of params.yaml: what of `ShgatConfig` is not given by the data."""

    heads: int = 4
    head_dim: int = 32
    feature_dim: int = 4
    message_passing: bool = False
    """It did not help on any held-back part (experiments/011-shgat)."""
    id_embeddings: bool = True

    def __post_init__(self) -> None:
        least(self, heads=1, head_dim=1, feature_dim=0)

    def config(self, dim: int) -> ShgatConfig:
        """With the evidence that our retrievers give."""
        return ShgatConfig(
            dim=dim,
            heads=self.heads,
            head_dim=self.head_dim,
            feature_dim=self.feature_dim,
            message_passing=self.message_passing,
            id_embeddings=self.id_embeddings,
            evidence=tuple(COLUMNS.items()),
            stats=STATS,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """Where a model comes from."""

    data_hash: str
    encoder: str
    seed: int


def trained_on(
    folds: Sequence[TrainingFold],
    full: View,
    parameters: Parameters,
    *,
    cold: Mapping[RankingTask, ColdCases] | None = None,
    on_epoch: Callable[[Epoch], None] = lambda _: None,
) -> Trained:
    """Train once, with the sections ``model`` and ``train``; the last fold judges.

    Args:
        folds: Each on a view without its examples.
        full: What is known now.
        parameters: Of which sections.
        cold: What the verdict is to see beside, where servers are new.
        on_epoch: Told of each epoch.

    Raises:
        ConfigError: a parameter is unknown or out of range.
    """
    sizes = parameters.section("model", ModelParameters)
    how = parameters.section("train", TrainingConfig)
    config, start = sizes.config(full.inputs.vectors.shape[1]), _start(folds, full)
    return train(folds, full, config, how, start=start, cold=cold, on_epoch=on_epoch)


def trained_and_judged(
    folds: Sequence[TrainingFold],
    full: View,
    parameters: Parameters,
    *,
    lost: Sequence[LostFolds] = (),
    on_epoch: Callable[[Epoch], None] = lambda _: None,
    on_judge: Callable[[str], None] = lambda _: None,
) -> Trained:
    """Train, and let requests for lost servers judge, and every fold where one has too few.

    Args:
        folds: Each on a view without its examples.
        full: What is known now.
        parameters: Of the sections ``model`` and ``train``.
        lost: Where servers are new, folds where others are lost; each takes a training.
        on_epoch: Told of each epoch of the model itself.
        on_judge: Told in words of each model that is trained for the verdict alone.

    Raises:
        ConfigError: a parameter is unknown or out of range.
    """
    how = parameters.section("train", TrainingConfig)
    once = parameters.with_values({"train.refit": False})

    def without(one: LostFolds) -> Tried:
        servers = sorted(set(one.needing.values()))
        lost = ", ".join(servers) if len(servers) <= _NAMED else f"{len(servers):,} servers"
        on_judge(f"to judge by: a model trained without {lost}")
        model = trained_on(one.folds, one.asked.view, parameters).model
        return Tried(model=model, asked=one.asked, needing=one.needing)

    def again(order: Sequence[TrainingFold]) -> Trained:
        on_judge("to judge by: a model that another part of the requests judges")
        return trained_on(order, full, once)

    cold = cold_cases(map(without, lost), how, share=lost[0].share) if lost else {}
    first = trained_on(folds, full, parameters, cold=cold, on_epoch=on_epoch)
    return judged_in_turns(first, folds, again, seed=how.seed, cold=cold)


def check_sections(parameters: Parameters) -> None:
    """Pass parameters that a training would take.

    Raises:
        ConfigError: one is unknown or out of range.
    """
    parameters.section("features", FeatureParameters)
    parameters.section("model", ModelParameters)
    parameters.section("train", TrainingConfig)


def _start(folds: Sequence[TrainingFold], full: View) -> Start:
    """Begin as the evidence ranks when weighed by folds that neither stop nor judge."""
    weights = {
        task: fitted_weights(folds[:-2], task, columns=len(columns))
        for task, columns in COLUMNS.items()
    }
    return Start(scale=_FIRST_SCALE, evidence=weights, vectors=full.inputs.vectors)


def told(epoch: Epoch) -> str:
    """An epoch in a line."""
    held_back = ", ".join(f"{task} {value:.3f}" for task, value in epoch.held_back_ndcg.items())
    return f"epoch {epoch.number}: loss {epoch.loss:.3f}, held back nDCG@10: {held_back}"


def exported(trained: Trained, lineage: Lineage) -> ExportedShgat:
    """The model as arrays, with what it was trained on and how good it was."""
    return ExportedShgat(
        config=trained.model.config,
        parameters=trained.parameters,
        graph=trained.graph,
        trained=trained.trained,
        encoder=lineage.encoder,
        data_hash=lineage.data_hash,
        seed=lineage.seed,
        pml_version=version("pml"),
        gate=trained.gate,
        fallbacks={str(task): name for task, name in trained.fallbacks.items()},
        metrics=trained.figures,
    )
