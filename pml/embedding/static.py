"""The static encoder as it is served: a table of rows by token, with `tokenizers` and numpy.

A text's vector is the mean of its tokens' rows, as a unit vector: no neural network runs, so
a text takes some microseconds and nothing needs to be downloaded.  sentence-transformers
computes the same from the same folder (its `StaticEmbedding`), 15 s of imports later.

What is summed is cut by the text alone, so a text has the same vector to the bit whatever
stands beside it.  Rows of a block of tokens are held at once, however long the texts are.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import TypeAlias

import numpy as np
from jaxtyping import Float32

from pml.discovery.ports import Encoder
from pml.embedding.folder import StaticModel, read_static

BLOCK = 8_192
"""Tokens whose rows are held at once, or twice as many: some 20 MB."""
_DEFAULT = "default"
_Piece: TypeAlias = tuple[int, list[int]]
"""Number of a text, and some of its tokens."""


class StaticEncoder:
    """Texts to unit vectors; see the head."""

    def __init__(self, model: StaticModel, name: str) -> None:
        self._model = model
        self.name = f"{name}@{model.hash}"
        self.dimension = model.rows.shape[1]

    def encode(self, texts: Sequence[str]) -> Float32[np.ndarray, "texts dim"]:
        """Unit vectors; zero for a text without any known token."""
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for block in _blocks(self._pieces(texts)):
            self._add(vectors, block)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return vectors

    def _pieces(self, texts: Sequence[str]) -> Iterator[_Piece]:
        for number, text in enumerate(texts):
            # Half a surrogate pair is no character, and the tokenizer takes none.
            known = text.encode("utf-8", "replace").decode()
            ids = self._model.tokenizer.encode(known, add_special_tokens=False).ids
            for start in range(0, len(ids), BLOCK):
                yield number, ids[start : start + BLOCK]

    def _add(self, vectors: Float32[np.ndarray, "texts dim"], pieces: Sequence[_Piece]) -> None:
        flat = np.concatenate([ids for _, ids in pieces])
        starts = np.cumsum([0, *(len(ids) for _, ids in pieces[:-1])])
        rows = self._model.rows[flat] * self._model.weights[flat, None]
        for (number, _), total in zip(pieces, np.add.reduceat(rows, starts, axis=0), strict=True):
            vectors[number] += total


def _blocks(pieces: Iterator[_Piece]) -> Iterator[list[_Piece]]:
    """As many as have `BLOCK` tokens together."""
    block: list[_Piece] = []
    held = 0
    for piece in pieces:
        block.append(piece)
        held += len(piece[1])
        if held >= BLOCK:
            yield block
            block, held = [], 0
    if block:
        yield block


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
