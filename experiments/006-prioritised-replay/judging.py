"""How good predictions are, case by case, and whether two strategies differ.

Each metric is a mean over cases: log loss and Brier score are, and of the AUC each case has its
influence, which has the AUC as its mean (DeLong, DeLong, Clarke-Pearson, Biometrics 1988).
Intervals draw seeds and groups of cases (episodes) anew, both at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64
from problems import Cases
from scipy import stats

DRAWS = 1_000
_LEAST = 1e-3
"""Chances are cut here, so that a single confident mistake does not decide a log loss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Metrics of one strategy."""

    by_case: dict[str, Float64[np.ndarray, "seeds cases"]]
    groups: Int64[np.ndarray, " cases"]


def losses(
    chances: Float64[np.ndarray, "cases classes"], labels: Int64[np.ndarray, " cases"]
) -> Float64[np.ndarray, " cases"]:
    """Minus the logarithm of the right class's chance."""
    right: Float64[np.ndarray, " cases"] = chances[np.arange(len(labels)), labels]
    logs: Float64[np.ndarray, " cases"] = np.log(np.clip(right, _LEAST, 1 - _LEAST))
    return -logs


def mean_loss(
    chances: Float64[np.ndarray, "cases classes"], labels: Int64[np.ndarray, " cases"]
) -> float:
    """Over all cases."""
    return float(losses(chances, labels).mean())


def judged(chances: Sequence[Float64[np.ndarray, "cases classes"]], held: Cases) -> Figures:
    """One prediction per seed."""
    labels = held.labels
    by_case = {"log loss": np.array([losses(one, labels) for one in chances])}
    if chances[0].shape[1] == 2:  # noqa: PLR2004
        failing = np.array([one[:, 1] for one in chances])
        by_case["Brier"] = (failing - labels) ** 2
        by_case["AUC"] = np.array([auc_influence(one, labels) for one in failing])
        by_case["mean chance"] = failing
        by_case["truth"] = np.broadcast_to(labels.astype(float), failing.shape)
    else:
        by_case["hit1"] = np.array([one.argmax(axis=1) == labels for one in chances]).astype(float)
    return Figures(by_case=by_case, groups=held.groups)


def auc_influence(
    scores: Float64[np.ndarray, " cases"], labels: Int64[np.ndarray, " cases"]
) -> Float64[np.ndarray, " cases"]:
    """What each case adds to the AUC; the mean is the AUC."""
    positive = labels == 1
    n, n1 = len(labels), int(positive.sum())
    ranks = stats.rankdata(scores)
    placements = np.empty(n)
    placements[positive] = (ranks[positive] - stats.rankdata(scores[positive])) / (n - n1)
    placements[~positive] = 1 - (ranks[~positive] - stats.rankdata(scores[~positive])) / n1
    auc = placements[positive].mean()
    share = np.where(positive, n1, n - n1) / n
    influence: Float64[np.ndarray, " cases"] = auc + (placements - auc) / share
    return influence


def set_against(one: Figures, other: Figures) -> dict[str, tuple[float, float, float, float]]:
    """By metric: mean difference, ends of its 95 % interval, two-sided p."""
    return {
        name: _difference(one.by_case[name] - other.by_case[name], one.groups)
        for name in one.by_case
        if name not in {"truth", "mean chance"}
    }


def _difference(
    differences: Float64[np.ndarray, "seeds cases"], groups: Int64[np.ndarray, " cases"]
) -> tuple[float, float, float, float]:
    rng = np.random.default_rng(0)
    _, number = np.unique(groups, return_inverse=True)
    sizes = np.bincount(number).astype(float)
    sums = np.array([np.bincount(number, weights=row) for row in differences])
    n_seeds, n_groups = sums.shape
    by_group = rng.multinomial(n_groups, np.full(n_groups, 1 / n_groups), DRAWS).astype(float)
    by_seed = rng.multinomial(n_seeds, np.full(n_seeds, 1 / n_seeds), DRAWS) / n_seeds
    drawn = ((by_seed @ sums) * by_group).sum(axis=1) / (by_group @ sizes)
    mean, spread = float(differences.mean()), float(drawn.std())
    low, high = np.quantile(drawn, [0.025, 0.975])
    p = float(2 * stats.norm.sf(abs(mean) / spread)) if spread > 0 else 1.0
    return mean, float(low), float(high), p
