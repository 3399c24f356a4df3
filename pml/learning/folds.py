"""Cross-fitting: no training intent sees itself in what it is scored by.

What a model is given of a query (votes of past intents, vectors of capabilities made of past
intents, counts of runs) is made of traces.  Made of the trace that is being learned from, it gives
the answer away: the nearest past intent is the query itself, and a model learns to trust it wholly.
So examples are dealt into folds by intent, and the examples of a fold are scored on a *view* that
was built without them.  For what comes later all traces serve: the full view.

Reference: D. Wolpert, "Stacked generalization", Neural Networks 5(2), 1992, section III (level-1
data come from partitions that level-0 has not seen); V. Chernozhukov et al., "Double/debiased
machine learning", The Econometrics Journal 21(1), 2018, definition 3.1 (the name cross-fitting).
Where we differ: the parts of the partition are of intents, as one intent has many examples.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float32, Int64

from pml.domain.capability import normalised_intent
from pml.learning.examples import Example
from pml.models.hypergraph import Hypergraph
from pml.models.inputs import NodeInputs, Queries, RankingTask

_BLOCK = 256
"""Queries that are scored together: bounds the memory."""
Rows: TypeAlias = Int64[np.ndarray, " rows"]


@runtime_checkable
class QuerySource(Protocol):
    """Queries of one task on one view, made when they are needed: all at once may be too large."""

    def __len__(self) -> int:
        """How many there are."""

    def take(self, rows: Rows) -> Queries:
        """Some of them, in the order asked for."""


Fallback: TypeAlias = Callable[[Queries], Float32[np.ndarray, "queries candidates"]]
"""What ranks where the model does not: a simple method, read off the queries' evidence; larger
scores are ranked higher."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldQueries:
    """Queries that are in memory, as a source."""

    queries: Queries

    def __len__(self) -> int:
        return len(self.queries.vectors)

    def take(self, rows: Rows) -> Queries:
        """Copies of these rows."""
        held = self.queries
        return Queries(
            vectors=held.vectors[rows],
            evidence=held.evidence[rows],
            stats=held.stats[rows],
            prefixes=tuple(held.prefixes[row] for row in rows.tolist()) if held.prefixes else (),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Targets:
    """What is known of the answers to some queries; one entry per query in each field.

    Candidates are numbered as in `Queries.evidence`.  A query all of whose answers are unknown to
    the view has neither positives nor failed choices: no candidate is to be learned from, but all
    chances given to them are wrong, which calibration has to know.

    Raises:
        ValueError: a weight is negative or not finite.
    """

    positives: tuple[Int64[np.ndarray, " _"], ...]
    """Candidates that served."""
    failed: tuple[Int64[np.ndarray, " _"], ...]
    """Candidates that were chosen and failed."""
    served: Bool[np.ndarray, " queries"]
    """Whether anything served, a candidate or not."""
    weights: Float32[np.ndarray, " queries"]
    sources: tuple[str, ...]
    """Ids of traces."""
    groups: Int64[np.ndarray, " queries"]
    """Equal for queries of one intent, in this view."""

    def __post_init__(self) -> None:
        if not (np.isfinite(self.weights).all() and (self.weights >= 0).all()):
            msg = "weights of examples must be finite and not negative"
            raise ValueError(msg)

    def __len__(self) -> int:
        return len(self.sources)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class View:
    """What is known at some time, as a model sees it."""

    graph: Hypergraph
    inputs: NodeInputs


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskExamples:
    """Queries of one task with their answers.

    Invariant: as many queries as targets, and at least one fallback.
    """

    queries: QuerySource
    targets: Targets
    fallbacks: Mapping[str, Fallback]
    """By name; the first one where nothing says which is best (`pml.learning.fallbacks`)."""

    def __post_init__(self) -> None:
        if not self.fallbacks:
            msg = "expected at least one fallback, got none"
            raise ValueError(msg)
        if len(self.queries) != len(self.targets):
            msg = f"{len(self.queries)} queries for {len(self.targets)} targets"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainingFold:
    """Examples, and a view that was built without them."""

    view: View
    tasks: Mapping[RankingTask, TaskExamples]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LostFolds:
    """Where some servers are lost (`pml.learning.cold_start`)."""

    folds: tuple[TrainingFold, ...]
    """Of what is left."""
    asked: TrainingFold
    """Requests for what is lost, on a view of what is left."""
    needing: Mapping[str, str]
    """By source of what is asked, a lost server that it needs."""
    share: float
    """Of all requests to come, how many are expected to need a new server."""


def in_blocks(examples: TaskExamples, of: Fallback) -> Float32[np.ndarray, "queries candidates"]:
    """What ``of`` says of all queries."""
    rows = np.arange(len(examples.queries))
    blocks = np.split(rows, range(_BLOCK, len(rows), _BLOCK))
    return np.concatenate([of(examples.queries.take(block)) for block in blocks])


FoldBuilder: TypeAlias = Callable[[Sequence[Example], Sequence[Example]], TrainingFold]
"""Builds a view of the examples given first (asks retrievers, encodes texts, computes features),
and on it asks those given second."""


def dealt(examples: Sequence[Example], *, folds: int, seed: int) -> Int64[np.ndarray, " examples"]:
    """The fold of each example; those of one intent, however it is spaced, are in one.

    Intents are dealt round in random order, so folds differ by at most one intent.

    Raises:
        ValueError: fewer than 2 folds.
    """
    if folds < 2:  # noqa: PLR2004  # one fold would leave nothing to build its view from
        msg = f"expected at least 2 folds, got {folds}"
        raise ValueError(msg)
    groups = groups_of(examples)
    order = np.random.default_rng(seed).permutation(int(groups.max(initial=-1)) + 1)
    fold_of = np.empty(len(order), dtype=np.int64)
    fold_of[order] = np.arange(len(order)) % folds
    found: Int64[np.ndarray, " examples"] = fold_of[groups]
    return found


def cross_fitted(
    examples: Sequence[Example], build: FoldBuilder, *, folds: int, seed: int
) -> tuple[TrainingFold, ...]:
    """Each fold's examples on a view of all others; folds without examples are left out.

    Raises:
        ValueError: fewer than 2 folds.
    """
    fold_of = dealt(examples, folds=folds, seed=seed).tolist()
    parts = [
        tuple(
            [one for one, at in zip(examples, fold_of, strict=True) if (at == fold) is inside]
            for inside in (False, True)
        )
        for fold in range(folds)
    ]
    return tuple(build(known, asked) for known, asked in parts if asked)


def targets_of(examples: Sequence[Example], candidates: Sequence[str]) -> Targets:
    """Of examples of one task, in their order; ids that are no candidates are passed over."""
    number = {key: at for at, key in enumerate(candidates)}
    return Targets(
        positives=tuple(_numbers(example.positives, number) for example in examples),
        failed=tuple(_numbers(example.failed, number) for example in examples),
        served=np.array([len(example.positives) > 0 for example in examples], dtype=bool),
        weights=np.array([example.weight for example in examples], dtype=np.float32),
        sources=tuple(example.source for example in examples),
        groups=groups_of(examples),
    )


def groups_of(examples: Sequence[Example]) -> Int64[np.ndarray, " examples"]:
    """Equal for examples of one intent, counted from 0 in the order of first appearance."""
    number: dict[str, int] = {}
    groups = [number.setdefault(normalised_intent(one.intent), len(number)) for one in examples]
    return np.array(groups, dtype=np.int64)


def _numbers(ids: Sequence[str], number: Mapping[str, int]) -> Int64[np.ndarray, " _"]:
    return np.array([number[key] for key in ids if key in number], dtype=np.int64)
