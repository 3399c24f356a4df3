"""What retrievers say of every candidate for many intents at once: `pml.discovery.evidence`.

The same columns, from texts and past intents that stay as they are.  A ranker is trained on
thousands of intents, each asked where some past intents are left out; there, one product of sparse
matrices takes the place of thousands of walks through an inverted index.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float32, Float64, Int64
from scipy.sparse import csr_array

from pml.discovery.evidence import (
    ALIKE,
    LEAST_VOTES,
    MOST_READ,
    NEIGHBOURS,
    PAST_COLUMNS,
    PAST_STATS,
    TEXT_COLUMNS,
    grams,
    nearest,
    parts_of,
)
from pml.discovery.term_counts import Bm25Rows, CosineRows, TermCounts
from pml.discovery.words import Tokenizer, Words, with_pairs


class TextBatch:
    """As `pml.discovery.evidence.TextEvidence` with these texts in its rows."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._words, self._grams = TermCounts(Words()), TermCounts(grams)
        words = self._words.of(texts)
        self._bm25, self._by_words = Bm25Rows(words), CosineRows(words)
        self._by_grams = CosineRows(self._grams.of(texts))

    def ask(self, intents: Sequence[str]) -> Float32[np.ndarray, "intents texts columns"]:
        """`TEXT_COLUMNS`."""
        words = self._words.of(intents)
        cosines = self._by_words.cosines(words).toarray()
        alike = self._by_grams.cosines(self._grams.of(intents)).toarray()
        found = np.zeros((*cosines.shape, len(TEXT_COLUMNS)), np.float32)
        found[:, :, 0] = self._bm25.shares(words).toarray()
        found[:, :, 1], found[:, :, 2] = cosines, alike
        found[:, :, 3], found[:, :, 4] = _relative(cosines), _relative(alike)
        self._of_parts(intents, found)
        return found

    def _of_parts(
        self, intents: Sequence[str], found: Float32[np.ndarray, "intents texts columns"]
    ) -> None:
        """Columns of parts, of the intents that have several."""
        parts = {row: list(parts_of(intent)) for row, intent in enumerate(intents)}
        several = {row: own for row, own in parts.items() if len(own) > 1}
        if not several:
            return
        asked = [part for own in several.values() for part in own]
        counts = np.array([len(own) for own in several.values()], np.int64)
        starts = np.cumsum(counts) - counts
        by_words = self._by_words.cosines(self._words.of(asked)).toarray()
        by_grams = self._by_grams.cosines(self._grams.of(asked)).toarray()
        rows = list(several)
        found[rows, :, 3] = np.maximum.reduceat(_relative(by_words), starts, axis=0)
        found[rows, :, 4] = np.maximum.reduceat(_relative(by_grams), starts, axis=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastIntent:
    """As `pml.discovery.evidence.PastEvidence.put` is told of it."""

    intent: str
    served: tuple[int, ...]
    """Each candidate once."""
    told: str | None = None


class PastTerms:
    """Terms of past intents and of those that are asked: what batches of one data set share."""

    def __init__(self) -> None:
        tokenizer: Tokenizer = Words()
        self.words = TermCounts(tokenizer)
        self.pairs = TermCounts(lambda text: with_pairs(tokenizer(text)))
        self.grams = TermCounts(grams)


class PastBatch:
    """As `pml.discovery.evidence.PastEvidence` with these past intents in its rows."""

    def __init__(self, past: Sequence[PastIntent], size: int, terms: PastTerms) -> None:
        """Prepare.

        Args:
            past: In the order of their rows.
            size: How many candidates there are.
            terms: Shared.
        """
        self._terms, self._size = terms, size
        self._similar = CosineRows(terms.pairs.of([one.intent for one in past]))
        told = [row for row, one in enumerate(past) if one.told is not None]
        texts = [f"{past[row].intent} {past[row].told}" for row in told]
        self._alike = CosineRows(terms.grams.of(texts))
        self._served = _incidence([one.served for one in past], size)
        self._served_told = self._served[told]
        counts = self._served.sum(axis=0)
        self._popularity = np.log1p(counts) / np.log1p(max(len(past), 1))

    def ask(
        self, intents: Sequence[str], candidates: slice
    ) -> tuple[
        Float32[np.ndarray, "intents candidates columns"], Float32[np.ndarray, "intents stats"]
    ]:
        """`PAST_COLUMNS` of some candidates, and `PAST_STATS`."""
        similar = _nearest(self._similar.cosines(self._terms.pairs.of(intents)), NEIGHBOURS)
        alike = _nearest(self._alike.cosines(self._terms.grams.of(intents)), ALIKE)
        served, served_told = self._served[:, candidates], self._served_told[:, candidates]
        found = np.zeros((len(intents), served.shape[1], len(PAST_COLUMNS)), np.float32)
        found[:, :, 0] = _votes(similar, served)
        _raise_to(found[:, :, 1], similar, served)
        found[:, :, 2] = _votes(alike, served_told)
        found[:, :, 3] = self._popularity[candidates]
        stats = np.zeros((len(intents), len(PAST_STATS)), np.float32)
        stats[:, 0] = similar.max(axis=1).toarray() if similar.nnz else 0
        stats[:, 1] = np.minimum(similar.sum(axis=1) / NEIGHBOURS, 1)
        return found, stats


class AskedBatch:
    """As `pml.discovery.evidence.AskedEvidence` with these candidates in its rows."""

    def __init__(self, intents: Sequence[Sequence[str]], terms: PastTerms) -> None:
        """Of each candidate's past intents, the latest last."""
        read = [asked[-MOST_READ:] for asked in intents]
        counts = terms.words.of([intent for asked in read for intent in asked])
        starts = np.cumsum([0, *map(len, read)])
        entries = np.arange(starts[-1])
        own = csr_array((np.ones(len(entries)), entries, starts), shape=(len(read), len(entries)))
        self._terms, self._bm25 = terms, Bm25Rows(own @ counts)

    def ask(self, intents: Sequence[str]) -> Float32[np.ndarray, "intents candidates"]:
        """`ASKED_COLUMN`."""
        shares = self._bm25.shares(self._terms.words.of(intents)).toarray()
        return np.asarray(shares, np.float32)


def _incidence(served: Sequence[Sequence[int]], size: int) -> csr_array:
    starts = np.cumsum([0, *map(len, served)])
    numbers = np.array([each for one in served for each in one], np.int64)
    return csr_array((np.ones(len(numbers)), numbers, starts), shape=(len(served), size))


def _nearest(cosines: csr_array, count: int) -> csr_array:
    """Of each row only the entries that `nearest` keeps."""
    starts, kept = cosines.indptr.tolist(), [np.zeros(0, np.int64)]
    for first, end in pairwise(starts):
        kept.append(first + nearest(cosines.data[first:end], count))
    chosen = np.concatenate(kept)
    return csr_array(
        (cosines.data[chosen], cosines.indices[chosen], np.cumsum([0, *map(len, kept[1:])])),
        shape=cosines.shape,
    )


def _votes(near: csr_array, served: csr_array) -> Float64[np.ndarray, "intents candidates"]:
    """Each for what served it, with its squared cosine, as a share of all votes."""
    squares = near.data**2
    rows = np.repeat(np.arange(near.shape[0]), np.diff(near.indptr))
    totals = np.bincount(rows, squares, minlength=near.shape[0]) + LEAST_VOTES
    weights = csr_array((squares / totals[rows], near.indices, near.indptr), shape=near.shape)
    found: Float64[np.ndarray, "intents candidates"] = (weights @ served).toarray()
    return found


def _raise_to(
    column: Float32[np.ndarray, "intents candidates"], near: csr_array, served: csr_array
) -> None:
    """To the highest cosine of those that a candidate served."""
    rows = np.repeat(np.arange(near.shape[0]), np.diff(near.indptr))
    counts = np.diff(served.indptr)[near.indices]
    entries = _ranges(served.indptr[near.indices], counts)
    places = np.repeat(rows, counts), served.indices[entries]
    np.maximum.at(column, places, np.repeat(near.data, counts).astype(np.float32))


def _ranges(
    starts: Int64[np.ndarray, " ranges"], counts: Int64[np.ndarray, " ranges"]
) -> Int64[np.ndarray, " _"]:
    """Each start and as many numbers from it on as are counted, one after another."""
    before = np.cumsum(counts) - counts
    found: Int64[np.ndarray, " _"] = np.arange(counts.sum()) + np.repeat(starts - before, counts)
    return found


def _relative(
    scores: Float64[np.ndarray, "rows texts"],
) -> Float64[np.ndarray, "rows texts"]:
    """As shares of each row's best; zeros stay zeros."""
    best = scores.max(axis=1, initial=0.0, keepdims=True)
    found: Float64[np.ndarray, "rows texts"] = scores / np.where(best > 0, best, 1.0)
    return found
