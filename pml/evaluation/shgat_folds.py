"""Examples on views that do not know them, with the evidence that serving would have had (LE-5).

A `FoldBuilder` of `pml.learning.folds`: texts of tools are indexed once, past intents anew for each
fold from the examples that it may know.  Of a tool, evidence is `pml.discovery.evidence`'s; of a
capability, what texts say is the mean over its tools, and past intents speak for it itself.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from jaxtyping import Float32

from pml.discovery.evidence import (
    ASKED_COLUMN,
    NEIGHBOURS,
    PAST_COLUMNS,
    PAST_STATS,
    TEXT_COLUMNS,
    AskedEvidence,
    PastEvidence,
    TextEvidence,
    parts_of,
)
from pml.evaluation.retrieval import relative
from pml.evaluation.shgat_views import Source
from pml.learning.examples import Example
from pml.learning.folds import (
    Fallback,
    HeldQueries,
    TaskExamples,
    TrainingFold,
    View,
    targets_of,
)
from pml.models.hypergraph import Hypergraph
from pml.models.inputs import Queries, RankingTask

COLUMNS = (*TEXT_COLUMNS, *PAST_COLUMNS, ASKED_COLUMN, "meaning")
"""``asked`` is of capabilities only: many intents serve a tool, and say little together.  The last
is the cosine of the encoder's vectors, where it is above 0."""
STATS = (*PAST_STATS, "parts", "best_words")
"""Past intents', then how many parts the intent has (1 - 1/parts), and the best ``words``."""
MOST_ALIKE = 3_000
"""Past intents, the latest, that are compared by n-grams."""
RANKED = (RankingTask.TOOLS, RankingTask.CAPABILITIES)


class EvidenceOfTexts:
    """What texts of a source's tools say of intents; each intent is asked once."""

    def __init__(self, source: Source) -> None:
        self._evidence = TextEvidence()
        self._size = len(source.tools)
        for row, text in enumerate(source.texts):
            self._evidence.put(row, text)
        self._said: dict[str, Float32[np.ndarray, "tools columns"]] = {}

    def __call__(self, intent: str) -> Float32[np.ndarray, "tools columns"]:
        """`TEXT_COLUMNS`."""
        if intent not in self._said:
            self._said[intent] = self._evidence.ask(intent, self._size)
        return self._said[intent]


class ViewEvidence:
    """Asks texts and the past intents that a view knows."""

    def __init__(
        self, source: Source, texts: EvidenceOfTexts, view: View, known: Sequence[Example]
    ) -> None:
        self._source = source
        self._texts = texts
        self._view = view
        self._past = past_evidence(view.graph, source.names, known)
        self._asked = asked_evidence(view.graph, known)

    def queries(self, task: RankingTask, intents: Sequence[str]) -> Queries:
        """Vectors, evidence and stats of intents."""
        graph = self._view.graph
        tools, nodes, asked = len(graph.tools), graph.nodes, COLUMNS.index(ASKED_COLUMN)
        chosen = slice(0, tools) if task is RankingTask.TOOLS else slice(tools, nodes)
        vectors = self._source.encoded(intents)
        evidence = np.zeros((len(intents), chosen.stop - chosen.start, len(COLUMNS)), np.float32)
        stats = np.zeros((len(intents), len(STATS)), np.float32)
        for row, intent in enumerate(intents):
            said = self._texts(intent)
            past, past_stats = self._past.ask(intent, nodes)
            told = said if task is RankingTask.TOOLS else self._means @ said
            evidence[row, :, : said.shape[1]] = told
            evidence[row, :, said.shape[1] : asked] = past[chosen]
            if task is RankingTask.CAPABILITIES:
                evidence[row, :, asked] = self._asked.ask(intent, len(told))
            stats[row] = [
                *past_stats,
                1 - 1 / max(len(list(parts_of(intent))), 1),
                said[:, 0].max(initial=0),
            ]
        own = self._view.inputs.vectors[chosen]
        evidence[:, :, -1] = np.maximum(vectors @ own.T, 0)
        return Queries(vectors=vectors, evidence=evidence, stats=stats)

    @cached_property
    def _means(self) -> Float32[np.ndarray, "capabilities tools"]:
        """Takes the mean over each capability's tools."""
        graph = self._view.graph
        tools = len(graph.tools)
        own = graph.members < tools
        found = np.zeros((graph.nodes - tools, tools), np.float32)
        found[graph.containers[own] - tools, graph.members[own]] = 1
        found /= np.maximum(found.sum(axis=1, keepdims=True), 1)
        return found


