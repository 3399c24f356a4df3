"""Places of the next tool, asked of past runs: the one way in which folds of that task are made.

Methods of `pml evaluate` (`pml.evaluation.next_training`) and `pml train` (`pml.workspace.folds`)
differ in the view that a place is scored on, and in nothing here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from pml.discovery.next_servers import RankedTool
from pml.discovery.next_tool import COLUMNS, NextToolEvidence, Place
from pml.domain.capability import normalised_intent
from pml.evaluation.dataset import Tool
from pml.evaluation.text import tool_text
from pml.learning.continuations import PastPlace
from pml.learning.examples import Example
from pml.learning.folds import Fallback, HeldQueries, TaskExamples, targets_of
from pml.models.inputs import Queries, RankingTask

NEXT = RankingTask.NEXT_TOOL
_PPM = "after three calls"
_POOLED = {
    _PPM: 9.2,
    "alike after the last call": 4.6,
    "alike next": 4.6,
    "cosine of texts": 4.6,
}
"""Columns are logarithms divided by these numbers, so the sum weighs all chances alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """Sequences of calls, and what they were for."""

    sequences: tuple[tuple[str, ...], ...]
    intents: tuple[str, ...]

    def without(self, intents: frozenset[str]) -> "Past":
        """What is left if nobody had asked for these."""
        kept = [
            pair
            for pair in zip(self.sequences, self.intents, strict=True)
            if normalised_intent(pair[1]) not in intents
        ]
        return Past(sequences=tuple(s for s, _ in kept), intents=tuple(i for _, i in kept))


def ranked_tools(tools: Sequence[Tool]) -> list[RankedTool]:
    """As evidence sees them."""
    return [RankedTool(id=tool.id, server=tool.server, text=tool_text(tool)) for tool in tools]


def example_at(place: PastPlace, tools: Sequence[str], *, source: str, intent: str) -> Example:
    """That these tools came next there."""
    return Example(
        task=NEXT,
        source=source,
        intent=intent,
        positives=tuple(tools[at] for at in place.following),
        prefix=place.prefix,
    )


def queries_at(
    places: Sequence[Place],
    evidence: NextToolEvidence,
    vectors: Float32[np.ndarray, "places dim"],
    tools: Sequence[str],
) -> Queries:
    """What is asked at some places.

    Args:
        places: Where.
        evidence: Of past runs.
        vectors: Of the places' intents.
        tools: Ids, in the order of the graph and of the evidence.
    """
    said = evidence.of(places)
    number = {tool: at for at, tool in enumerate(tools)}
    return Queries(
        vectors=vectors,
        evidence=said.evidence,
        stats=said.stats,
        prefixes=tuple(
            np.array([number[tool] for tool in place.prefix if tool in number], dtype=np.int64)
            for place in places
        ),
    )


def examples_at(
    asked: Sequence[Example], queries: Queries, tools: Sequence[str], columns: Sequence[str]
) -> TaskExamples:
    """Places with what came next there.

    Args:
        asked: One per query.
        queries: On the fold's view.
        tools: Ids of the candidates.
        columns: Names of the queries' evidence.
    """
    return TaskExamples(
        queries=HeldQueries(queries=queries),
        targets=targets_of(asked, tools),
        fallbacks=fallbacks(columns),
    )


def fallbacks(columns: Sequence[str] = COLUMNS) -> Mapping[str, Fallback]:
    """Simple methods: PPM of order 3, and it with past intents and texts, pooled alike.

    The pool is there only if all its columns are.
    """
    places = {name: list(columns).index(name) for name in _POOLED if name in columns}

    def ppm(queries: Queries) -> Float32[np.ndarray, "queries candidates"]:
        return queries.evidence[:, :, places[_PPM]]

    def pool(queries: Queries) -> Float32[np.ndarray, "queries candidates"]:
        weights = np.array(list(_POOLED.values()), np.float32)
        return np.asarray(queries.evidence[:, :, list(places.values())] @ weights)

    return {"ppm": ppm, "pool": pool} if len(places) == len(_POOLED) else {"ppm": ppm}
