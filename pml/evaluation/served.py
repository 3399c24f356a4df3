"""PML's own search as a method: the index that `pml serve` holds, filled from a data set.

So that what is measured is what is served: tools and capabilities stand in one
`pml.discovery.index.Index` with the names and texts that `pml.loop` gives them (its module
`cards`; `pml.evaluation` is below the loop and may not import it, so the two texts are spelled out
here), and the training intents are past intents of capabilities, each of which succeeded.
The encoder is the one that PML brings.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from pml.discovery.entry import Entry
from pml.discovery.index import Index, Kind
from pml.domain.capability import PastIntent
from pml.domain.discovery import Found
from pml.embedding.static import default_encoder
from pml.evaluation.dataset import Tool
from pml.evaluation.questions import Candidate, Scores
from pml.evaluation.text import parameter_names

RANKED = 100
"""How much of a ranking is read; what stands further back counts as not found."""


def tool_entry(tool: Tool) -> Entry:
    """A tool as search sees it."""
    return Entry(
        id=tool.id,
        kind=Found.TOOL,
        name=f"{tool.server}.{tool.name}",
        text=f"{tool.description} {' '.join(parameter_names(tool))}",
        servers=(tool.server,),
    )


def capability_entry(key: str, candidate: Candidate, *, recall: bool) -> Entry:
    """A capability as search sees it.

    Args:
        key: Its id, and its name where it has no title.
        candidate: What is known of it.
        recall: Whether what it was asked for before is known; without, its tools are.
    """
    intents = tuple(dict.fromkeys(candidate.past_intents)) if recall else ()
    tools = dict.fromkeys(f"{tool.server}:{tool.name}" for tool in candidate.tools)
    return Entry(
        id=key,
        kind=Found.CAPABILITY,
        name=candidate.title or key,
        text=" ".join([*intents[:1], *tools]),
        tools=tuple(dict.fromkeys(tool.id for tool in candidate.tools)),
        servers=tuple(dict.fromkeys(tool.server for tool in candidate.tools)),
        intents=tuple(_succeeded(key, intent) for intent in intents),
    )


def _succeeded(key: str, intent: str) -> PastIntent:
    return PastIntent(
        capability_id=key,
        intent=intent,
        success_count=1,
        failure_count=0,
        last_success=True,
        last_at_ms=0,
    )


def index_of(entries: Iterable[Entry]) -> Index:
    """An index of them, with their vectors."""
    index = Index()
    for entry in entries:
        index.put(entry)
    texts = index.texts()
    vectors = default_encoder().encode(list(texts.values()))
    index.put_vectors(dict(zip(texts, vectors, strict=True)))
    return index


def ranked(index: Index, intents: Sequence[str], kind: Kind, columns: Mapping[str, int]) -> Scores:
    """Scores of the entries of a kind for each intent; 0 for what is not found.

    Args:
        index: Where to look.
        intents: What is asked.
        kind: What is wanted.
        columns: By id of an entry, its column.
    """
    scores = np.zeros((len(intents), len(columns)), np.float32)
    vectors = default_encoder().encode(intents)
    for row, intent, vector in zip(scores, intents, vectors, strict=True):
        for hit in index.rank(intent, kind=kind, limit=RANKED, vector=vector).hits:
            row[columns[hit.id]] = hit.score
    return scores
