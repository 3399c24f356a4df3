"""What retrievers say of every candidate for an intent, as arrays: the input of a trained ranker.

Search (`pml.discovery.index`) fuses ranks, which forgets how sure each retriever is.  A ranker that
learns (`pml.models`) is better given what each of them says, from 0 to 1, and what is known of the
intent as a whole.  Training and serving ask this module, so that both see the same.

Two sources.  Texts: words and character n-grams that an intent shares with what a candidate says
of itself, of the intent as a whole and of each of its parts, as an intent may want several things.
Past intents: whom the nearest of them were served by, and how often each candidate served.

The idea of learning from retrievers' scores, with features of the query beside them: T.-Y. Liu,
"Learning to Rank for Information Retrieval", Foundations and Trends in Information Retrieval 3(3),
2009, section 6 (features of LETOR).  Parts of a request: ToolBench and Seal-Tools ask for
several things in one request; experiments/011-shgat says what each column is worth.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import islice

import numpy as np
from jaxtyping import Float32, Float64, Int64

from pml.discovery.bm25 import Bm25
from pml.discovery.tfidf import Frequencies, TfIdf
from pml.discovery.words import Tokenizer, Words, split, with_pairs

TEXT_COLUMNS = ("words", "cosine", "grams", "part_cosine", "part_grams")
"""BM25 as a share of what the intent's words could give, cosine of words, cosine of n-grams; then
both cosines of the part that fits best, relative to the best candidate for that part."""
PAST_COLUMNS = ("votes", "nearest", "alike", "popularity")
"""Share of the nearest past intents' votes, cosine of the nearest that it served; share of the
votes of more of them, compared by n-grams of what was asked and what served; and how often it
served, relative to the logarithm of all past intents."""
PAST_STATS = ("nearest_past", "mean_past")
"""Cosine of the nearest past intent, and mean of the nearest."""
ASKED_COLUMN = "asked"
"""BM25 on all that a candidate's past intents said, as a share of what the intent's words could
give."""
MOST_READ = 50
"""Past intents of a candidate, the latest, that are read for it."""
NEIGHBOURS = 20
ALIKE = 50
"""How many vote where n-grams are compared; short titles say little, so more are asked."""
LEAST_VOTES = 0.05
"""Added to all votes together, so that those of strangers are no certainty."""
_GRAMS = (3, 4, 5)
_WORDS_KEPT = 65_536
MOST_PARTS = 32
"""Of an intent that are asked for: each is asked of all candidates, and texts may be of any length;
the intent as a whole still counts all of it."""
_PART_END = re.compile(r"(?<=[.!?;])\s+|\n+")


class TextEvidence:
    """Texts of candidates by row, asked for an intent.

    Invariant: what is answered depends on the texts that are there, not on those before.
    """

    def __init__(self) -> None:
        self._tokenizer: Tokenizer = Words()
        self._bm25 = Bm25()
        self._words = TfIdf(Frequencies())
        self._grams = TfIdf(Frequencies())

    def put(self, row: int, text: str) -> None:
        """Enter a text, in place of the one that the row had."""
        words = self._tokenizer(text)
        self._bm25.put(row, words)
        self._words.put(row, words)
        self._grams.put(row, grams(text))

    def remove(self, row: int) -> None:
        """Take a text out; nothing happens where there is none."""
        self._bm25.remove(row)
        self._words.remove(row)
        self._grams.remove(row)

    def ask(self, intent: str, size: int) -> Float32[np.ndarray, "size columns"]:
        """`TEXT_COLUMNS` of the first ``size`` rows; 0 where there is no text."""
        found = np.zeros((size, len(TEXT_COLUMNS)), np.float32)
        words = self._tokenizer(intent)
        whole = [
            _shares(self._bm25, words),
            self._words.cosines(words),
            self._grams.cosines(grams(intent)),
        ]
        for column, scores in enumerate([*whole, *self._of_parts(intent, whole)]):
            found[: len(scores), column] = scores[:size]
        return found

    def _of_parts(
        self, intent: str, whole: Sequence[Float64[np.ndarray, " _"]]
    ) -> list[Float64[np.ndarray, " _"]]:
        parts = list(parts_of(intent))
        if len(parts) < 2:  # noqa: PLR2004  # one part is the whole
            return [_relative(whole[1]), _relative(whole[2])]
        cosines = [_relative(self._words.cosines(self._tokenizer(part))) for part in parts]
        alike = [_relative(self._grams.cosines(grams(part))) for part in parts]
        return [_best(cosines), _best(alike)]


class AskedEvidence:
    """What each candidate was asked for before, as one text by row."""

    def __init__(self) -> None:
        self._tokenizer: Tokenizer = Words()
        self._bm25 = Bm25()

    def put(self, row: int, intents: Sequence[str]) -> None:
        """Enter a candidate's past intents, the latest last, in place of those that it had."""
        self._bm25.put(row, self._tokenizer(" ".join(intents[-MOST_READ:])))

    def remove(self, row: int) -> None:
        """Take them out; nothing happens where there are none."""
        self._bm25.remove(row)

    def ask(self, intent: str, size: int) -> Float32[np.ndarray, " size"]:
        """`ASKED_COLUMN` of the first ``size`` candidates."""
        found = np.zeros(size, np.float32)
        scores = _shares(self._bm25, self._tokenizer(intent))
        found[: len(scores)] = scores[:size]
        return found


