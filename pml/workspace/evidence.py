"""What retrievers say of the candidates of each query, made of the examples that are known.

Columns are about from 0 to 1.  What ranks where the model does not is their mean: hybrid search.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float32, Int64

from pml.evaluation.retrieval import NEIGHBOURS, Texts, nearest, relative, similarities, votes
from pml.learning.examples import Example
from pml.models.inputs import Queries, RankingTask
from pml.workspace.views import Source

COLUMNS: Mapping[RankingTask, tuple[str, ...]] = {
    RankingTask.TOOLS: ("words", "votes"),
    RankingTask.CAPABILITIES: ("words", "nearest"),
    RankingTask.NEXT_TOOL: ("after", "votes"),
}
STATS = ("nearest",)
"""Of the query: how alike the nearest past intent is."""


class Evidence:
    """Asks retrievers that know some examples."""

    def __init__(
        self, source: Source, capabilities: Sequence[str], known: Sequence[Example]
    ) -> None:
        self._source = source
        self._capabilities = capabilities
        self._known = {task: [e for e in known if e.task is task] for task in RankingTask}
        self._place = {tool: at for at, tool in enumerate(source.tools)}

    def queries(
        self,
        task: RankingTask,
        intents: Sequence[str],
        prefixes: Sequence[Sequence[str]] = (),
    ) -> Queries:
        """With vectors, evidence and stats; ``prefixes`` are for the next tool only."""
        columns = {
            RankingTask.TOOLS: self._of_tools,
            RankingTask.CAPABILITIES: self._of_capabilities,
            RankingTask.NEXT_TOOL: self._of_next,
        }[task](intents, prefixes)
        return Queries(
            vectors=self._source.encoded(intents),
            evidence=np.stack(columns, axis=2),
            stats=self._stats(intents),
            prefixes=self._numbered(prefixes) if task is RankingTask.NEXT_TOOL else (),
        )

    def _of_tools(
        self, intents: Sequence[str], _prefixes: Sequence[Sequence[str]]
    ) -> tuple[Float32[np.ndarray, "queries candidates"], ...]:
        past = [example.intent for example in self._known[RankingTask.TOOLS]]
        return relative(Texts(self._source.texts, past).bm25(intents)), self._votes(intents)

    def _of_capabilities(
        self, intents: Sequence[str], _prefixes: Sequence[Sequence[str]]
    ) -> tuple[Float32[np.ndarray, "queries candidates"], ...]:
        members = self._source.members
        texts = [
            " ".join(self._source.texts[self._place[t]] for t in members[key].tools)
            for key in self._capabilities
        ]
        words = np.zeros((len(intents), len(texts)), np.float32)
        if texts:
            words = relative(Texts(texts).bm25(intents))
        return words, self._nearest(intents)

    def _of_next(
        self, intents: Sequence[str], prefixes: Sequence[Sequence[str]]
    ) -> tuple[Float32[np.ndarray, "queries candidates"], ...]:
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for example in self._known[RankingTask.NEXT_TOOL]:
            counts[example.prefix[-1]].update(example.positives)
        after = np.zeros((len(intents), len(self._place)), np.float32)
        for row, prefix in zip(after, prefixes, strict=True):
            seen = counts[prefix[-1]]
            for tool, count in seen.items():
                row[self._place[tool]] = count / seen.total()
        return after, self._votes(intents)

    def _votes(self, intents: Sequence[str]) -> Float32[np.ndarray, "queries candidates"]:
        """Of the nearest past intents for the tools that served them."""
        past = [each for each in self._known[RankingTask.TOOLS] if each.positives]
        if not past:
            return np.zeros((len(intents), len(self._place)), np.float32)
        texts = [example.intent for example in past]
        near = nearest(intents, texts, self._source.texts, NEIGHBOURS)
        owners = [{self._place[tool] for tool in example.positives} for example in past]
        return relative(votes(near, owners, len(self._place)))

    def _nearest(self, intents: Sequence[str]) -> Float32[np.ndarray, "queries candidates"]:
        """The largest cosine with a past intent of each capability."""
        past = [each for each in self._known[RankingTask.CAPABILITIES] if each.positives]
        found = np.zeros((len(intents), len(self._capabilities)), np.float32)
        if not past:
            return found
        place = {key: at for at, key in enumerate(self._capabilities)}
        owners = np.array([place[example.positives[0]] for example in past])
        row = 0
        for cosines in similarities(intents, [example.intent for example in past]):
            for number, owner in enumerate(owners.tolist()):
                column = found[row : row + len(cosines), owner]
                np.maximum(column, cosines[:, number], out=column, casting="same_kind")
            row += len(cosines)
        return found

    def _stats(self, intents: Sequence[str]) -> Float32[np.ndarray, "queries stats"]:
        past = [each.intent for each in self._known[RankingTask.TOOLS] if each.positives]
        if not past:
            return np.zeros((len(intents), 1), np.float32)
        best = [cosines.max(axis=1) for cosines in similarities(intents, past)]
        return np.concatenate([np.zeros(0), *best]).astype(np.float32)[:, None]

    def _numbered(self, prefixes: Sequence[Sequence[str]]) -> tuple[Int64[np.ndarray, " _"], ...]:
        place = self._place
        return tuple(
            np.array([place[tool] for tool in each if tool in place], dtype=np.int64)
            for each in prefixes
        )


def fallback(queries: Queries) -> Float32[np.ndarray, "queries candidates"]:
    """Hybrid search: the mean of what retrievers say."""
    mean: Float32[np.ndarray, "queries candidates"] = queries.evidence.mean(
        axis=2, dtype=np.float32
    )
    return mean
