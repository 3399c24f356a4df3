"""SHGAT trained on one catalogue and asked, as the methods `shgat` and the studies of it do.

The parts in order: the catalogue's own words become vectors beside the encoder's, retrievers are
asked on cross-fitted folds, the model begins as search by text with weights learned on other
catalogues (`START`) and is trained, stopped, calibrated and judged on folds of the training split;
where servers are new, models that were trained without some others are judged with it.
Nothing is read of what is asked about.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Float32

from pml.discovery.latent import JoinedEncoder
from pml.discovery.latent_fitting import fit_latent_words
from pml.discovery.ports import Encoder
from pml.embedding.static import default_encoder
from pml.evaluation.dataset import TRAIN, Dataset, Workflow
from pml.evaluation.first_weights import fitted_weights
from pml.evaluation.shgat_examples import examples_of
from pml.evaluation.shgat_folds import (
    COLUMNS,
    FALLBACKS,
    RANKED,
    STATS,
    Folds,
    ViewEvidence,
)
from pml.evaluation.shgat_views import Source
from pml.evaluation.text import encoded_text
from pml.learning.cold_start import ColdCases, LostPart, cold_start
from pml.learning.examples import Example
from pml.learning.folds import HeldQueries, TrainingFold, View, cross_fitted
from pml.learning.held_back import Tried, cold_cases
from pml.learning.shgat_training import train
from pml.learning.trained import Trained
from pml.learning.training_config import TrainingConfig
from pml.learning.turns import judged_in_turns
from pml.models.config import ShgatConfig
from pml.models.inputs import Queries, RankingTask
from pml.models.start import Start

FOLDS = 5
MOST_LEARNED = 8_000
"""Training workflows at most, drawn evenly: more take longer and bring little."""
START: Mapping[str, float] = {
    "words": 4.6,
    "cosine": 3.1,
    "grams": 3.9,
    "part_cosine": 2.0,
    "part_grams": 3.2,
    "votes": 6.0,
    "nearest": 0.5,
    "alike": 4.0,
    "popularity": 1.0,
    "asked": 4.0,
    "meaning": 3.0,
}
"""Weights of the evidence before training; those of texts and meaning were learned on sets whose
licence allows it (experiments/011-shgat/first_weights.py)."""
SCALE = 5.0
LEARNED_SCALE = 1.0
"""Less where weights are fitted first, as evidence holds the cosine too: on dev parts of n8n and
ultratool .570 and .946 against .561 and .949 with 5."""
LEAST_LEARNED = 50
"""Training workflows below which the model stays as it starts: folds would be of a handful."""
TRAINING = TrainingConfig(epochs=12, batch=128, learning_rate=5e-3, refit=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What of SHGAT is used; the defaults are what ships."""

    model: Mapping[str, Any] = field(default_factory=lambda: {"message_passing": False})
    """Fields of `ShgatConfig` that differ from its defaults.  Without message passing, as no
    difference beyond noise was seen (experiments/011-shgat)."""
    training: TrainingConfig = TRAINING
    without: frozenset[str] = frozenset()
    """Columns of evidence that are hidden."""
    latent: int = 512
    """Dimensions of the catalogue's own words; 0 leaves them out."""
    trained: bool = True
    principal: bool = True
    """Whether projections begin as principal axes instead of random ones."""

    @property
    def hidden(self) -> tuple[int, ...]:
        """Places of the hidden columns.

        Raises:
            ValueError: there is no such column.
        """
        unknown = self.without.difference(COLUMNS)
        if unknown:
            msg = f"no column of evidence: {', '.join(sorted(unknown))}"
            raise ValueError(msg)
        return tuple(COLUMNS.index(name) for name in sorted(self.without))


