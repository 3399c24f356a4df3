"""Examples on views that do not know them, with the evidence that serving would have had (LE-5).

A `FoldBuilder` of `pml.learning.folds`: texts of tools are indexed once, past intents anew for each
fold from the examples that it may know.  Of a tool, evidence is `pml.discovery.evidence`'s; of a
capability, what texts say is the mean over its tools, and past intents speak for it itself.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

import numpy as np
from jaxtyping import Float32
from scipy.sparse import coo_array, csr_array

from pml.discovery.evidence import (
    ASKED_COLUMN,
    NEIGHBOURS,
    PAST_COLUMNS,
    PAST_STATS,
    TEXT_COLUMNS,
    parts_of,
)
from pml.discovery.evidence_batch import AskedBatch, PastBatch, PastIntent, PastTerms, TextBatch
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
EXPECTED_VOTES = 0.7
"""Votes that a tool which never served would have, as a share of what its texts say: one of six
from none to all (experiments/011-shgat)."""
_BLOCK = 256
"""Intents that are asked together: bounds the memory."""
RANKED = (RankingTask.TOOLS, RankingTask.CAPABILITIES)


class ViewEvidence:
    """Asks texts and the past intents that a view knows."""

    def __init__(
        self,
        source: Source,
        texts: TextBatch,
        terms: PastTerms,
        view: View,
        known: Sequence[Example],
    ) -> None:
        self._source = source
        self._texts = texts
        self._view = view
        past = past_intents(view.graph, source.names, known)
        self._past = PastBatch(past, view.graph.nodes, terms)
        self._asked = AskedBatch(asked_of(view.graph, known), terms)

    def queries(self, task: RankingTask, intents: Sequence[str]) -> Queries:
        """Vectors, evidence and stats of intents."""
        graph = self._view.graph
        tools, nodes, asked = len(graph.tools), graph.nodes, COLUMNS.index(ASKED_COLUMN)
        chosen = slice(0, tools) if task is RankingTask.TOOLS else slice(tools, nodes)
        vectors = self._source.encoded(intents)
        evidence = np.zeros((len(intents), chosen.stop - chosen.start, len(COLUMNS)), np.float32)
        stats = np.zeros((len(intents), len(STATS)), np.float32)
        for start in range(0, len(intents), _BLOCK):
            block = slice(start, start + _BLOCK)
            said = self._texts.ask(intents[block])
            past, stats[block, : len(PAST_STATS)] = self._past.ask(intents[block], chosen)
            told = said if task is RankingTask.TOOLS else self._mean(said)
            evidence[block, :, : len(TEXT_COLUMNS)] = told
            evidence[block, :, len(TEXT_COLUMNS) : asked] = past
            if task is RankingTask.CAPABILITIES:
                evidence[block, :, asked] = self._asked.ask(intents[block])
            stats[block, -1] = said[:, :, 0].max(axis=1, initial=0)
        stats[:, -2] = [1 - 1 / max(len(list(parts_of(intent))), 1) for intent in intents]
        own = self._view.inputs.vectors[chosen]
        evidence[:, :, -1] = np.maximum(vectors @ own.T, 0)
        return Queries(vectors=vectors, evidence=evidence, stats=stats)

    def _mean(
        self, said: Float32[np.ndarray, "intents tools columns"]
    ) -> Float32[np.ndarray, "intents capabilities columns"]:
        """Over each capability's tools."""
        intents, tools, columns = said.shape
        by_tool = said.transpose(1, 0, 2).reshape(tools, intents * columns)
        means = (self._means @ by_tool).reshape(-1, intents, columns)
        return np.ascontiguousarray(means.transpose(1, 0, 2))

    @cached_property
    def _means(self) -> csr_array:
        """Capabilities by tools: takes the mean over each capability's tools."""
        graph = self._view.graph
        tools = len(graph.tools)
        own = graph.members < tools
        rows, columns = graph.containers[own] - tools, graph.members[own]
        shares = 1 / np.bincount(rows, minlength=graph.nodes - tools)[rows]
        return coo_array(
            (shares.astype(np.float32), (rows, columns)), shape=(graph.nodes - tools, tools)
        ).tocsr()


def past_intents(
    graph: Hypergraph, names: Sequence[str], known: Sequence[Example]
) -> list[PastIntent]:
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
    first = len(served) - MOST_ALIKE
    return [
        PastIntent(
            intent=intent,
            served=tuple(sorted(nodes)),
            told=_told(nodes, names) if row >= first else None,
        )
        for row, ((_, intent), nodes) in enumerate(served.items())
    ]


def _told(nodes: Collection[int], names: Sequence[str]) -> str:
    """Names of the tools among nodes."""
    return " ".join(names[node] for node in sorted(nodes) if node < len(names))


def asked_of(graph: Hypergraph, known: Sequence[Example]) -> list[list[str]]:
    """What each capability was asked for, in the order of the capabilities."""
    intents: dict[str, list[str]] = {key: [] for key in graph.capabilities}
    for example in known:
        if example.task is RankingTask.CAPABILITIES:
            for key in example.positives:
                if key in intents:
                    intents[key].append(example.intent)
    return list(intents.values())


class Folds:
    """Builds folds of a data set: a `pml.learning.folds.FoldBuilder`."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._texts, self._terms = TextBatch(source.texts), PastTerms()

    def evidence(self, view: View, known: Sequence[Example]) -> ViewEvidence:
        """On a view of the known examples."""
        return ViewEvidence(self._source, self._texts, self._terms, view, known)

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


def expected_votes(share: float) -> Fallback:
    """Texts, and votes twice; nobody could vote for what never served, so its texts stand in.

    Args:
        share: Of what its texts say, in place of its votes.
    """

    def of(queries: Queries) -> Float32[np.ndarray, "queries candidates"]:
        said, voted = _TEXTS(queries) / 3, _VOTES(queries) / 2
        never = queries.evidence[:, :, COLUMNS.index("popularity")] == 0
        votes = np.where(never, np.float32(share) * said, voted)
        return np.asarray((said + 2 * votes) / 3, dtype=np.float32)

    return of


_TEXTS, _VOTES = _pooled(cosine=1, grams=1, meaning=1), _pooled(votes=1, alike=1)
FALLBACKS: Mapping[RankingTask, Mapping[str, Fallback]] = {
    RankingTask.TOOLS: {
        "words and votes": fallback,
        "all votes and words": _pooled(votes=1, alike=1, words=0.5),
        "words": _pooled(words=1),
        "tfidf": _pooled(cosine=1),
        "texts": _TEXTS,
        "texts and votes": _pooled(cosine=1, grams=1, meaning=1, votes=1, alike=1),
        "texts and expected votes": expected_votes(EXPECTED_VOTES),
    },
    RankingTask.CAPABILITIES: {
        "words and votes": fallback,
        "votes": _pooled(votes=1),
        "past intents": _pooled(asked=1),
        "past intents and votes": _pooled(asked=1, votes=1),
    },
}
"""Simple methods, by name: ``votes`` are those of the nearest past intents by words, ``all votes``
those by n-grams too; ``texts`` are what tools say of themselves, ``past intents`` is BM25 on those
of a capability."""
