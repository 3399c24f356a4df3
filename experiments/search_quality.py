"""How good search is, and how often an intent alone would run the wrong capability.

Reads a folder with `tools.parquet` and `workflows.parquet` (columns: tool_id, name, description,
input_schema; intent, nodes, split), such as UltraTool or ToolLens in that form.  The intents
of the split `train` are past intents; those of the other splits are asked.  A capability is
a set of tools, and its past intents are all training intents that used that set.

Run:  .venv/bin/python experiments/search_quality.py FOLDER     (needs polars: `pml[research]`)
"""

import json
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl  # type: ignore[import-not-found,unused-ignore]
from numpy.typing import NDArray

from pml.discovery.bm25 import Bm25
from pml.discovery.entry import Entry
from pml.discovery.fusion import DEPTH, fuse
from pml.discovery.index import Index
from pml.discovery.intents import PastIntents
from pml.discovery.match import COMPARED, clear_match, similarity
from pml.discovery.tfidf import Frequencies
from pml.discovery.words import Tokenizer, Words
from pml.domain.capability import PastIntent
from pml.domain.discovery import Found

THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9)
MARGINS = (0.0, 0.1, 0.2)
ALTERED = 1000
"""Past intents that are altered, to see whether the rule takes other wishes for them."""


@dataclass(frozen=True, slots=True)
class Asked:
    """An intent whose answer is known."""

    intent: str
    tools: frozenset[str]
    capability: str | None
    """None where no capability has these tools: everything that runs is wrong."""


@dataclass(frozen=True, slots=True)
class Data:
    """A set, read."""

    tools: Sequence[Entry]
    capabilities: Sequence[Entry]
    asked: Sequence[Asked]


def read(folder: Path) -> Data:
    """Tools, what was learned from the training split, and the other intents."""
    tools = [tool(row) for row in pl.read_parquet(folder / "tools.parquet").to_dicts()]
    workflows = pl.read_parquet(folder / "workflows.parquet").to_dicts()
    learned: dict[frozenset[str], list[str]] = {}
    for row in workflows:
        if row["split"] == "train":
            learned.setdefault(frozenset(row["nodes"]), []).append(row["intent"])
    ids = {used: f"cap_{number:05}" for number, used in enumerate(learned)}
    return Data(
        tools=tools,
        capabilities=[capability(ids[used], used, learned[used]) for used in learned],
        asked=[
            Asked(row["intent"], frozenset(row["nodes"]), ids.get(frozenset(row["nodes"])))
            for row in workflows
            if row["split"] != "train"
        ],
    )


def tool(row: Mapping[str, Any]) -> Entry:
    """With its description and the names of its parameters."""
    schema = json.loads(row["input_schema"] or "{}") if "input_schema" in row else {}
    parameters = " ".join((schema or {}).get("properties") or {})
    text = f"{row['description'] or ''} {parameters}"
    return Entry(id=row["tool_id"], kind=Found.TOOL, name=row["name"], text=text)


def capability(key: str, used: frozenset[str], intents: Sequence[str]) -> Entry:
    """All of whose runs succeeded."""
    past = [
        PastIntent(
            capability_id=key,
            intent=intent,
            success_count=1,
            failure_count=0,
            last_success=True,
            last_at_ms=0,
        )
        for intent in dict.fromkeys(intents)
    ]
    tools = tuple(sorted(used))
    return Entry(id=key, kind=Found.CAPABILITY, name=key, text="", tools=tools, intents=tuple(past))


class Parts:
    """The retrievers by themselves, over tools or over capabilities; rows are entries."""

    def __init__(self, data: Data, *, kind: Found, words: Tokenizer, intents_in_text: bool) -> None:
        self.words = words
        self.entries = data.tools if kind is Found.TOOL else data.capabilities
        self.row = {entry.id: row for row, entry in enumerate(self.entries)}
        self.texts, frequencies = Bm25(), Frequencies()
        for row, entry in enumerate(self.entries):
            more = [past.intent for past in entry.intents[:50]] if intents_in_text else ()
            self.texts.put(row, words(" ".join([entry.name, entry.name, entry.text, *more])))
            frequencies.add(self.texts.words(row))
        self.past = PastIntents(words, frequencies)
        for owner, entry in enumerate(data.capabilities):
            self.past.put(owner, entry.intents)
        self.owners = data.capabilities
        self.kind = kind

    def bm25(self, intent: str) -> NDArray[np.float64]:
        """Scores by row."""
        return self.texts.scores(self.words(intent))

    def votes(self, intent: str, least_cosine: float) -> NDArray[np.float64]:
        """Squared cosines of the 20 nearest past intents by row."""
        scores = np.zeros(len(self.entries))
        for near in self.past.nearest(self.words(intent), least_cosine=least_cosine):
            owner = self.owners[near.owner]
            named = owner.tools if self.kind is Found.TOOL else (owner.id,)
            for row in {self.row[one] for one in named if one in self.row}:
                scores[row] += near.cosine**2
        return scores


def quality(
    parts: Parts, asked: Sequence[Asked], score: Callable[[str], NDArray[np.float64]]
) -> tuple[float, float]:
    """Share of first hits, and mean nDCG of the first 10."""
    firsts, gains = [], []
    for one in asked:
        wanted = one.tools if parts.kind is Found.TOOL else frozenset({one.capability})
        scores = score(one.intent)
        order = np.argsort(-scores, kind="stable")[:10]
        hits = [parts.entries[row].id in wanted and scores[row] > 0 for row in order]
        best = sum(1 / np.log2(place + 2) for place in range(min(10, len(wanted))))
        firsts.append(hits[0])
        gains.append(sum(hit / np.log2(place + 2) for place, hit in enumerate(hits)) / best)
    return float(np.mean(firsts)), float(np.mean(gains))


