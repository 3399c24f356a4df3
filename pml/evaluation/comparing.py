"""Is one method better than another on the same cases, or was it luck?

- *Means*: a paired permutation test.  If two methods are equally good, their answers to a group
  of cases could be swapped; so the difference of each group changes its sign at random, and the
  p-value is the share of sign patterns with a difference at least as large.  Exact where all
  patterns can be tried.  P. Good: Permutation, Parametric and Bootstrap Tests of Hypotheses,
  3rd edition, Springer 2005, section 3.2.
- *Statistics of all cases* (AUC): the difference over its standard error from paired cluster
  draws, against the normal distribution, as X. Robin et al. do for AUC: pROC, BMC
  Bioinformatics 12:77, 2011, "Bootstrap test".
- *Many comparisons*: S. Holm: A simple sequentially rejective multiple test procedure,
  Scandinavian Journal of Statistics 6(2), 1979.  Over *all* pairs of a problem, although only
  those with the best method are reported: which method is best is seen on the same data, and
  correcting only for the comparisons with it finds a difference among ten equal methods far
  more often than one time in twenty (`tests/evaluation/test_comparing.py` measures it).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float64, Int64

from pml.evaluation.measured import Mean, Statistic
from pml.evaluation.resampling import Interval, Resamples, drawn_values, interval, value

ALPHA = 0.05
N_FLIPS = 9_999
_MOST_FLIPS = 99_999
_MOST_SIGNS = 40_000_000
"""Where groups are few, more patterns are tried, so that smaller p-values can be told."""
_FLIPS_PER_PAIR = 40
"""So that Holm's smallest corrected p-value stays below `ALPHA`, however many pairs there are."""
_EXACT_GROUPS = 13
"""2 to that power are fewer patterns than would be drawn."""
_BLOCK = 256
_ROUNDING = 1e-9
"""Differences are equal up to this share of their scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A method against the best other one."""

    other: int
    difference: float
    """The method's value minus the other's."""
    interval: Interval | None
    p: float
    p_holm: float
    """Corrected over all pairs of the problem."""


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's corrected p-values, in the order given."""
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    corrected, least = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[at]))
        corrected[at] = least
    return corrected