class PastEvidence:
    """Past intents by row, and the candidates that served them."""

    def __init__(self) -> None:
        self._tokenizer: Tokenizer = Words()
        self._similar = TfIdf(Frequencies())
        self._alike = TfIdf(Frequencies())
        self._served: dict[int, Int64[np.ndarray, " _"]] = {}
        self._counts: Int64[np.ndarray, " candidates"] = np.zeros(0, np.int64)

    def put(
        self, row: int, intent: str, served: Collection[int], *, told: str | None = None
    ) -> None:
        """Enter a past intent, in place of the one that the row had.

        Args:
            row: Its own.
            intent: What was asked.
            served: Numbers of the candidates that served it, each once.
            told: Names of what served it, which n-grams are compared with beside the intent's own;
                without, they are not compared: with very many past intents that costs much.
        """
        self.remove(row)
        if told is not None:
            self._alike.put(row, grams(f"{intent} {told}"))
        candidates = np.array(sorted(served), np.int64)
        self._similar.put(row, with_pairs(self._tokenizer(intent)))
        self._served[row] = candidates
        missing = int(candidates.max(initial=-1)) + 1 - len(self._counts)
        if missing > 0:
            self._counts = np.concatenate([self._counts, np.zeros(missing, np.int64)])
        self._counts[candidates] += 1

    def remove(self, row: int) -> None:
        """Take a past intent out; nothing happens where there is none."""
        candidates = self._served.pop(row, None)
        if candidates is not None:
            self._similar.remove(row)
            self._alike.remove(row)
            self._counts[candidates] -= 1

    def ask(
        self, intent: str, size: int
    ) -> tuple[Float32[np.ndarray, "size columns"], Float32[np.ndarray, " stats"]]:
        """`PAST_COLUMNS` of the first ``size`` candidates, and `PAST_STATS`."""
        found = np.zeros((size, len(PAST_COLUMNS)), np.float32)
        cosines = self._similar.cosines(with_pairs(self._tokenizer(intent)))
        near = nearest(cosines, NEIGHBOURS)
        self._vote(found[:, 0], near, cosines[near])
        for row, cosine in zip(near.tolist(), cosines[near].tolist(), strict=True):
            served = self._served[row]
            served = served[served < size]
            found[served, 1] = np.maximum(found[served, 1], cosine)
        alike = self._alike.cosines(grams(intent))
        near_alike = nearest(alike, ALIKE)
        self._vote(found[:, 2], near_alike, alike[near_alike])
        self._count(found[:, 3])
        best = float(cosines[near].max(initial=0.0))
        mean = float(cosines[near].sum()) / NEIGHBOURS
        return found, np.array([best, min(mean, 1.0)], np.float32)

    def _vote(
        self,
        column: Float32[np.ndarray, " size"],
        near: Int64[np.ndarray, " near"],
        cosines: Float64[np.ndarray, " near"],
    ) -> None:
        """Each for what served it, with its squared cosine, as a share of all votes."""
        weights = cosines**2
        weights /= weights.sum() + LEAST_VOTES
        for row, weight in zip(near.tolist(), weights.tolist(), strict=True):
            served = self._served[row]
            column[served[served < len(column)]] += weight

    def _count(self, column: Float32[np.ndarray, " size"]) -> None:
        known = self._counts[: len(column)]
        column[: len(known)] = np.log1p(known) / np.log1p(max(len(self._served), 1))


def parts_of(intent: str) -> Iterator[str]:
    """The sentences of an intent that have a word, the first `MOST_PARTS` at most."""
    return islice((part for part in _PART_END.split(intent) if split(part)), MOST_PARTS)


def grams(text: str) -> list[str]:
    """Character n-grams of 3 to 5 within each word of a text, whose ends are marked by spaces."""
    return [gram for word in split(text) for gram in _grams_of(word)]


@lru_cache(maxsize=_WORDS_KEPT)
def _grams_of(word: str) -> tuple[str, ...]:
    padded = f" {word} "
    return tuple(
        padded[start : start + length]
        for length in _GRAMS
        for start in range(max(len(padded) - length + 1, 1 if length == _GRAMS[0] else 0))
    )


def nearest(cosines: Float64[np.ndarray, " rows"], count: int) -> Int64[np.ndarray, " near"]:
    """Rows of the highest cosines above 0, and of those that tie with the last."""
    named = np.flatnonzero(cosines > 0)
    if len(named) > count:
        values = cosines[named]
        named = named[values >= np.partition(values, len(named) - count)[-count]]
    return named


def _shares(bm25: Bm25, words: Sequence[str]) -> Float64[np.ndarray, " _"]:
    """Scores as shares of what the words could give."""
    possible = sum(bm25.idf(word) for word in dict.fromkeys(words))
    return np.asarray(bm25.scores(words) / max(possible, 1.0))


def _relative(scores: Float64[np.ndarray, " _"]) -> Float64[np.ndarray, " _"]:
    """As shares of the best; zeros stay zeros."""
    best = scores.max(initial=0.0)
    return scores / best if best > 0 else scores


def _best(scores: Sequence[Float64[np.ndarray, " _"]]) -> Float64[np.ndarray, " _"]:
    """The highest by row; an array that is shorter ends in zeros."""
    found = np.zeros(max(map(len, scores)))
    for one in scores:
        np.maximum(found[: len(one)], one, out=found[: len(one)])
    return found
