"""SHGAT for the next tool, trained on the sequences of a question (LE-5).

Training intents are dealt into folds, and each fold's places are scored on a view (evidence, graph,
vectors) that was made without its intents (`pml.learning.folds`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float32, Int64

from pml.discovery.next_tool import COLUMNS, STATS, NextToolEvidence, Place
from pml.discovery.ports import Encoder
from pml.domain.capability import normalised_intent
from pml.evaluation.next_folds import (
    NEXT,
    Past,
    example_at,
    examples_at,
    queries_at,
    ranked_tools,
)
from pml.evaluation.questions import NextQuestion
from pml.features.columns import CAPABILITY_COLUMNS, TOOL_COLUMNS
from pml.features.members import Members
from pml.learning.cold_start import LostPart, cold_start
from pml.learning.continuations import past_places
from pml.learning.examples import Example
from pml.learning.folds import TaskExamples, TrainingFold, View, cross_fitted
from pml.learning.training_config import TrainingConfig
from pml.models.config import ShgatConfig
from pml.models.hypergraph import hypergraph
from pml.models.inputs import NodeInputs, Queries

WEIGHED = "weighed"
"""Column of the evidence, weighed by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextSettings:
    """How the next tool is learned.

    The defaults were chosen on training splits (experiments/012-next-and-plans).
    """

    folds: int = 5
    most_places: int = 5_000
    """Places that are learned from; a random part where there are more."""
    most_lost: int = 300
    """Places asked of each part of the servers that is lost."""
    heads: int = 4
    head_dim: int = 16
    message_passing: bool = False
    """It did not help the next tool, and doubles the time."""
    id_embeddings: bool = True
    scale: float = 1.0
    """Score of a tool whose vector is the intent's, before training."""
    columns: tuple[str, ...] = COLUMNS
    """Evidence that is used; ablations leave some out."""
    training: TrainingConfig = field(
        default_factory=lambda: TrainingConfig(epochs=12, patience=2, learning_rate=1e-3)
    )

    def config(self, dim: int) -> ShgatConfig:
        """Sizes of the model, for vectors of this size.

        Evidence has one column more, for what the others come to (`pml.evaluation.next_whole`).
        """
        return ShgatConfig(
            dim=dim,
            heads=self.heads,
            head_dim=self.head_dim,
            feature_dim=0,
            message_passing=self.message_passing,
            id_embeddings=self.id_embeddings,
            tasks=(NEXT,),
            evidence=((NEXT, (*self.columns, WEIGHED)),),
            stats=STATS,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LostExamples:
    """Places in requests for servers that are lost, on evidence of runs that called none of them.

    Invariant: a server for each place.
    """

    part: LostPart
    share: float
    """Of all requests to come, how many are expected to need a new server."""
    evidence: NextToolEvidence
    asked: TaskExamples
    """Of a random part of the places, where there are many."""
    servers: Int64[np.ndarray, " queries"]
    """Equal for places of requests that need the same lost server."""


class NextViews:
    """Makes views of parts of a question's training sequences, and asks places of them."""

    def __init__(self, question: NextQuestion, settings: NextSettings, encoder: Encoder) -> None:
        self._tools = ranked_tools(question.tools)
        self._ids = [tool.id for tool in question.tools]
        self._past = Past(sequences=question.train, intents=question.past_intents)
        self._settings, self._encoder = settings, encoder
        self._vectors: dict[str, Float32[np.ndarray, " dim"]] = {}
        self._columns = [COLUMNS.index(column) for column in settings.columns]

    @cached_property
    def _all(self) -> tuple[Example, ...]:
        """All places of training, and what came next there."""
        intents = list(dict.fromkeys(map(normalised_intent, self._past.intents)))
        number = {intent: at for at, intent in enumerate(intents)}
        tools = {tool: at for at, tool in enumerate(self._ids)}
        origins = [number[normalised_intent(one)] for one in self._past.intents]
        places = past_places(self._past.sequences, origins, tools)
        return tuple(
            example_at(place, self._ids, source=f"{place.origin}", intent=intents[place.origin])
            for place in places
        )

    def examples(self) -> tuple[Example, ...]:
        """Places of training, and what came next there."""
        return _drawn(self._all, most=self._settings.most_places)

    def folds(self) -> tuple[TrainingFold, ...]:
        """Examples, each on a view without its intent."""
        return cross_fitted(self.examples(), self._fold, folds=self._settings.folds, seed=0)

    def lost(self, servers: Mapping[str, str]) -> tuple[LostExamples, ...]:
        """Places in requests for servers that are lost, by the part that they are lost in.

        What is said there knows no run that called any of the part's servers
        (`pml.learning.cold_start`).

        Args:
            servers: By id of a tool, its server; others are neither lost nor new.

        Returns:
            Nothing where hardly any of these servers are new.
        """
        start = cold_start(self._all, servers, seed=0)
        if start is None:
            return ()
        return tuple(self._part(part, start.share) for part in start.parts)

    def without(self, intents: frozenset[str]) -> NextToolEvidence:
        """What is known of all training but these."""
        return self._evidence(self._past.without(intents))

    def full(self) -> tuple[View, NextToolEvidence]:
        """What is known when all training is."""
        return self._view(self._past)

    def queries(self, evidence: NextToolEvidence, places: Sequence[Place]) -> Queries:
        """What is asked at some places, with this evidence."""
        vectors = self._encoded([place.intent for place in places])
        queries = queries_at(places, evidence, vectors, self._ids)
        return replace(queries, evidence=queries.evidence[:, :, self._columns])

    def _fold(self, _known: Sequence[Example], asked: Sequence[Example]) -> TrainingFold:
        """``_known`` are not all: sequences that no example was drawn of are known, too."""
        hidden = frozenset(normalised_intent(one.intent) for one in asked)
        view, evidence = self._view(self._past.without(hidden))
        return TrainingFold(view=view, tasks={NEXT: self._examples(asked, evidence)})

    def _part(self, part: LostPart, share: float) -> LostExamples:
        known = self._past.only(frozenset(normalised_intent(one.intent) for one in part.known))
        asked = _drawn(part.asked, most=self._settings.most_lost)
        number = {server: at for at, server in enumerate(sorted({*part.needing.values()}))}
        evidence = self._evidence(known)
        return LostExamples(
            part=part,
            share=share,
            evidence=evidence,
            asked=self._examples(asked, evidence),
            servers=np.array([number[part.needing[one.source]] for one in asked], np.int64),
        )

    def _examples(self, asked: Sequence[Example], evidence: NextToolEvidence) -> TaskExamples:
        places = [Place(prefix=one.prefix, intent=one.intent) for one in asked]
        queries = self.queries(evidence, places)
        return examples_at(asked, queries, self._ids, self._settings.columns)

    def _evidence(self, past: Past) -> NextToolEvidence:
        return NextToolEvidence(self._tools, past.sequences, past.intents)

    def _view(self, past: Past) -> tuple[View, NextToolEvidence]:
        served: dict[frozenset[str], dict[str, None]] = {}
        for sequence, intent in zip(past.sequences, past.intents, strict=True):
            served.setdefault(frozenset(sequence), {})[normalised_intent(intent)] = None
        members = [
            Members(id="\n".join(sorted(tools)), tools=tuple(sorted(tools))) for tools in served
        ]
        graph = hypergraph(self._ids, members)
        means = [self._encoded(list(intents)).mean(axis=0) for intents in served.values()]
        vectors = np.concatenate(
            [
                self._encoded([tool.text for tool in self._tools]),
                *([np.stack(means)] if means else []),
            ]
        )
        inputs = NodeInputs(
            vectors=vectors,
            tool_features=np.zeros((len(graph.tools), len(TOOL_COLUMNS)), np.float32),
            capability_features=np.zeros((len(served), len(CAPABILITY_COLUMNS)), np.float32),
        )
        return View(graph=graph, inputs=inputs), self._evidence(past)

    def _encoded(self, texts: Sequence[str]) -> Float32[np.ndarray, "texts dim"]:
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        self._vectors.update(zip(new, self._encoder.encode(new), strict=True))
        return np.stack([self._vectors[text] for text in texts]).astype(np.float32)


def _drawn(examples: Sequence[Example], *, most: int) -> tuple[Example, ...]:
    """All of them, or a random part where there are more; in their order."""
    drawn = np.random.default_rng(0).permutation(len(examples))[:most]
    return tuple(examples[at] for at in sorted(drawn.tolist()))
