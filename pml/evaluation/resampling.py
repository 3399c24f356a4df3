"""Draws cases again, by groups: how much a figure would move on other data of the same kind.

The cluster bootstrap: groups are drawn with replacement, as many as there are, and each brings
all its cases.  A. C. Davison and D. V. Hinkley: Bootstrap Methods and their Application,
Cambridge University Press 1997, section 3.8.  One set of draws serves all metrics and methods
of a problem, so that differences between methods are drawn in pairs.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64

from pml.evaluation.measured import Mean, Statistic

N_DRAWS = 1_000
LEVEL = 0.95
_BLOCK = 64
"""Draws that are worked on together: bounds the memory to a block times the groups."""
_MOST_UNDEFINED = 0.05
"""Share of draws in which a metric may have no value before its interval means nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A percentile interval."""

    low: float
    high: float


class Resamples:
    """Draws of the cases of one problem.

    Invariant: ``drawn`` has a row per draw with as many numbers of groups as there are groups.
    """

    def __init__(
        self,
        groups: Int64[np.ndarray, " cases"],
        rng: np.random.Generator,
        *,
        n_draws: int = N_DRAWS,
    ) -> None:
        """Draw; ``groups`` has any numbers, equal ones for cases that depend on each other."""
        _, group_of = np.unique(groups, return_inverse=True)
        self.group_of: Int64[np.ndarray, " cases"] = group_of.astype(np.int64)
        self.n_groups = int(self.group_of.max()) + 1 if len(groups) else 0
        self.drawn = rng.integers(0, max(self.n_groups, 1), (n_draws, self.n_groups))
        self._ordered = np.argsort(self.group_of, kind="stable").astype(np.int64)
        self._sizes = np.bincount(self.group_of, minlength=self.n_groups)
        self._starts = np.cumsum(self._sizes) - self._sizes

    @property
    def n_cases(self) -> int:
        """How many cases there are."""
        return len(self.group_of)

    def cases(self, draw: int) -> Int64[np.ndarray, " resample"]:
        """The cases of one draw."""
        groups = self.drawn[draw]
        sizes = self._sizes[groups]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        places = np.repeat(self._starts[groups], sizes) + within
        found: Int64[np.ndarray, " resample"] = self._ordered[places]
        return found

    def group_sums(
        self, values: Float64[np.ndarray, "cases series"]
    ) -> Float64[np.ndarray, "groups series"]:
        """Sums over the cases of each group."""
        sums = np.zeros((self.n_groups, values.shape[1]))
        np.add.at(sums, self.group_of, values)
        return sums

    def drawn_sums(
        self, sums: Float64[np.ndarray, "groups series"]
    ) -> Float64[np.ndarray, "draws series"]:
        """What the sums of the groups come to in each draw."""
        blocks = []
        for start in range(0, len(self.drawn), _BLOCK):
            block = self.drawn[start : start + _BLOCK]
            counts = np.zeros((len(block), self.n_groups))
            np.add.at(counts, (np.arange(len(block))[:, None], block), 1.0)
            blocks.append(counts @ sums)
        return np.concatenate(blocks)


def value(metric: Mean | Statistic, n_cases: int) -> float:
    """What a metric comes to on the cases as they are; NaN where it has no value."""
    if isinstance(metric, Statistic):
        return float(metric.of(np.arange(n_cases)))
    known = metric.values[~np.isnan(metric.values)]
    return float(known.mean()) if len(known) else float("nan")


def drawn_values(
    metrics: list[Mean | Statistic], resamples: Resamples
) -> Float64[np.ndarray, "draws metrics"]:
    """What each metric comes to in each draw; NaN where it has no value there."""
    drawn = np.full((len(resamples.drawn), len(metrics)), np.nan)
    means = [at for at, metric in enumerate(metrics) if isinstance(metric, Mean)]
    values = [metric.values for metric in metrics if isinstance(metric, Mean)]
    if means:
        drawn[:, means] = _drawn_means(np.stack(values, axis=1), resamples)
    for at, metric in enumerate(metrics):
        if isinstance(metric, Statistic):
            draws = range(len(resamples.drawn))
            drawn[:, at] = [metric.of(resamples.cases(draw)) for draw in draws]
    return drawn


def _drawn_means(
    values: Float64[np.ndarray, "cases series"], resamples: Resamples
) -> Float64[np.ndarray, "draws series"]:
    known: Bool[np.ndarray, "cases series"] = ~np.isnan(values)
    sums = resamples.group_sums(np.where(known, values, 0.0))
    counts = resamples.group_sums(known.astype(np.float64))
    both = resamples.drawn_sums(np.concatenate([sums, counts], axis=1))
    totals, numbers = both[:, : values.shape[1]], both[:, values.shape[1] :]
    nothing = np.full_like(totals, np.nan)
    drawn: Float64[np.ndarray, "draws series"] = np.divide(
        totals, numbers, out=nothing, where=numbers > 0
    )
    return drawn


def interval(drawn: Float64[np.ndarray, " draws"]) -> Interval | None:
    """The middle `LEVEL` of the draws; None where too many have no value."""
    known = drawn[~np.isnan(drawn)]
    if len(known) < (1 - _MOST_UNDEFINED) * len(drawn):
        return None
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(low=float(low), high=float(high))
