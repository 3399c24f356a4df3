"""From scores to chances: three parameters per task, and how true chances are (LE-5).

A score that ranks well says nothing of how sure it is, and what it does say depends on the scores
of its rivals: a lone high score is surer than the highest of many.  On queries that were not
trained on, a logistic function is fitted to all their candidates: the chance that the candidate
serves is ``sigmoid(slope * score + rivalry * log_partition + intercept)``, where the log partition
of a query is ``log(sum(exp(scores)))`` over all candidates, as in the softmax that InfoNCE trains.
The slope is never negative, so that calibration cannot turn the ranking of a query round.

Reference: J. Platt, "Probabilistic outputs for support vector machines", Advances in Large Margin
Classifiers, 1999; H.-T. Lin, C.-J. Lin, R. Weng, "A note on Platt's probabilistic outputs", Machine
Learning 68, 2007, algorithm 1 (Newton steps with backtracking, stable log losses).  Where we
differ: Platt has no log partition, and labels are not smoothed here.  With one positive in hundreds
of candidates, smoothed negatives would outweigh the positives; instead a minute ridge keeps
separable scores finite.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64

_RIDGES = np.array([1e-3, 1.0, 1e-3])
"""Observations that the identity (1, 0, 0) weighs against slope, rivalry and intercept: keeps
separable scores finite, and as fitting starts there, what is fitted is never worse than it.  Few
queries have hardly more than one log partition, which must not pass for a second intercept."""
_STEPS = 100
_HALVINGS = 40
_DONE = 1e-10
"""Decrease of the objective, relative to it, below which a fit is done."""
BINS = 10
"""Of the calibration error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Of one task; the identity until something is known.

    Invariant: the slope is not negative.
    """

    slope: float = 1.0
    rivalry: float = 0.0
    intercept: float = 0.0

    @property
    def numbers(self) -> tuple[float, float, float]:
        """As a model keeps them: slope, rivalry, intercept."""
        return self.slope, self.rivalry, self.intercept

    def chances(
        self, scores: Float64[np.ndarray, " cases"], log_partitions: Float64[np.ndarray, " cases"]
    ) -> Float64[np.ndarray, " cases"]:
        """That each serves, from 0 to 1."""
        return _sigmoid(self.slope * scores + self.rivalry * log_partitions + self.intercept)


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationReport:
    """How true chances are on some queries; lower is better."""

    log_loss: float
    """Per candidate."""
    brier: float
    """Per candidate."""
    top_error: float
    """Calibration error of the best candidate's chance: what a suggestion says of itself."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cases:
    """Candidates of held-back queries whose truth is known."""

    scores: Float64[np.ndarray, " cases"]
    log_partitions: Float64[np.ndarray, " cases"]
    """Of the query of each."""
    positive: Bool[np.ndarray, " cases"]
    """Whether it served."""
    weights: Float64[np.ndarray, " cases"]


def fitted(cases: Cases) -> Calibration:
    """The parameters of the least weighted log loss; the identity for no cases.

    Never a larger log loss than the identity has on the same cases.

    Raises:
        ValueError: a score, log partition or weight is not finite, or a weight is negative.
    """
    columns = np.stack([cases.scores, cases.log_partitions, np.ones_like(cases.scores)], axis=1)
    weights = cases.weights
    if not (np.isfinite(columns).all() and np.isfinite(weights).all() and (weights >= 0).all()):
        msg = "scores, log partitions and weights must be finite, and weights not negative"
        raise ValueError(msg)
    found = _least(
        columns, cases.positive, weights, start=np.array([1.0, 0.0, 0.0]), ridges=_RIDGES
    )
    if found[0] < 0:
        # The objective is convex, so its least on slopes of 0 and more is at 0.
        rest = _least(
            columns[:, 1:], cases.positive, weights, start=np.zeros(2), ridges=_RIDGES[1:]
        )
        found = np.concatenate([np.zeros(1), rest])
    slope, rivalry, intercept = found.tolist()
    return Calibration(slope=slope, rivalry=rivalry, intercept=intercept)


def _least(
    columns: Float64[np.ndarray, "cases parameters"],
    positive: Bool[np.ndarray, " cases"],
    weights: Float64[np.ndarray, " cases"],
    *,
    start: Float64[np.ndarray, " parameters"],
    ridges: Float64[np.ndarray, " parameters"],
) -> Float64[np.ndarray, " parameters"]:
    """Newton steps, halved until the objective falls."""

    def objective(at: Float64[np.ndarray, " parameters"]) -> float:
        logits = columns @ at
        losses = np.logaddexp(0.0, np.where(positive, -logits, logits))
        return float(weights @ losses + ridges @ (at - start) ** 2 / 2)

    at, value = start, objective(start)
    for _ in range(_STEPS):
        chances = _sigmoid(columns @ at)
        slope = columns.T @ (weights * (chances - positive)) + ridges * (at - start)
        bend = (columns * (weights * chances * (1 - chances))[:, None]).T @ columns
        step = np.linalg.solve(bend + np.diag(ridges), slope)
        tried = ((at - step * 0.5**n) for n in range(_HALVINGS))
        better = next(((one, new) for one in tried if (new := objective(one)) < value), None)
        if better is None:
            break
        fallen = value - better[1]
        at, value = better
        if fallen <= _DONE * value:
            break
    return at


def log_loss(
    chances: Float64[np.ndarray, " cases"],
    positive: Bool[np.ndarray, " cases"],
    weights: Float64[np.ndarray, " cases"],
) -> float:
    """Weighted mean; chances are taken to lie inside (0, 1) as far as float64 can tell."""
    tiny = np.finfo(np.float64).tiny
    told = np.where(positive, chances, 1 - chances)
    return _mean(-np.log(np.maximum(told, tiny)), weights)


def brier(
    chances: Float64[np.ndarray, " cases"],
    positive: Bool[np.ndarray, " cases"],
    weights: Float64[np.ndarray, " cases"],
) -> float:
    """Weighted mean of the squared difference to what came true."""
    return _mean((chances - positive) ** 2, weights)


def calibration_error(
    chances: Float64[np.ndarray, " cases"], positive: Bool[np.ndarray, " cases"]
) -> float:
    """Mean difference of chance and share that came true, over `BINS` bins of equal filling.

    J. Nixon et al., "Measuring calibration in deep learning", CVPR Workshops 2019,
    arXiv:1904.01685, section 3.  Equal chances are in one bin; 0 for no cases.
    """
    if not len(chances):
        return 0.0
    inner = np.unique(np.quantile(chances, np.linspace(0, 1, BINS + 1)[1:-1]))
    bins = np.searchsorted(inner, chances, side="left")
    gaps = np.bincount(bins, weights=chances - positive)
    return float(np.abs(gaps).sum() / len(chances))


def _sigmoid(logits: Float64[np.ndarray, "*shape"]) -> Float64[np.ndarray, "*shape"]:
    """Without overflow."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -logits)))


def _mean(values: Float64[np.ndarray, " cases"], weights: Float64[np.ndarray, " cases"]) -> float:
    total = float(weights.sum())
    return float(weights @ values) / total if total else 0.0