def compare(
    metrics: Sequence[Mean | Statistic],
    resamples: Resamples,
    rng: np.random.Generator,
    *,
    higher_is_better: bool,
    n_flips: int | None = None,
) -> list[Comparison | None]:
    """Each method with the best other one; None where it or all others have no value."""
    values = [value(metric, resamples.n_cases) for metric in metrics]
    sign = 1.0 if higher_is_better else -1.0
    alive = [at for at, found in enumerate(values) if not math.isnan(found)]
    order = sorted(alive, key=lambda at: -sign * values[at])
    found: list[Comparison | None] = [None] * len(metrics)
    if len(order) < 2 or resamples.n_groups < 2:  # noqa: PLR2004  # a pair; something to vary
        return found
    pairs = list(combinations(sorted(order), 2))
    if n_flips is None:
        n_flips = min(_MOST_FLIPS, max(N_FLIPS, _MOST_SIGNS // resamples.n_groups))
    drawn = drawn_values(list(metrics), resamples)
    p_values = _p_values(metrics, pairs, drawn, resamples, rng, n_flips=n_flips)
    corrected = dict(zip(pairs, zip(p_values, holm(p_values), strict=True), strict=True))
    for at in order:
        other = order[1] if at == order[0] else order[0]
        p, p_holm = corrected[min(at, other), max(at, other)]
        found[at] = Comparison(
            other=other,
            difference=values[at] - values[other],
            interval=interval(drawn[:, at] - drawn[:, other]),
            p=p,
            p_holm=p_holm,
        )
    return found


def _p_values(
    metrics: Sequence[Mean | Statistic],
    pairs: Sequence[tuple[int, int]],
    drawn: Float64[np.ndarray, "draws metrics"],
    resamples: Resamples,
    rng: np.random.Generator,
    *,
    n_flips: int,
) -> list[float]:
    means = {at: metric.values for at, metric in enumerate(metrics) if isinstance(metric, Mean)}
    flipped = [pair for pair in pairs if pair[0] in means and pair[1] in means]
    found = {}
    if flipped:
        differences = np.stack([means[a] - means[b] for a, b in flipped], axis=1)
        by_group = resamples.group_sums(np.nan_to_num(differences, nan=0.0))
        found = dict(
            zip(flipped, sign_flip_p(by_group, rng, n_flips=n_flips).tolist(), strict=True)
        )
    for a, b in pairs:
        if (a, b) not in found:
            both = (metrics[a], metrics[b])
            of_all = [value(metric, resamples.n_cases) for metric in both]
            difference, draws = of_all[0] - of_all[1], drawn[:, a] - drawn[:, b]
            found[a, b] = bootstrap_p(difference, draws, n_groups=resamples.n_groups)
    return [found[pair] for pair in pairs]


def sign_flip_p(
    differences: Float64[np.ndarray, "groups pairs"],
    rng: np.random.Generator,
    *,
    n_flips: int = N_FLIPS,
) -> Float64[np.ndarray, " pairs"]:
    """Two-sided p-values of the sums of differences, by changing signs of groups."""
    told = differences[np.any(differences != 0, axis=1)]
    seen = np.abs(told.sum(axis=0)) - _ROUNDING * np.abs(told).sum(axis=0)
    if len(told) <= _EXACT_GROUPS:
        patterns = np.arange(2 ** len(told))[:, None] >> np.arange(len(told))
        larger = np.abs(_signs((patterns & 1).astype(bool)) @ told) >= seen
        share: Float64[np.ndarray, " pairs"] = larger.mean(axis=0)
        return share
    n_flips = max(n_flips, _FLIPS_PER_PAIR * differences.shape[1] - 1)
    count: Int64[np.ndarray, " pairs"] = np.zeros(differences.shape[1], dtype=np.int64)
    for start in range(0, n_flips, _BLOCK):
        n_rows = min(_BLOCK, n_flips - start)
        sums = _signs(_coins(n_rows, len(told), rng)) @ told
        count += np.sum(np.abs(sums) >= seen, axis=0)
    # The pattern that was seen is one of them, so that no p-value is 0.
    return (1 + count) / (1 + n_flips)


def _coins(n_rows: int, n: int, rng: np.random.Generator) -> Bool[np.ndarray, "rows groups"]:
    """Fair coins, eight to the byte: a number for each would take most of the time."""
    raw = rng.integers(0, 256, (n_rows, (n + 7) // 8), dtype=np.uint8)
    return np.unpackbits(raw, axis=1)[:, :n].astype(bool)


def _signs(heads: Bool[np.ndarray, "rows groups"]) -> Float64[np.ndarray, "rows groups"]:
    signs: Float64[np.ndarray, "rows groups"] = np.where(heads, 1.0, -1.0)
    return signs


def bootstrap_p(difference: float, drawn: Float64[np.ndarray, " draws"], *, n_groups: int) -> float:
    """Two-sided p-value of a difference, from draws of it.

    1 where too many draws have no value: what is left of a single failed call in three runs
    tells nothing.  Never less than the smallest that signs of so few groups could give, as the
    normal distribution promises far more than a few groups hold.
    """
    if interval(drawn) is None:
        return 1.0
    known = drawn[~np.isnan(drawn)]
    error = float(known.std(ddof=1)) if len(known) > 1 else 0.0
    if error <= _ROUNDING * abs(difference) or error == 0.0:
        p = 1.0 if difference == 0 else 1 / (1 + len(known))
    else:
        p = math.erfc(abs(difference) / error / math.sqrt(2))
    return max(p, 2.0 ** (1 - n_groups))
