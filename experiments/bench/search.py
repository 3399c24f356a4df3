"""What a search costs over 10,000 tools and 2,000 capabilities, in time and in memory.

Texts are of made-up words (`experiments.made_texts`).  The named alternative is bm25s over the
same texts in the same run; it does one third of the work (no past intents, no fusion, no
reasons) and has to index everything anew after a change.

Run:  .venv/bin/python experiments/bench/search.py
"""

import json
import statistics
import sys
import time
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import bm25s

from pml.discovery.entry import Entry
from pml.discovery.index import Index
from pml.discovery.match import clear_match
from pml.discovery.words import Words

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from experiments.made_texts import INTENTS_EACH, Language, capability, known, times_ms, tool

TOOLS = 10_000
CAPABILITIES = 2_000
QUERIES = 500
CHANGES = 300


def built(entries: Sequence[Entry]) -> tuple[Index, list[float], float]:
    """An index, what each put took, and the memory that it holds."""
    index = Index()
    puts = times_ms(lambda number: index.put(entries[number]), len(entries))
    tracemalloc.start()
    traced = Index()
    for entry in entries:
        traced.put(entry)
    traced.rank(entries[0].text)
    held_mb = tracemalloc.get_traced_memory()[0] / 1e6
    tracemalloc.stop()
    return index, puts, held_mb


def bm25s_ms(entries: Sequence[Entry], queries: Sequence[str]) -> tuple[float, float]:
    """Median of a retrieval, and the time to index everything."""
    words = Words()
    texts = [
        words(" ".join([entry.name, entry.name, entry.text, *(p.intent for p in entry.intents)]))
        for entry in entries
    ]
    started = time.perf_counter()
    other = bm25s.BM25(k1=1.2, b=0.75)
    other.index(texts, show_progress=False)
    index_ms = (time.perf_counter() - started) * 1000

    def retrieve(number: int) -> object:
        return other.retrieve([words(queries[number])], k=10, show_progress=False)

    return statistics.median(times_ms(retrieve, len(queries))), index_ms


def main() -> None:
    """Measure and print; the last line is one JSON object."""
    language = Language(1)
    tools = [tool(language, number) for number in range(TOOLS)]
    used = known(tools)
    entries = tools + [capability(language, number, used) for number in range(CAPABILITIES)]
    intents = [past.intent for entry in entries for past in entry.intents]
    queries = [language.about(language.rng.choice(intents)) for _ in range(QUERIES)]
    index, puts, held_mb = built(entries)
    index.rank(queries[0])
    ranks = times_ms(lambda number: index.rank(queries[number]), QUERIES)
    matches = times_ms(lambda number: clear_match(index, queries[number]), QUERIES)
    changed = [tool(language, language.rng.randrange(TOOLS)) for _ in range(CHANGES)]

    def change_and_rank(number: int) -> None:
        index.put(changed[number])
        index.rank(queries[number])

    changes = times_ms(change_and_rank, CHANGES)
    bm25s_p50, bm25s_index = bm25s_ms(entries, queries)
    rank_p50 = statistics.median(ranks)
    figures = {
        "rank_p50_ms": rank_p50,
        "rank_p95_ms": statistics.quantiles(ranks, n=20)[-1],
        "put_p50_ms": statistics.median(puts),
        "put_p95_ms": statistics.quantiles(puts, n=20)[-1],
        "put_and_rank_p50_ms": statistics.median(changes),
        "clear_match_p50_ms": statistics.median(matches),
        "memory_mb": held_mb,
        "bm25s_retrieve_p50_ms": bm25s_p50,
        "bm25s_index_ms": bm25s_index,
        "ratio_to_bm25s": rank_p50 / bm25s_p50,
    }
    print(f"{TOOLS} tools, {CAPABILITIES} capabilities with {INTENTS_EACH} past intents each")
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
