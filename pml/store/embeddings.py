"""Vectors of texts in PostgreSQL (`pml.store.ports.Embeddings`).

They travel in pgvector's binary form: as text, ten thousand vectors take 20 s, so 1 s.
"""

import hashlib
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray
from pgvector.psycopg import register_vector_async

from pml.store.database import Database
from pml.store.ports import Embedding
from pml.store.printable import printable
from pml.store.queries import queries

_SQL = queries("embeddings")
_HEADER_BYTES = 4
"""Of the binary form: the dimension, and two bytes of nothing."""


class PostgresEmbeddings:
    """One row per encoder and key."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, encoder: str) -> tuple[Embedding, ...]:
        """See `Embeddings.read`."""
        async with self._database.connection() as connection:
            cursor = connection.cursor(binary=True)
            await cursor.execute(_SQL["read"], {"encoder": encoder})
            rows = await cursor.fetchall()
        return tuple(
            Embedding(key=str(key), text_hash=str(text_hash), vector=_vector(sent))
            for key, text_hash, sent in rows
        )

    async def write(self, encoder: str, embeddings: Sequence[Embedding]) -> None:
        """See `Embeddings.write`."""
        rows = {printable(one.key): _row(encoder, one) for one in embeddings}
        # In one order everywhere, so that two writers do not wait in a circle.
        ordered = [rows[key] for key in sorted(rows)]
        async with self._database.connection() as connection, connection.transaction():
            await register_vector_async(connection)
            await connection.cursor().executemany(_SQL["write"], ordered)

    async def delete(self, encoder: str, keys: Collection[str]) -> None:
        """See `Embeddings.delete`."""
        hashes = [_hash(printable(key)) for key in keys]
        async with self._database.connection() as connection:
            await connection.execute(_SQL["delete"], {"encoder": encoder, "key_hashes": hashes})


def _row(encoder: str, embedding: Embedding) -> dict[str, object]:
    key = printable(embedding.key)
    return {
        "encoder": encoder,
        "key_hash": _hash(key),
        "key": key,
        "text_hash": embedding.text_hash,
        "vector": np.asarray(embedding.vector, dtype=np.float32),
    }


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def _vector(sent: object) -> NDArray[np.float32]:
    assert isinstance(sent, bytes)
    return np.frombuffer(sent, dtype=">f4", offset=_HEADER_BYTES).astype(np.float32)
