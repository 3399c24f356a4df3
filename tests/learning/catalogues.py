"""Made-up catalogues with intents, on which a model has something to learn.

Each tool has a topic; intents name a topic in words (the vector of another space, so that text
search is at a loss) and a retriever says a little about it.  Which topic means which tool can only
be learned.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pml.domain.capability import normalised_intent
from pml.features.members import Members
from pml.learning.examples import Example
from pml.learning.folds import (
    HeldQueries,
    TaskExamples,
    TrainingFold,
    View,
    cross_fitted,
    targets_of,
)
from pml.models.config import ShgatConfig
from pml.models.hypergraph import hypergraph
from pml.models.inputs import CAPABILITY_WIDTHS, TOOL_WIDTHS, NodeInputs, Queries, RankingTask

DIM = 8
CONFIG = ShgatConfig(
    dim=DIM,
    heads=2,
    head_dim=4,
    feature_dim=2,
    evidence=tuple((task, ("said",)) for task in RankingTask),
    stats=("nearest",),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """Tools ``t0``... and as many capabilities, each of a tool and the next one."""

    tools: int = 12
    intents: int = 120
    seed: int = 0
    told: float = 0.3
    """How much retrievers know, from 0 to 1."""

    @property
    def tool_ids(self) -> list[str]:
        return [f"t{at}" for at in range(self.tools)]

    @property
    def view(self) -> View:
        rng = np.random.default_rng(self.seed)
        graph = hypergraph(
            self.tool_ids,
            [
                Members(id=f"c{at}", tools=(f"t{at}", f"t{(at + 1) % self.tools}"))
                for at in range(self.tools)
            ],
        )
        features = sum(TOOL_WIDTHS.values()), sum(CAPABILITY_WIDTHS.values())
        vectors = rng.normal(size=(graph.nodes, DIM))
        return View(
            graph=graph,
            inputs=NodeInputs(
                vectors=_unit(vectors),
                tool_features=rng.uniform(size=(self.tools, features[0])).astype(np.float32),
                capability_features=rng.uniform(size=(self.tools, features[1])).astype(np.float32),
            ),
        )

    def topic(self, intent: str) -> int:
        """The number in it."""
        return int(intent.rsplit(maxsplit=1)[-1]) % self.tools

    @property
    def examples(self) -> list[Example]:
        """Of each intent one of each task; the next tool is the one after."""
        found = []
        for at in range(self.intents):
            intent, topic = f"please do {at}", at % self.tools
            after = f"t{(topic + 1) % self.tools}"
            answers = {
                RankingTask.TOOLS: (f"t{topic}", after),
                RankingTask.CAPABILITIES: (f"c{topic}",),
                RankingTask.NEXT_TOOL: (after,),
            }
            found += [
                Example(
                    task=task,
                    source=f"trace-{at}",
                    intent=intent,
                    positives=positives,
                    prefix=(f"t{topic}",) if task is RankingTask.NEXT_TOOL else (),
                )
                for task, positives in answers.items()
            ]
        return found

    def queries(self, task: RankingTask, examples: Sequence[Example]) -> Queries:
        """The vector says the topic, with noise; so does the evidence, with more."""
        rng = np.random.default_rng(self.seed + 1)
        meanings = _unit(rng.normal(size=(self.tools, DIM)))
        topics = [self.topic(normalised_intent(example.intent)) for example in examples]
        own = np.random.default_rng([self.seed, *topics])
        noise = own.normal(scale=0.05, size=(len(examples), DIM))
        said = own.uniform(size=(len(examples), self.tools))
        said[np.arange(len(topics)), topics] += self.told
        prefixes = [
            np.array([int(tool[1:]) for tool in example.prefix], dtype=np.int64)
            for example in examples
        ]
        return Queries(
            vectors=_unit(meanings[topics] + noise),
            evidence=said[..., None].astype(np.float32),
            stats=own.uniform(size=(len(examples), 1)).astype(np.float32),
            prefixes=tuple(prefixes) if task is RankingTask.NEXT_TOOL else (),
        )

    def fold(self, known: Sequence[Example], asked: Sequence[Example]) -> TrainingFold:
        """All views are alike: nothing in them is made of intents."""
        return TrainingFold(
            view=self.view, tasks={task: self._task(task, asked) for task in RankingTask}
        )

    def folds(
        self, examples: Sequence[Example] | None = None, *, folds: int = 5
    ) -> tuple[TrainingFold, ...]:
        chosen = self.examples if examples is None else examples
        return cross_fitted(chosen, self.fold, folds=folds, seed=self.seed)

    def _task(self, task: RankingTask, asked: Sequence[Example]) -> TaskExamples:
        own = [example for example in asked if example.task is task]
        graph = self.view.graph
        ids = graph.capabilities if task is RankingTask.CAPABILITIES else graph.tools
        return TaskExamples(
            queries=HeldQueries(queries=self.queries(task, own)),
            targets=targets_of(own, ids),
            fallbacks={"said": lambda queries: queries.evidence[..., 0]},
        )


def _unit(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-9), dtype=np.float32)
