"""Vectors of texts, in every store (ST-2)."""

import asyncio

import numpy as np

from pml.store.ports import Embedding, Store


def a_vector(key: str, *values: float, text_hash: str = "h") -> Embedding:
    return Embedding(key=key, text_hash=text_hash, vector=np.array(values, dtype=np.float32))


def plain(embeddings: tuple[Embedding, ...]) -> list[tuple[str, str, list[float]]]:
    return [(one.key, one.text_hash, one.vector.tolist()) for one in embeddings]


async def test_vectors_come_back_exact_by_key(any_store: Store) -> None:
    long = "intent:" + "é" * 9_000
    third = float(np.float32(1 / 3))
    await any_store.embeddings.write("e", [a_vector("b", third, -1e30), a_vector(long, 0, 2)])
    await any_store.embeddings.write("e", [a_vector("Z", 5, 6)])
    await any_store.embeddings.write("other", [a_vector("b", 1, 2, 3)])
    read = await any_store.embeddings.read("e")
    tiny = float(np.float32(-1e30))
    assert plain(read) == [("Z", "h", [5, 6]), ("b", "h", [third, tiny]), (long, "h", [0, 2])]
    assert read[0].vector.dtype == np.float32
    assert plain(await any_store.embeddings.read("other")) == [("b", "h", [1, 2, 3])]
    assert await any_store.embeddings.read("none") == ()


async def test_a_vector_is_replaced_and_forgotten(any_store: Store) -> None:
    await any_store.embeddings.write("e", [a_vector("a", 1), a_vector("b", 2), a_vector("c", 3)])
    await any_store.embeddings.write("e", [a_vector("a", 9), a_vector("a", 4, text_hash="new")])
    await any_store.embeddings.delete("e", ["b", "unknown"])
    await any_store.embeddings.delete("other", ["c"])
    await any_store.embeddings.write("e", [])
    assert plain(await any_store.embeddings.read("e")) == [("a", "new", [4]), ("c", "h", [3])]


async def test_those_who_write_the_same_vectors_do_not_wait_in_a_circle(any_store: Store) -> None:
    some = [a_vector(str(number), number) for number in range(200)]
    writes = [any_store.embeddings.write("e", some[::step]) for step in (1, -1) * 4]
    await asyncio.gather(*writes)
    assert len(await any_store.embeddings.read("e")) == 200
