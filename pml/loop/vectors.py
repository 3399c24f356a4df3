"""Vectors of what is in the index: made in the background by an encoder, kept in the store."""

import asyncio
import hashlib
from collections.abc import Mapping

import numpy as np
import structlog
from numpy.typing import NDArray

from pml.discovery.index import Index
from pml.discovery.ports import Encoder
from pml.errors import StoreError
from pml.store.ports import Embedding, Embeddings

_log = structlog.get_logger(__name__)

CATCH_UP_S = 1.0
"""How long a question waits for vectors that are being made, so that what was just learned, whose
intent has none yet, is not ranked behind what has.  PML's own encoder makes thousands meanwhile; a
slow one answers with what it has made so far."""
BATCH = 64
"""Texts encoded at a time: large enough for the model, small enough to stop in between."""


class Vectors:
    """Keeps the vectors of an index complete, in the background.

    Invariant: at most one update is under way.
    """

    def __init__(self, embeddings: Embeddings, encoder: Encoder) -> None:
        self._embeddings = embeddings
        self._encoder = encoder
        self._hashes: dict[str, str] | None = None
        self._update: asyncio.Task[None] | None = None
        self._again = False

    async def of(self, intent: str) -> NDArray[np.float32]:
        """The vector of one intent, once the index has its vectors or `CATCH_UP_S` are over."""
        if self._update is not None:
            await asyncio.wait([self._update], timeout=CATCH_UP_S)
        (vector,) = await asyncio.to_thread(self._encoder.encode, [intent])
        return np.asarray(vector)

    def update_soon(self, index: Index) -> None:
        """Make what is missing; returns at once."""
        self._again = True
        if self._update is None or self._update.done():
            self._update = asyncio.create_task(self._keep_up(index))

    async def close(self) -> None:
        """Stop; what was made is kept."""
        if self._update is not None:
            self._update.cancel()
            await asyncio.wait([self._update])

    async def _keep_up(self, index: Index) -> None:
        try:
            while self._again:
                self._again = False
                await self._catch_up(index)
        except StoreError as exc:
            _log.warning("vectors_not_kept", reason=str(exc))  # the next refresh tries again

    async def _catch_up(self, index: Index) -> None:
        texts = index.texts()
        hashes = {key: hashlib.sha256(text.encode()).hexdigest() for key, text in texts.items()}
        if self._hashes is None:
            self._hashes = await self._read(index, hashes)
        known = self._hashes
        gone = [key for key in known if key not in hashes]
        if gone:
            await self._embeddings.delete(self._encoder.name, gone)
            for key in gone:
                del known[key]
        missing = [key for key, text_hash in hashes.items() if known.get(key) != text_hash]
        for start in range(0, len(missing), BATCH):
            await self._make(index, {k: texts[k] for k in missing[start : start + BATCH]}, hashes)

    async def _read(self, index: Index, hashes: Mapping[str, str]) -> dict[str, str]:
        kept = await self._embeddings.read(self._encoder.name)
        valid = [e for e in kept if hashes.get(e.key) == e.text_hash]
        index.put_vectors({e.key: e.vector for e in valid})
        return {e.key: e.text_hash for e in kept}

    async def _make(
        self, index: Index, texts: Mapping[str, str], hashes: Mapping[str, str]
    ) -> None:
        vectors = await asyncio.to_thread(self._encoder.encode, list(texts.values()))
        made = [
            Embedding(key=key, text_hash=hashes[key], vector=vector)
            for key, vector in zip(texts, vectors, strict=True)
        ]
        await self._embeddings.write(self._encoder.name, made)
        index.put_vectors({e.key: e.vector for e in made})
        assert self._hashes is not None
        self._hashes |= {e.key: e.text_hash for e in made}
