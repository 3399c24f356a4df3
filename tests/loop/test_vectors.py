"""Vectors of what is in the index: made once, kept in the store, renewed when a text changes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pml.discovery.entry import Entry
from pml.discovery.index import Index
from pml.domain.discovery import Found
from pml.domain.tools import Tool
from pml.loop.library import Library
from pml.loop.vectors import BATCH, Vectors
from pml.store.ports import Store
from tests.loop.outside import Outside

CONCEPTS = {"car": 0, "automobile": 0, "weather": 1, "forecast": 1, "mail": 2}


class Thesaurus:
    """An encoder that knows a few synonyms, and what it was asked."""

    name = "thesaurus-1"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.seen += texts
        vectors = np.full((len(texts), 4), 1e-3, dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().replace(":", " ").replace(".", " ").split():
                if word in CONCEPTS:
                    vectors[row, CONCEPTS[word]] += 1
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def tool(name: str, description: str) -> Tool:
    return Tool(server="fs", name=name, description=description)


CAR, FORECAST = tool("one", "rent a car"), tool("two", "forecast for tomorrow")


async def caught_up(vectors: Vectors) -> None:
    assert vectors._update is not None
    await vectors._update


async def library_of(store: Store, outside: Outside, vectors: Vectors) -> Library:
    outside.tools_by_server["fs"] = ()
    library = Library(store, outside, clock=lambda: 0.0, vectors=vectors)
    await library.refresh()
    await caught_up(vectors)
    return library


async def first(library: Library, intent: str) -> str:
    ranking = library.index.rank(intent, vector=await library.vector(intent))
    return ranking.hits[0].id


async def test_an_intent_finds_what_shares_no_word_with_it(store: Store, outside: Outside) -> None:
    await store.tool_schemas.replace("fs", (CAR, FORECAST))
    library = await library_of(store, outside, Vectors(store.embeddings, Thesaurus()))
    assert await first(library, "automobile") == "fs:one"
    assert await first(library, "weather") == "fs:two"
    assert library.index.rank("automobile").hits == ()


async def test_what_was_just_learned_is_found_by_meaning_at_once(
    store: Store, outside: Outside
) -> None:
    library = await library_of(store, outside, Vectors(store.embeddings, Thesaurus()))
    await store.tool_schemas.replace("fs", (CAR, FORECAST))
    library.outdated()
    await library.refresh()
    assert await first(library, "automobile") == "fs:one"


async def test_a_text_is_encoded_once_whoever_asks_again(store: Store, outside: Outside) -> None:
    await store.tool_schemas.replace("fs", (CAR, FORECAST))
    await library_of(store, outside, Vectors(store.embeddings, Thesaurus()))
    later = Thesaurus()
    library = await library_of(store, outside, Vectors(store.embeddings, later))
    assert later.seen == []
    assert await first(library, "automobile") == "fs:one"


async def test_only_what_changed_is_encoded_again_and_what_is_gone_is_forgotten(
    store: Store, outside: Outside
) -> None:
    encoder = Thesaurus()
    vectors = Vectors(store.embeddings, encoder)
    await store.tool_schemas.replace("fs", (CAR, FORECAST))
    library = await library_of(store, outside, vectors)
    encoder.seen.clear()
    await store.tool_schemas.replace("fs", (tool("one", "send mail"),))
    library.outdated()
    await library.refresh()
    await caught_up(vectors)
    assert encoder.seen == ["fs.one: send mail "]
    assert await first(library, "mail") == "fs:one"
    assert [e.key for e in await store.embeddings.read(encoder.name)] == ["tool:fs:one"]


async def test_more_texts_than_fit_a_batch_are_all_encoded(store: Store) -> None:
    index = Index()
    for number in range(2 * BATCH + 3):
        index.put(Entry(id=f"fs:{number}", kind=Found.TOOL, name=f"fs.{number}", text="car"))
    vectors = Vectors(store.embeddings, Thesaurus())
    vectors.update_soon(index)
    await caught_up(vectors)
    assert len(await store.embeddings.read("thesaurus-1")) == 2 * BATCH + 3


async def test_closing_in_the_middle_keeps_what_was_made(store: Store) -> None:
    index = Index()
    index.put(Entry(id="fs:a", kind=Found.TOOL, name="fs.a", text="car"))
    vectors = Vectors(store.embeddings, Thesaurus())
    vectors.update_soon(index)
    await vectors.close()
    assert len(await store.embeddings.read("thesaurus-1")) <= 1
