"""Vectors of texts by the words of one catalogue: latent semantic analysis.

A small general encoder blurs what matters in one catalogue: two tools of one service differ in a
word that it has seldom seen.  Here the coordinates are the directions in which the catalogue's own
intents and tools differ most, over words and pairs of words.  A linear model on these can tell
hundreds of tools apart (experiments/011-shgat: the vector that moves ranking most).

S. Deerwester et al.: Indexing by Latent Semantic Analysis, JASIS 41(6), 1990.  A table and
numpy is all that serving needs; `pml.discovery.latent_fitting` makes the table.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float32

from pml.discovery.ports import Encoder
from pml.discovery.words import Tokenizer, Words, with_pairs

_HASH_CHARS = 16


class LatentWords:
    """An encoder (`pml.discovery.ports.Encoder`): a row by word, weighted by its rarity.

    Args:
        words: Words, and pairs of words joined by a space; each once.
        rows: By word, its coordinates times its weight.
    """

    def __init__(self, words: Sequence[str], rows: Float32[np.ndarray, "words dim"]) -> None:
        if len(words) != len(rows):
            msg = f"{len(words)} words for {len(rows)} rows"
            raise ValueError(msg)
        self._tokenizer: Tokenizer = Words()
        self._words = tuple(words)
        self._rows = rows
        self._number = {word: number for number, word in enumerate(words)}
        digest = hashlib.sha256("\n".join(words).encode())
        digest.update(np.ascontiguousarray(rows, "<f4").tobytes())
        self.name = f"latent@{digest.hexdigest()[:_HASH_CHARS]}"

    @property
    def dimension(self) -> int:
        """Of the vectors."""
        return int(self._rows.shape[1])

    def encode(self, texts: Sequence[str]) -> Float32[np.ndarray, "texts dim"]:
        """Unit vectors; zeros for a text without a known word."""
        found = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(found, texts, strict=True):
            counts = Counter(with_pairs(self._tokenizer(text)))
            known = [(self._number[term], n) for term, n in counts.items() if term in self._number]
            if known:
                numbers, repeats = zip(*known, strict=True)
                weights = 1 + np.log(np.array(repeats, np.float32))
                row[:] = weights @ self._rows[list(numbers)]
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        np.divide(found, lengths, out=found, where=lengths > 0)
        return found

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All that there is of it, for a file; `from_arrays` reads it."""
        return {"words": np.array(self._words, dtype=np.str_), "rows": self._rows}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "LatentWords":
        """Of `to_arrays`.

        Raises:
            ValueError: an array is missing, they do not fit each other, or a row is not finite.
        """
        missing = {"words", "rows"} - set(arrays)
        if missing:
            msg = f"no array {', '.join(sorted(missing))}"
            raise ValueError(msg)
        rows = arrays["rows"].astype(np.float32)
        if not np.isfinite(rows).all():
            msg = "expected finite rows, found NaN or infinity"
            raise ValueError(msg)
        return cls([str(word) for word in arrays["words"]], rows)


class JoinedEncoder:
    """Encoders side by side: a text's vector is all of theirs, each as long as the others."""

    def __init__(self, encoders: Sequence[Encoder]) -> None:
        self._encoders = tuple(encoders)
        self.name = "+".join(encoder.name for encoder in encoders)

    def encode(self, texts: Sequence[str]) -> Float32[np.ndarray, "texts dim"]:
        """Unit vectors where each encoder gives one."""
        parts = [np.asarray(encoder.encode(texts), np.float32) for encoder in self._encoders]
        joined: Float32[np.ndarray, "texts dim"] = np.concatenate(parts, axis=1)
        return joined / np.float32(np.sqrt(len(parts)))
