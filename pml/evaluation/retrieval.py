"""Text retrieval as the floors define it: BM25, TF-IDF, LSA, and the nearest past intents.

The same definitions as in floors.py (`Rank`, `knn_scores`), through the same libraries:
bm25s (k1 1.2, b 0.75), scikit-learn's TF-IDF (sublinear, smoothed) and its truncated SVD of
that (LSA; S. Deerwester et al.: Indexing by Latent Semantic Analysis, JASIS 41(6), 1990).
Where there is nothing to learn words from, every score is 0: such a retriever says nothing.
"""

import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float64, Int64
from scipy.sparse import csr_matrix
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from pml.evaluation.questions import Scores
from pml.evaluation.text import words

with warnings.catch_warnings():
    # It looks for a progress bar, unused here, and warns in notebooks that have none.
    warnings.filterwarnings("ignore", "IProgress not found")
    import bm25s  # type: ignore[import-not-found,unused-ignore]

K1, B = 1.2, 0.75
TOPICS = 200
"""Dimensions of LSA at most."""
EXTRA_FOR_TOPICS = 20_000
"""So many other texts at most take part in learning the topics."""
NEIGHBOURS = 20
_BLOCK = 256
"""Queries whose similarities to all past intents are held at once."""


class Vectors:
    """Texts as unit vectors of sublinear TF-IDF, over the words of ``known``."""

    def __init__(self, known: Sequence[str]) -> None:
        self._vectorizer: TfidfVectorizer | None = None
        if any(words(text) for text in known):
            self._vectorizer = TfidfVectorizer(analyzer=words, sublinear_tf=True).fit(known)

    def __call__(self, texts: Sequence[str]) -> csr_matrix:
        """One row per text; a row of zeros where no word is known."""
        if self._vectorizer is None or not texts:
            width = 1 if self._vectorizer is None else len(self._vectorizer.vocabulary_)
            return csr_matrix((len(texts), width))
        return self._vectorizer.transform(texts)


class Texts:
    """Documents, and three ways in which they fit a query.

    Everything is computed when first asked for, and kept.

    Args:
        documents: What is ranked.
        extra: Other texts of the kind that is asked (past intents), which help to weigh words.
    """

    def __init__(self, documents: Sequence[str], extra: Sequence[str] = ()) -> None:
        self._documents = list(documents)
        self._extra = list(extra)

    @cached_property
    def vectors(self) -> Vectors:
        """Of documents and extra texts together."""
        return Vectors([*self._documents, *self._extra])

    @cached_property
    def _bm25(self) -> bm25s.BM25:
        index = bm25s.BM25(k1=K1, b=B)
        index.index([words(text) or ["_"] for text in self._documents], show_progress=False)
        return index

    @cached_property
    def _matrix(self) -> csr_matrix:
        return self.vectors(self._documents)

    @cached_property
    def _topics(self) -> TruncatedSVD | None:
        """None where there are too few words or texts to find any."""
        known = [*self._documents, *self._extra[:EXTRA_FOR_TOPICS]]
        size = min(
            TOPICS,
            self._matrix.shape[1] - 1,
            len(self._documents) + len(self._extra) - 1,
        )
        if size < 1:
            return None
        return TruncatedSVD(size, random_state=0).fit(self.vectors(known))

    def bm25(self, queries: Sequence[str]) -> Scores:
        """Sums over the words of the query, as often as it says them."""
        scores = np.zeros((len(queries), len(self._documents)), np.float32)
        known = self._bm25.vocab_dict
        for row, query in zip(scores, queries, strict=True):
            said = [word for word in words(query) if word in known]
            if said:
                row[:] = self._bm25.get_scores(said)
        return scores

    def tfidf(self, queries: Sequence[str]) -> Scores:
        """Cosines."""
        scores: Scores = (self.vectors(queries) @ self._matrix.T).toarray().astype(np.float32)
        return scores

    def lsa(self, queries: Sequence[str]) -> Scores:
        """Cosines between topics."""
        if self._topics is None or not queries:
            return np.zeros((len(queries), len(self._documents)), np.float32)
        asked = normalize(self._topics.transform(self.vectors(queries)))
        told = normalize(self._topics.transform(self._matrix))
        scores: Scores = (asked @ told.T).astype(np.float32)
        return scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """The past intents most like each query, the most similar first."""

    indices: Int64[np.ndarray, "cases near"]
    cosines: Float64[np.ndarray, "cases near"]


def nearest(
    queries: Sequence[str], past: Sequence[str], known: Sequence[str], count: int = NEIGHBOURS
) -> Neighbours:
    """The ``count`` past intents that are most similar, or all if there are fewer.

    Args:
        queries: What is asked.
        past: What was asked before.
        known: Further texts by which words are weighed (those of the tools).
        count: How many.
    """
    blocks = [_first(cosines, count) for cosines in similarities(queries, past, known)]
    empty = np.zeros((0, min(count, len(past))))
    return Neighbours(
        indices=np.concatenate([empty.astype(np.int64), *(first for first, _ in blocks)]),
        cosines=np.concatenate([empty, *(cosines for _, cosines in blocks)]),
    )


def similarities(
    queries: Sequence[str], past: Sequence[str], known: Sequence[str] = ()
) -> Iterator[np.ndarray]:
    """Cosines of queries (rows) with past intents, some hundred queries at a time."""
    vectors = Vectors([*past, *known])
    rows = vectors(past).T
    for start in range(0, len(queries), _BLOCK):
        yield (vectors(queries[start : start + _BLOCK]) @ rows).toarray()


def _first(cosines: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    last = min(count, cosines.shape[1] - 1)
    if last < 0:
        return np.zeros((len(cosines), 0), np.int64), np.zeros((len(cosines), 0))
    near = np.argpartition(-cosines, last, axis=1)[:, :count]
    order = np.argsort(-np.take_along_axis(cosines, near, axis=1), axis=1)
    near = np.take_along_axis(near, order, axis=1)
    return near, np.take_along_axis(cosines, near, axis=1)


def votes(neighbours: Neighbours, owners: Sequence[Collection[int]], candidates: int) -> Scores:
    """Every neighbour votes, with its squared cosine, for the candidates that served it.

    Args:
        neighbours: Whom to ask.
        owners: By past intent, indices of candidates, each once.
        candidates: How many there are.
    """
    scores = np.zeros((len(neighbours.indices), candidates), np.float32)
    for row, near, cosines in zip(scores, neighbours.indices, neighbours.cosines, strict=True):
        for index, weight in zip(near.tolist(), (cosines**2).tolist(), strict=True):
            for owner in owners[index]:
                row[owner] += weight
    return scores


def relative(scores: Scores) -> Scores:
    """Scores as shares of the best of their row."""
    best = scores.max(axis=1, keepdims=True, initial=0)
    shares: Scores = (scores / (best + 1e-9)).astype(np.float32)
    return shares
