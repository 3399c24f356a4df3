"""The questions of the tasks, and what answers look like.

Shapes: ``cases`` are what is asked one by one (intents, prefixes, calls); ``candidates`` are
what a ranking orders.  A score matrix has a row per case; larger is better, equal scores are
equally good.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Float32, Float64

from pml.evaluation.dataset import Call, Dependency, Tool, Workflow

Scores: TypeAlias = Float32[np.ndarray, "cases candidates"]


@dataclass(frozen=True, kw_only=True)
class ToolsQuestion:
    """Which tools serve each intent?  Answered by `Scores` over ``tools``."""

    tools: tuple[Tool, ...]
    train: tuple[Workflow, ...]
    intents: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A capability: a distinct set of tools of the training split, or a known workflow."""

    tools: tuple[Tool, ...]
    past_intents: tuple[str, ...]
    title: str = ""
    node_names: tuple[str, ...] = ()
    notes: str = ""


@dataclass(frozen=True, kw_only=True)
class CapabilitiesQuestion:
    """Which capability serves each intent?  Answered by `Scores` over ``candidates``."""

    candidates: tuple[Candidate, ...]
    intents: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A place in a run: what was called so far, and for which intent."""

    prefix: tuple[str, ...]
    """Ids of tools, the earliest first; at least one."""
    intent: str


@dataclass(frozen=True, kw_only=True)
class NextQuestion:
    """Which tool comes next?  Answered by a ranking of tool ids per point, best first.

    A ranking may leave tools out; what is left out is not found.
    """

    tools: tuple[Tool, ...]
    train: tuple[tuple[str, ...], ...]
    """Sequences of tool ids."""
    points: tuple[Point, ...]
    past_intents: tuple[str, ...] = ()
    """What each sequence of ``train`` served; sequences of one workflow have the same.  Empty where
    nobody knows."""


Rankings: TypeAlias = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to call for an intent, and which call feeds or follows which."""

    nodes: tuple[str, ...]
    links: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class PlansQuestion:
    """What plan serves each intent?  Answered by a `Plan` per intent."""

    tools: tuple[Tool, ...]
    train: tuple[Workflow, ...]
    intents: tuple[str, ...]
    sizes: tuple[int, ...]
    """Numbers of different tools in the right plans.  Only a method whose name says ``oracle k``
    may read it: it bounds what knowing the size would bring."""


Plans: TypeAlias = Sequence[Plan]


@dataclass(frozen=True, kw_only=True)
class LinksQuestion:
    """Which of these tools feed which?  Answered by a set of pairs per case."""

    tools: tuple[Tool, ...]
    train: tuple[Workflow, ...]
    nodes: tuple[tuple[str, ...], ...]
    """In topological order.  Only a method whose name says ``gold order`` may use the order."""


Links: TypeAlias = Sequence[frozenset[tuple[str, str]]]


@dataclass(frozen=True, kw_only=True)
class ClosureQuestion:
    """Which tool was asked for, and what does it depend on?  Answered by a `Closure` per intent."""

    tools: tuple[Tool, ...]
    dependencies: tuple[Dependency, ...]
    intents: tuple[str, ...]
    known: tuple[tuple[Workflow, ...], ...]
    """By intent, what may be known when it is asked: workflows for other main tools only.  The same
    object for many intents, so that what is learned from it is learned once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closure:
    """Tools for an intent."""

    ranking: tuple[str, ...]
    """Best first; at least the first ten count."""
    chosen: frozenset[str] | None
    """The exact set that the method would fetch; None where it does not choose."""


Closures: TypeAlias = Sequence[Closure]


@dataclass(frozen=True, kw_only=True)
class ProvidesQuestion:
    """Does the first tool's result feed the second's arguments?  Answered by a number per pair.

    At least 0.5 means yes; a method that only says yes or no answers 1 and 0.
    """

    pairs: tuple[tuple[Tool, Tool], ...]


@dataclass(frozen=True, kw_only=True)
class OutcomesQuestion:
    """How likely does each call fail?  Answered by a chance per call.

    ``ok`` and ``result`` of a call that is asked about are hidden; earlier calls of its episode are
    in its ``before``.  Those of other calls are not for it: a later one's tells how it ended.
    """

    tools: tuple[Tool, ...]
    train: tuple[Call, ...]
    calls: tuple[Call, ...]
    before: tuple[tuple[Call, ...], ...]
    """Per call, what its episode had done: outcomes told, oldest first."""


Chances: TypeAlias = Float64[np.ndarray, " cases"]


@dataclass(frozen=True, kw_only=True)
class RunsQuestion:
    """Which runs failed?  Answered by a number per run, larger for what more likely failed."""

    runs: tuple[tuple[Call, ...], ...]
    """The calls of each run, outcomes told; a run may have made none."""
