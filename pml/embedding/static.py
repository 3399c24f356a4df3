"""The static encoder as it is served: a table of rows by token, with `tokenizers` and numpy.

A text's vector is the mean of its tokens' rows, as a unit vector: no neural network runs, so
a text takes some microseconds and nothing needs to be downloaded.  sentence-transformers
computes the same from the same folder (its `StaticEmbedding`), 15 s of imports later.

What is summed is summed token by token, in the order of the text, so a text has the same
vector to the bit whatever stands beside it.
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from pml.discovery.ports import Encoder
from pml.embedding.folder import StaticModel, read_static

CHUNK = 256
"""Texts whose tokens' rows are held at once: some 10 MB."""
_DEFAULT = "default"


class StaticEncoder:
    """Texts to unit vectors; see the head."""

    def __init__(self, model: StaticModel, name: str) -> None:
        self._model = model
        self.name = f"{name}@{model.hash}"
        self.dimension = model.rows.shape[1]

    def encode(self, texts: Sequence[str]) -> Float32[np.ndarray, "texts dim"]:
        """Unit vectors; zero for a text without any known token."""
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for start in range(0, len(texts), CHUNK):
            self._fill(vectors[start : start + CHUNK], texts[start : start + CHUNK])
        return vectors

    def _fill(self, vectors: Float32[np.ndarray, "texts dim"], texts: Sequence[str]) -> None:
        encode = self._model.tokenizer.encode
        tokens = [encode(text, add_special_tokens=False).ids for text in texts]
        told = [number for number, ids in enumerate(tokens) if ids]
        if not told:
            return
        flat = np.array([one for ids in tokens for one in ids])
        starts = np.cumsum([0, *(len(tokens[number]) for number in told[:-1])])
        rows = self._model.rows[flat] * self._model.weights[flat, None]
        sums = np.add.reduceat(rows, starts, axis=0)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        vectors[told] = np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)


@cache
def default_encoder() -> Encoder:
    """The encoder that PML ships; the same object each time.

    Raises:
        ConfigError: its files are damaged.
    """
    with as_file(files("pml.embedding") / _DEFAULT) as folder:
        return StaticEncoder(read_static(folder), "pml-static")


def load_static(folder: Path) -> Encoder:
    """A static encoder that was trained here, or copied from where it was.

    Raises:
        ConfigError: a file is not there, damaged, or does not fit the other.
    """
    return StaticEncoder(read_static(folder), folder.resolve().name)
