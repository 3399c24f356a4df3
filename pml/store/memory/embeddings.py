"""Vectors of texts in memory."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from pml.store.ports import Embedding
from pml.store.printable import printable


class MemoryEmbeddings:
    """By encoder and key."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[str, Embedding]] = {}

    async def read(self, encoder: str) -> tuple[Embedding, ...]:
        """See `Embeddings.read`."""
        kept = self._kept.get(encoder, {})
        return tuple(kept[key] for key in sorted(kept))

    async def write(self, encoder: str, embeddings: Sequence[Embedding]) -> None:
        """See `Embeddings.write`."""
        new = {printable(one.key): one for one in embeddings}
        self._kept.setdefault(encoder, {}).update(
            {
                key: replace(one, key=key, vector=np.array(one.vector, dtype=np.float32))
                for key, one in new.items()
            }
        )

    async def delete(self, encoder: str, keys: Collection[str]) -> None:
        """See `Embeddings.delete`."""
        for key in keys:
            self._kept.get(encoder, {}).pop(printable(key), None)
