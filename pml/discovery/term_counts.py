"""Texts by terms as sparse matrices, and their TF-IDF cosines: many queries in one product.

Equal to `pml.discovery.tfidf` and `pml.discovery.bm25`, which answer one query on texts that come
and go.  Training asks thousands of queries of texts that stay, which one product of sparse matrices
does in a fraction of the time (C. Manning, P. Raghavan, H. Schuetze: Introduction to Information
Retrieval, 2008, section 6.3).  Needs `pml[evaluate]`.
"""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float64, Int64
from scipy.sparse import csr_array

_K1, _B = 1.2, 0.75
"""Those of `pml.discovery.bm25.Bm25`."""


class TermCounts:
    """How often each text has each term.

    Invariant: each text is split once, and a term has one number, in whatever text it comes.
    """

    def __init__(self, split: Callable[[str], Sequence[str]]) -> None:
        self._split = split
        self._number: dict[str, int] = {}
        self._counted: dict[str, tuple[Int64[np.ndarray, " _"], Float64[np.ndarray, " _"]]] = {}

    def of(self, texts: Sequence[str]) -> csr_array:
        """A row per text, a column per term seen so far; terms in the order of the text."""
        found = [self._counts(text) for text in texts]
        starts = np.cumsum([0, *(len(terms) for terms, _ in found)])
        terms = np.concatenate([np.zeros(0, np.int64), *(terms for terms, _ in found)])
        counts = np.concatenate([np.zeros(0), *(counts for _, counts in found)])
        return csr_array((counts, terms, starts), shape=(len(texts), len(self._number)))

    def _counts(self, text: str) -> tuple[Int64[np.ndarray, " _"], Float64[np.ndarray, " _"]]:
        if text not in self._counted:
            counts = Counter(self._split(text))
            number = self._number
            terms = [number.setdefault(term, len(number)) for term in counts]
            self._counted[text] = np.array(terms, np.int64), np.array([*counts.values()], float)
        return self._counted[text]


class CosineRows:
    """As `pml.discovery.tfidf.TfIdf` with frequencies of its own."""

    def __init__(self, counts: csr_array) -> None:
        """Of a text per row."""
        self._texts = counts.shape[0]
        self._texts_with = np.bincount(counts.indices, minlength=counts.shape[1])
        self._weights = _logarithmic(counts)
        self._lengths = _lengths(_scaled(self._weights, self._idf(counts.shape[1])))
        self._by_term = self._weights.T.tocsr()

    def cosines(self, counts: csr_array) -> csr_array:
        """Queries by texts; their terms are numbered as those of the texts were."""
        width = counts.shape[1]
        idf = self._idf(width)
        weights = _scaled(_logarithmic(counts), idf)
        shape = (width, self._texts)
        starts = _extended(self._by_term.indptr, width + 1)
        by_term = csr_array((self._by_term.data, self._by_term.indices, starts), shape=shape)
        found = _scaled(weights, idf) @ by_term
        rows = np.repeat(_lengths(weights), np.diff(found.indptr))
        found.data = np.minimum(found.data / (self._lengths[found.indices] * rows), 1.0)
        return found

    def _idf(self, width: int) -> Float64[np.ndarray, " terms"]:
        """The highest for terms that no text has."""
        texts_with = np.zeros(width)
        texts_with[: len(self._texts_with)] = self._texts_with
        weights: Float64[np.ndarray, " terms"] = 1 + np.log((1 + self._texts) / (1 + texts_with))
        return weights


class Bm25Rows:
    """As `pml.discovery.bm25.Bm25`, with scores as shares of what a query's words could give."""

    def __init__(self, counts: csr_array) -> None:
        """Of a text per row."""
        self._texts = counts.shape[0]
        self._texts_with = np.bincount(counts.indices, minlength=counts.shape[1])
        lengths = counts.sum(axis=1)
        relative = lengths * (self._texts / max(lengths.sum(), 1))
        norms = np.repeat(_K1 * (1 - _B + _B * relative), np.diff(counts.indptr))
        data = counts.data / (counts.data + norms)
        shares = csr_array((data, counts.indices, counts.indptr), shape=counts.shape)
        self._by_term = shares.T.tocsr()

    def shares(self, counts: csr_array) -> csr_array:
        """Queries by texts; their terms are numbered as those of the texts were."""
        width = counts.shape[1]
        texts_with = _extended(self._texts_with, width, 0)
        idf = np.log1p((self._texts - texts_with + 0.5) / (texts_with + 0.5))
        data = idf[counts.indices]
        wanted = csr_array((data, counts.indices, counts.indptr), shape=counts.shape)
        starts = _extended(self._by_term.indptr, width + 1)
        by_term = csr_array(
            (self._by_term.data, self._by_term.indices, starts), shape=(width, self._texts)
        )
        found = wanted @ by_term
        possible = np.maximum(wanted.sum(axis=1), 1.0)
        found.data = found.data / np.repeat(possible, np.diff(found.indptr))
        return found


def _logarithmic(counts: csr_array) -> csr_array:
    data = 1 + np.log(counts.data)
    return csr_array((data, counts.indices, counts.indptr), shape=counts.shape)


def _scaled(weights: csr_array, by: Float64[np.ndarray, " terms"]) -> csr_array:
    data = weights.data * by[weights.indices]
    return csr_array((data, weights.indices, weights.indptr), shape=weights.shape)


def _lengths(weights: csr_array) -> Float64[np.ndarray, " rows"]:
    """Euclidean; 1 for a row of zeros."""
    rows = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
    squares = np.bincount(rows, weights.data**2, minlength=weights.shape[0])
    found: Float64[np.ndarray, " rows"] = np.sqrt(np.where(squares > 0, squares, 1.0))
    return found


def _extended(values: np.ndarray, size: int, by: int | None = None) -> np.ndarray:
    """With repeats of the last value, or of another, up to a size."""
    last = values[-1] if by is None else by
    return np.concatenate([values, np.full(size - len(values), last, values.dtype)])
