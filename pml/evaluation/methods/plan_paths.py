"""A plan for an intent: a shortest path through the retrieved tools.

A path costs, for each tool, minus the logarithm of its retrieval score, and for each step, minus
the logarithm of its chance in training: it is the likeliest chain of ``k`` different tools if
scores are taken as chances.  Found by beam search among the tools with the best scores.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Float64, Int64

from pml.evaluation.plan_parts import RETRIEVERS, PlanParts, Size, chain, plan_parts
from pml.evaluation.questions import Plans, PlansQuestion

BEAM = 40
"""Paths kept after each step."""
TOP = 60
"""Tools that a path may use."""
_LEAST = 1e-3
"""Added to scores, of which many are 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortestPath:
    """The shortest path of ``k`` different tools."""

    retriever: str
    size: Size
    task: str = "plans"

    @property
    def name(self) -> str:
        """Both choices."""
        return f"{self.retriever} shortest path {self.size.value}"

    def answers(self, question: PlansQuestion) -> Plans | None:
        """A path for each intent, of at most `TOP` tools; None without training."""
        if not question.train:
            return None
        parts = plan_parts(question)
        sizes = parts.sizes(self.size, question)
        return [
            chain([parts.tools[at] for at in _found(row, parts, size)])
            for row, size in zip(RETRIEVERS[self.retriever](parts), sizes, strict=True)
        ]


METHODS = tuple(
    ShortestPath(retriever=each, size=size)
    for each in RETRIEVERS
    for size in (Size.TWO, Size.ORACLE)
)


def _found(scores: Float32[np.ndarray, " tools"], parts: PlanParts, size: int) -> list[int]:
    top = np.argsort(-scores, kind="stable")[:TOP]
    ids = [parts.tools[at] for at in top.tolist()]
    steps = np.array([[parts.transitions.log_chance(a, b) for b in ids] for a in ids])
    gains = np.log(scores[top].astype(np.float64) + _LEAST)
    return [int(top[at]) for at in beam(gains, steps, size)]


def beam(
    gains: Float64[np.ndarray, " top"], steps: Float64[np.ndarray, "top top"], size: int
) -> list[int]:
    """Indices along the best path found; of equal ones the first.

    Args:
        gains: What each tool adds, sorted from the best to the least.
        steps: What going from one (row) to another (column) adds.
        size: How many tools; at most as many as there are.
    """
    paths = np.arange(len(gains), dtype=np.int64)[:BEAM, None]  # (paths, length)
    totals = gains[:BEAM]
    for _ in range(min(size, len(gains)) - 1):
        longer = totals[:, None] + gains + steps[paths[:, -1]]  # (paths, top)
        np.put_along_axis(longer, paths, -np.inf, axis=1)
        kept = _largest(longer.ravel())
        totals = longer.ravel()[kept]
        came, last = np.divmod(kept, len(gains))
        paths = np.column_stack([paths[came], last])
    return [int(at) for at in paths[0]] if len(paths) else []


def _largest(values: Float64[np.ndarray, " paths"]) -> Int64[np.ndarray, " beam"]:
    """Indices of the finite values that are among the `BEAM` largest, the largest first."""
    order: Int64[np.ndarray, " beam"] = np.argsort(-values, kind="stable")[:BEAM]
    finite: Int64[np.ndarray, " beam"] = order[np.isfinite(values[order])]
    return finite
