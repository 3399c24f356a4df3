"""What a hybrid search costs over 15,000 tools and 2,000 capabilities, vectors included.

BM25, past intents and dense vectors, joined: what `pml_discover` does, without the encoding of
the intent.  The encoder is made: a text's vector is the sum of random directions of its words,
so that cosines are spread as real ones are; 256 numbers is what the shipped encoder will have,
1,024 what BGE-M3 has.  Beside it in the same run: bm25s alone over the same texts, and the
plainest dense search, one product of numpy and the ten largest.  ``cpu`` figures are processor
time, which others on the machine do not change.

Run:  .venv/bin/python experiments/bench/retrieval.py [--data DIR]

With ``--data`` names and descriptions of tools are those of a data set (mcp_tools); intents are
then the first words of descriptions.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import bm25s
import numpy as np
from numpy.typing import NDArray

from pml.discovery.entry import Entry
from pml.discovery.index import Index
from pml.discovery.words import Words, split
from pml.domain.discovery import Found
from pml.evaluation.loading import load

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from experiments.made_texts import Language, capability, known, times_ms, tool

TOOLS = 15_000
CAPABILITIES = 2_000
WIDTHS = (256, 1_024)
QUERIES = 300
WARM_UP = 20
HITS = 10
QUERY_WORDS = 10
LONGEST = 60
"""Words of a real description that are encoded; encoders cut as well."""


class MadeEncoder:
    """The sum of a random direction per word, with length 1."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._directions: dict[str, NDArray[np.float32]] = {}

    def encode(self, text: str) -> NDArray[np.float32]:
        """Equal texts give equal vectors."""
        total = np.zeros(self._width, np.float32)
        for word in split(text)[:LONGEST] or ["nothing"]:
            total += self._direction(word)
        return total / np.float32(np.linalg.norm(total))

    def _direction(self, word: str) -> NDArray[np.float32]:
        if word not in self._directions:
            rng = np.random.default_rng(len(self._directions))
            self._directions[word] = rng.standard_normal(self._width, np.float32)
        return self._directions[word]


def real_tools(folder: Path) -> list[Entry]:
    """Of a data set, the first `TOOLS`."""
    return [
        Entry(
            id=f"{one.id}-{number}",
            kind=Found.TOOL,
            name=f"{one.server}.{one.name}",
            text=one.description,
            servers=(one.server,),
        )
        for number, one in enumerate(load(folder).dataset.tools[:TOOLS])
    ]


def entries_and_queries(folder: Path | None) -> tuple[list[Entry], list[str]]:
    """What is searched, and for what."""
    language = Language(1)
    if folder is None:
        tools = [tool(language, number) for number in range(TOOLS)]
    else:
        tools = real_tools(folder)
    used = known(tools)
    capabilities = [capability(language, number, used) for number in range(CAPABILITIES)]
    intents = [past.intent for entry in capabilities for past in entry.intents]
    about = [language.about(language.rng.choice(intents)) for _ in range(QUERIES)]
    if folder is None:
        return tools + capabilities, about
    described = [one.text for one in tools if len(one.text.split()) >= QUERY_WORDS]
    spoken = [
        " ".join(text.split()[:QUERY_WORDS]) for text in language.rng.sample(described, QUERIES)
    ]
    return tools + capabilities, [*about[: QUERIES // 2], *spoken[: QUERIES - QUERIES // 2]]


def hybrid_ms(index: Index, queries: Sequence[str], width: int) -> tuple[list[float], list[float]]:
    """Of each search, with vectors of that width; and its processor time."""
    encoder = MadeEncoder(width)
    index.put_vectors({key: encoder.encode(text) for key, text in index.texts().items()})
    vectors = [encoder.encode(query) for query in queries]

    def search(number: int) -> object:
        return index.rank(queries[number], limit=HITS, vector=vectors[number])

    times_ms(search, WARM_UP)
    return times_ms(search, len(queries)), times_ms(search, len(queries), clock=time.process_time)


def by_words_and_intents_ms(index: Index, queries: Sequence[str]) -> list[float]:
    """Of each search without vectors."""
    times_ms(lambda number: index.rank(queries[number]), WARM_UP)
    return times_ms(lambda number: index.rank(queries[number], limit=HITS), len(queries))


def dense_ms(texts: Mapping[str, str], queries: Sequence[str], width: int) -> list[float]:
    """Of each product with all vectors, and the ten largest in order."""
    encoder = MadeEncoder(width)
    matrix = np.stack([encoder.encode(text) for text in texts.values()])
    vectors = [encoder.encode(query) for query in queries]

    def search(number: int) -> object:
        cosines = matrix @ vectors[number]
        best = np.argpartition(cosines, -HITS)[-HITS:]
        return best[np.argsort(-cosines[best])]

    times_ms(search, WARM_UP)
    return times_ms(search, len(queries))


def words_ms(entries: Sequence[Entry], queries: Sequence[str]) -> list[float]:
    """Of each retrieval by bm25s."""
    words = Words()
    texts = [
        words(" ".join([entry.name, entry.name, entry.text, *(p.intent for p in entry.intents)]))
        for entry in entries
    ]
    other = bm25s.BM25(k1=1.2, b=0.75)
    other.index(texts, show_progress=False)

    def search(number: int) -> object:
        return other.retrieve([words(queries[number])], k=HITS, show_progress=False)

    times_ms(search, WARM_UP)
    return times_ms(search, len(queries))


def p95(times: Sequence[float]) -> float:
    """In ms."""
    return statistics.quantiles(times, n=20)[-1]


def main() -> None:
    """Measure and print; the last line is one JSON object."""
    parser = argparse.ArgumentParser(description="Hybrid search at 15,000 tools.")
    parser.add_argument("--data", type=Path, help="a data set whose tools are taken")
    entries, queries = entries_and_queries(parser.parse_args().data)
    figures: dict[str, float] = {}
    by_words = words_ms(entries, queries)
    figures |= {"bm25s_p50_ms": statistics.median(by_words), "bm25s_p95_ms": p95(by_words)}
    for width in WIDTHS:
        index = Index()
        for entry in entries:
            index.put(entry)
        if not figures.get("words_only_p95_ms"):
            figures["words_only_p95_ms"] = p95(by_words_and_intents_ms(index, queries))
        hybrid, cpu = hybrid_ms(index, queries, width)
        dense = dense_ms(index.texts(), queries, width)
        figures |= {
            f"hybrid_{width}_p50_ms": statistics.median(hybrid),
            f"hybrid_{width}_p95_ms": p95(hybrid),
            f"hybrid_{width}_cpu_p95_ms": p95(cpu),
            f"dense_{width}_p50_ms": statistics.median(dense),
            f"dense_{width}_p95_ms": p95(dense),
            f"ratio_to_parts_{width}": statistics.median(hybrid)
            / (statistics.median(dense) + statistics.median(by_words)),
        }
    count = sum(entry.kind is Found.TOOL for entry in entries)
    print(f"{count:,} tools, {len(entries) - count:,} capabilities, {len(queries)} queries")
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
