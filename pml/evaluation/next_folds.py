"""Places of the next tool, asked of past runs: the one way in which folds of that task are made.

Methods of `pml evaluate` (`pml.evaluation.next_training`) and `pml train` (`pml.workspace.folds`)
differ in the view that a place is scored on, and in nothing here.
"""

from collections.abc import Callable, Mapping, Sequence
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
_REST = {"bm25 of the rest": 1.0, "called already": -2.0}
_SIMPLE: Mapping[str, Mapping[str, float]] = {
    "ppm": {"after three calls": 1.0},
    "pool": {
        "after three calls": 9.2,
        "alike after the last call": 4.6,
        "alike next": 4.6,
        "cosine of texts": 4.6,
    },
    "rest": _REST,
    "rest on the server": {**_REST, "same server": 3.0},
}
"""What columns count in simple methods.  Those of the pool are logarithms divided by these numbers,
so the sum weighs all chances alike.  In the others the numbers are so far apart that one column
decides before the next: the server, then what was not called yet, then texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """Sequences of calls, and what they were for."""

    sequences: tuple[tuple[str, ...], ...]
    intents: tuple[str, ...]

    def without(self, intents: frozenset[str]) -> "Past":
        """What is left if nobody had asked for these."""
        return self._where(lambda intent: intent not in intents)

    def only(self, intents: frozenset[str]) -> "Past":
        """What is left if nobody had asked for anything else."""
        return self._where(lambda intent: intent in intents)

    def _where(self, kept: Callable[[str], bool]) -> "Past":
        pairs = [
            pair
            for pair in zip(self.sequences, self.intents, strict=True)
            if kept(normalised_intent(pair[1]))
        ]
        return Past(sequences=tuple(s for s, _ in pairs), intents=tuple(i for _, i in pairs))


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
    """Simple methods by name, of those whose columns are all there; the first is PPM of order 3.

    Two count past runs: PPM, and it with past intents and texts, pooled alike.  Two need none:
    BM25 of the rest of the intent among the tools not called yet, as it is, and those of the last
    call's server before all others.
    """
    place = {name: at for at, name in enumerate(columns)}
    return {
        name: _weighing({place[column]: weight for column, weight in counts.items()})
        for name, counts in _SIMPLE.items()
        if counts.keys() <= place.keys()
    }


def _weighing(counts: Mapping[int, float]) -> Fallback:
    """The sum of some columns, each as often as is said."""
    places, weights = list(counts), np.array(list(counts.values()), np.float32)

    def scores(queries: Queries) -> Float32[np.ndarray, "queries candidates"]:
        return np.asarray(queries.evidence[:, :, places] @ weights)

    return scores