def past_evidence(
    graph: Hypergraph, names: Sequence[str], known: Sequence[Example]
) -> PastEvidence:
    """Of what served the known intents: tools and capabilities, by their numbers in the graph.

    Args:
        graph: Whose numbers.
        names: Of its tools.
        known: Later ones are the later to have happened.
    """
    number = {
        RankingTask.TOOLS: {key: at for at, key in enumerate(graph.tools)},
        RankingTask.CAPABILITIES: {
            key: len(graph.tools) + at for at, key in enumerate(graph.capabilities)
        },
    }
    served: dict[tuple[str, str], set[int]] = {}
    for example in known:
        if example.task in RANKED and example.positives:
            own = number[example.task]
            into = served.setdefault((example.source, example.intent), set())
            into.update(own[key] for key in example.positives if key in own)
    past = PastEvidence()
    first = len(served) - MOST_ALIKE
    for row, ((_, intent), nodes) in enumerate(served.items()):
        told = " ".join(names[node] for node in sorted(nodes) if node < len(names))
        past.put(row, intent, nodes, told=told if row >= first else None)
    return past


def asked_evidence(graph: Hypergraph, known: Sequence[Example]) -> AskedEvidence:
    """Of what each capability was asked for, by its place among the capabilities."""
    intents: dict[str, list[str]] = {key: [] for key in graph.capabilities}
    for example in known:
        if example.task is RankingTask.CAPABILITIES:
            for key in example.positives:
                if key in intents:
                    intents[key].append(example.intent)
    found = AskedEvidence()
    for row, asked in enumerate(intents.values()):
        found.put(row, asked)
    return found


class Folds:
    """Builds folds of a data set: a `pml.learning.folds.FoldBuilder`."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._texts = EvidenceOfTexts(source)

    def evidence(self, view: View, known: Sequence[Example]) -> ViewEvidence:
        """On a view of the known examples."""
        return ViewEvidence(self._source, self._texts, view, known)

    def __call__(self, known: Sequence[Example], asked: Sequence[Example]) -> TrainingFold:
        """Examples ``asked`` on a view of which only ``known`` ones are part."""
        view = self._source.view(known)
        evidence = self.evidence(view, known)
        tasks = {}
        for task in RANKED:
            of_task = [example for example in asked if example.task is task]
            capabilities = task is RankingTask.CAPABILITIES
            candidates = view.graph.capabilities if capabilities else view.graph.tools
            if of_task and candidates:
                queries = evidence.queries(task, [example.intent for example in of_task])
                tasks[task] = TaskExamples(
                    queries=HeldQueries(queries=queries),
                    targets=targets_of(of_task, candidates),
                    fallbacks=FALLBACKS[task],
                )
        return TrainingFold(view=view, tasks=tasks)


def fallback(queries: Queries) -> Float32[np.ndarray, "queries candidates"]:
    """Words and votes of past intents, each relative to its best (``bm25+knn by likeness``)."""
    words, votes = (queries.evidence[:, :, COLUMNS.index(name)] for name in ("words", "votes"))
    mean = queries.stats[:, STATS.index("mean_past")][:, None]
    likeness = np.minimum(mean * np.float32(np.sqrt(NEIGHBOURS)), 1)
    found: Float32[np.ndarray, "queries candidates"] = relative(words) + 2 * likeness * relative(
        votes
    )
    return found


def _pooled(**weights: float) -> Fallback:
    """Of these columns, each relative to its best."""
    places = {COLUMNS.index(name): np.float32(weight) for name, weight in weights.items()}

    def of(queries: Queries) -> Float32[np.ndarray, "queries candidates"]:
        parts = (weight * relative(queries.evidence[:, :, at]) for at, weight in places.items())
        return np.asarray(sum(parts), dtype=np.float32)

    return of


FALLBACKS: Mapping[RankingTask, Mapping[str, Fallback]] = {
    RankingTask.TOOLS: {
        "words and votes": fallback,
        "votes": _pooled(votes=1),
        "all votes and words": _pooled(votes=1, alike=1, words=0.5),
    },
    RankingTask.CAPABILITIES: {
        "words and votes": fallback,
        "votes": _pooled(votes=1),
        "past intents": _pooled(asked=1),
        "past intents and votes": _pooled(asked=1, votes=1),
    },
}
"""Simple methods, by name: ``votes`` are those of the nearest past intents by words, ``all votes``
those by n-grams too; ``past intents`` is BM25 on them."""