SHIPPED = Setting()
_BLOCK = 256
"""Intents that are scored together: bounds the memory."""
_Scores: TypeAlias = Float32[np.ndarray, "intents candidates"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranker:
    """A model that was trained on a catalogue, with all that it may know when it is asked."""

    task: RankingTask
    trained: Trained
    view: View
    evidence: ViewEvidence
    hidden: tuple[int, ...]
    """Columns of evidence that are zeros."""

    @property
    def candidates(self) -> tuple[str, ...]:
        """Ids, in the order of the scores."""
        graph = self.view.graph
        return graph.tools if self.task is RankingTask.TOOLS else graph.capabilities

    @property
    def passes(self) -> bool:
        """Whether the gate lets the model serve; where nothing was learned, its start does."""
        verdict = self.trained.verdicts.get(self.task)
        return verdict is None or verdict.passes

    def scores(self, intents: Sequence[str]) -> _Scores:
        """The model's, before calibration, which changes no order."""
        return self.scores_and_fallback(intents)[0]

    @torch.no_grad()
    def scores_and_fallback(self, intents: Sequence[str]) -> tuple[_Scores, _Scores]:
        """The model's, and those of what ranks where the gate does not let the model serve.

        Both of the same evidence: retrievers are asked once.
        """
        model, graph = self.trained.model, self.view.graph
        named = FALLBACKS[self.task]
        fallback = named[self.trained.fallbacks.get(self.task, next(iter(named)))]
        states = model.states(model.view(graph, self.view.inputs))
        empty = np.zeros((0, len(self.candidates)), np.float32)
        found, fallen = [empty], [empty]
        for queries in self._blocks(intents):
            asked = model.query_tensors(self.task, graph, queries)
            found.append(model.scores(self.task, states, asked).numpy())
            fallen.append(fallback(queries))
        return np.concatenate(found), np.concatenate(fallen)

    def _blocks(self, intents: Sequence[str]) -> Iterator[Queries]:
        for at in range(0, len(intents), _BLOCK):
            queries = self.evidence.queries(self.task, intents[at : at + _BLOCK])
            yield without(queries, self.hidden)


def without(queries: Queries, hidden: Sequence[int]) -> Queries:
    """With zeros in some columns of the evidence."""
    if not hidden:
        return queries
    evidence = queries.evidence.copy()
    evidence[:, :, list(hidden)] = 0
    return replace(queries, evidence=evidence)


def trained_ranker(dataset: Dataset, task: RankingTask, setting: Setting = SHIPPED) -> Ranker:
    """Train on the data set's training split, and know all of it."""
    others = tuple(each for each in dataset.workflows if each.split != TRAIN)
    dataset = replace(dataset, workflows=(*_some(dataset), *others))
    source = Source(dataset, encoder_for(dataset, setting.latent))
    examples = [example for example in examples_of(dataset) if example.task in RANKED]
    training = Training(task=task, setting=setting)
    builder = Folds(source)
    full = source.view(examples)
    return Ranker(
        task=task,
        trained=training.judged(builder, examples, full, training.cold(dataset, examples)),
        view=full,
        evidence=builder.evidence(full, examples),
        hidden=setting.hidden,
    )


def encoder_for(dataset: Dataset, latent: int) -> Encoder:
    """The encoder that PML brings, and beside it the catalogue's own words."""
    if not latent:
        return default_encoder()
    texts = [*map(encoded_text, dataset.tools), *(one.intent for one in dataset.split(TRAIN))]
    return JoinedEncoder([default_encoder(), fit_latent_words(texts, dimension=latent)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """How a model is trained, whatever it may know."""

    task: RankingTask
    setting: Setting

    def folds(self, builder: Folds, examples: Sequence[Example]) -> tuple[TrainingFold, ...]:
        """None where there are few examples."""
        learn = self.setting.trained and len({one.source for one in examples}) >= LEAST_LEARNED
        build = partial(self.fold, builder)
        return cross_fitted(examples, build, folds=FOLDS, seed=0) if learn else ()

    def run(
        self,
        folds: Sequence[TrainingFold],
        full: View,
        cold: Mapping[RankingTask, ColdCases],
        training: TrainingConfig,
    ) -> Trained:
        """On these folds; without any nothing is learned."""
        setting, vectors = self.setting, full.inputs.vectors
        config = ShgatConfig(
            dim=vectors.shape[1],
            tasks=(self.task,),
            evidence=((self.task, COLUMNS),),
            stats=STATS,
            **setting.model,
        )
        weights, scale = tuple(START[name] for name in COLUMNS), SCALE
        if folds:
            weights = fitted_weights(folds[:-2], self.task, columns=len(COLUMNS))
            scale = LEARNED_SCALE
        start = Start(
            scale=scale,
            evidence={self.task: weights},
            vectors=vectors if setting.principal else None,
        )
        return train(folds, full, config, training, start=start, cold=cold)

    def judged(
        self,
        builder: Folds,
        examples: Sequence[Example],
        full: View,
        cold: Mapping[RankingTask, ColdCases],
    ) -> Trained:
        """On these examples, by every fold where one has too few intents to tell."""
        how, folds = self.setting.training, self.folds(builder, examples)
        once = replace(how, refit=False)
        return judged_in_turns(
            self.run(folds, full, cold, how),
            folds,
            lambda order: self.run(order, full, {}, once),
            seed=how.seed,
            cold=cold,
        )

    def fold(
        self, builder: Folds, known: Sequence[Example], asked: Sequence[Example]
    ) -> TrainingFold:
        """Of this task alone; all that is known is in the view."""
        fold = builder(known, [example for example in asked if example.task is self.task])
        return _hiding(fold, self.setting.hidden)

    def cold(self, dataset: Dataset, examples: Sequence[Example]) -> dict[RankingTask, ColdCases]:
        """How models trained without some servers do on requests for these, if any are new."""
        servers = {tool.id: tool.server for tool in dataset.tools}
        lost = cold_start(examples, servers, seed=0)
        if lost is None or not self.setting.trained or self.task is not RankingTask.TOOLS:
            return {}
        tried = (self.tried(dataset, part) for part in lost.parts)
        return cold_cases(tried, self.setting.training, share=lost.share)

    def tried(self, dataset: Dataset, part: LostPart) -> Tried:
        """A model that knows nothing of the lost servers, and the requests for them."""
        known = {example.source for example in part.known}
        kept = tuple(each for each in dataset.workflows if each.id in known)
        left = replace(dataset, workflows=kept)
        builder = Folds(Source(dataset, encoder_for(left, self.setting.latent)))
        asked = self.fold(builder, part.known, part.asked)
        folds = self.folds(builder, part.known)
        trained = self.run(folds, asked.view, {}, self.setting.training)
        return Tried(model=trained.model, asked=asked, needing=part.needing)


def _hiding(fold: TrainingFold, hidden: Sequence[int]) -> TrainingFold:
    if not hidden:
        return fold
    tasks = {
        task: replace(one, queries=HeldQueries(queries=without(one.queries.queries, hidden)))
        for task, one in fold.tasks.items()
        if isinstance(one.queries, HeldQueries)
    }
    return replace(fold, tasks=tasks)


def _some(dataset: Dataset) -> tuple[Workflow, ...]:
    """Drawn evenly over the split where there are too many: data sets tell no times."""
    past = dataset.split(TRAIN)
    if len(past) <= MOST_LEARNED:
        return past
    return tuple(past[row] for row in np.linspace(0, len(past) - 1, MOST_LEARNED).astype(int))