def retrievers(parts: Parts) -> Iterator[tuple[str, Callable[[str], NDArray[np.float64]]]]:
    """What is compared."""
    yield "BM25", parts.bm25
    yield "20 nearest past intents, all", lambda intent: parts.votes(intent, 1e-9)
    for k in (1, 5, 20, 60):
        for least in (1e-9, 0.3):

            def fused(intent: str, k: int = k, least: float = least) -> NDArray[np.float64]:
                return fuse([parts.bm25(intent), parts.votes(intent, least)], k=k, depth=DEPTH)

            yield f"fused, k {k}, least cosine {least:.1f}", fused


def compare(data: Data) -> None:
    """One line per retriever, over tools and over capabilities."""
    known = [one for one in data.asked if one.capability is not None]
    for kind, asked in ((Found.TOOL, data.asked), (Found.CAPABILITY, known)):
        for stemmer, in_text in ((None, False), ("english", False), ("english", True)):
            if not asked or (in_text and kind is Found.TOOL):
                continue
            parts = Parts(data, kind=kind, words=Words(stemmer=stemmer), intents_in_text=in_text)
            print(f"{kind}, stemmer {stemmer}, past intents in text: {in_text}, n {len(asked)}")
            for name, score in retrievers(parts):
                first, gain = quality(parts, asked, score)
                print(f"  {name:34} first {first:.3f}  nDCG@10 {gain:.3f}")


def altered(intent: str, rng: random.Random, others: Sequence[str]) -> Iterator[str]:
    """Other wishes in nearly the same words; ``others`` are words that mean something."""
    words = intent.split()
    place = rng.randrange(len(words))
    yield " ".join([*words[:place], "not", *words[place:]])
    yield " ".join([*words[:place], rng.choice(others), *words[place:]])
    telling = [place for place, word in enumerate(words) if word in others]
    if telling:
        place = rng.choice(telling)
        other = rng.choice([word for word in others if word != words[place]])
        yield " ".join([*words[:place], other, *words[place + 1 :]])
        yield " ".join([*words[:place], *words[place + 1 :]])


def reworded(intent: str) -> Iterator[str]:
    """The same wish: other common words, and politeness."""
    yield f"Please {intent.rstrip('.')} now, thanks!"
    yield " ".join(word for word in intent.split() if word not in {"a", "an", "the", "my"})


def runs(data: Data) -> dict[str, int]:
    """What the rule of `clear_match` runs."""
    index = indexed(data)
    rng = random.Random(0)  # noqa: S311  # no secrets are made of it
    intents = sorted(past.intent for entry in data.capabilities for past in entry.intents)
    words = {word for intent in intents for word in intent.split()}
    others = sorted(word for word in words if word.isalpha() and Words()(word))
    chosen = rng.sample(intents, min(ALTERED, len(intents)))
    changed = [text for intent in chosen for text in altered(intent, rng, others)]
    same = [text for intent in chosen for text in reworded(intent)]
    found = [(clear_match(index, one.intent), one.capability) for one in data.asked]
    return {
        "asked": len(found),
        "ran": sum(match is not None for match, _ in found),
        "ran_wrong": sum(
            match is not None and match.capability_id != right for match, right in found
        ),
        "altered": len(changed),
        "altered_ran": sum(clear_match(index, text) is not None for text in changed),
        "altered_alike": sum(alike(index, text) for text in changed),
        "reworded": len(same),
        "reworded_ran": sum(clear_match(index, text) is not None for text in same),
    }


def alike(index: Index, text: str) -> bool:
    """Whether a rule by similarity from 0.9 and a margin of 0.1 would run something."""
    similar, ahead, _ = ranked(index, Asked(text, frozenset(), None))
    return similar >= 0.9 and ahead >= 0.1  # noqa: PLR2004  # they are the rule


def thresholds(data: Data) -> None:
    """What rules by similarity and margin alone would run, and how much of it is wrong."""
    index = indexed(data)
    best = [ranked(index, one) for one in data.asked]
    print(f"wrong / run of {len(best)}, by similarity (down) and margin", *MARGINS)
    for least in THRESHOLDS:
        cells = []
        for margin in MARGINS:
            ran = [right for alike, ahead, right in best if alike >= least and ahead >= margin]
            cells.append(f"{ran.count(False):4} / {len(ran):4}")
        print(f"  {least:.1f}", *cells)


def indexed(data: Data) -> Index:
    """Everything, as it would be searched."""
    index = Index()
    for entry in (*data.tools, *data.capabilities):
        index.put(entry)
    return index


def ranked(index: Index, one: Asked) -> tuple[float, float, bool]:
    """Similarity of the best capability, how far it is ahead, and whether it is the right one."""
    best: dict[str, float] = {}
    for past in index.past_alike(one.intent, COMPARED):
        alike = similarity(index, one.intent, past.intent)
        best[past.capability_id] = max(best.get(past.capability_id, 0.0), alike)
    order = sorted(best.items(), key=lambda item: -item[1])
    if not order:
        return 0.0, 0.0, False
    behind = order[1][1] if len(order) > 1 else 0.0
    return order[0][1], order[0][1] - behind, order[0][0] == one.capability


def main() -> None:
    """Measure and print; the last line is one JSON object."""
    if len(sys.argv) != 2:  # noqa: PLR2004  # the script and a folder
        sys.exit(f"usage: {sys.argv[0]} FOLDER  (with tools.parquet and workflows.parquet)")
    data = read(Path(sys.argv[1]))
    compare(data)
    thresholds(data)
    print(json.dumps(runs(data)))


if __name__ == "__main__":
    main()
