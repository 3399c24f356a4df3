"""Whether a trained model may serve: only where it beats the fallback on held-back traces (LE-5).

Per task, each held-back intent gives a difference between model and fallback (the best simple
method, `pml.learning.fallbacks`).  If
the model were no better, the sign of each difference would be a coin's; the share of sign patterns
with a mean at least as large is the p-value of a one-sided permutation test.  The model passes
where it is at most `ALPHA`, so a model that differs from the fallback by chance alone passes at
most that often.  Too few intents, or none at all, decide for the fallback.

Where requests for servers that nobody has used are to be expected (`pml.learning.cold_start`), the
mean is over both kinds: those held back, and requests for servers that a model was trained without,
each kind with the share of requests that is expected of it.  The test is the same, but that the
differences of all intents that need one lost server have one sign: how a model does on a new server
says little of how it does on another.  Fewer than `LEAST_SERVERS` would leave too few patterns for
any model to pass; there each intent has a sign of its own, and the verdict is about these servers.

What the test cannot see is a loss so rare that it did not happen: a model that is better by 0.05
nineteen times of twenty and worse by 0.95 once, level on average, passes with 36 % of samples of
20 intents, 12 % of 100 and 8 % of 300.

Reference: P. Good, "Permutation, Parametric and Bootstrap Tests of Hypotheses", 3rd edition,
Springer 2005, section 3.2.  Intents are the units: queries of one intent depend on each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float64, Int64

ALPHA = 0.05
"""How often a model no better than the fallback may pass."""
LEAST_INTENTS = 20
"""Held-back intents below which nothing is concluded."""
LEAST_SERVERS = 8
"""Lost servers below which they are not the units of the test: 2^8 patterns can tell 1 in 20."""
_PATTERNS = 9_999
_BLOCK = 256
"""Patterns that are tried together: bounds the memory."""
_ROUNDING = 1e-9
"""Means are equal up to this share of their scale."""
_CUTOFF = 10
"""Of nDCG."""
_GAINED = np.concatenate([[0.0], np.cumsum(1 / np.log2(1 + np.arange(1, _CUTOFF + 1)))])
"""By the first so many ranks together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateVerdict:
    """Whether the model serves a task; the figures are means over held-back intents."""

    passes: bool
    model: float
    """nDCG@10; 0 where nothing was held back."""
    fallback: float
    p: float
    """One-sided: how often chance alone would favour the model as much; 1 if not tested."""
    intents: int
    """Held back, with a known answer; those for lost servers not among them."""
    cold_intents: int = 0
    """Asked for servers that a model was trained without, with a known answer."""
    cold_share: float = 0.0
    """How much these count, of 1; 0 where none were asked."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Compared:
    """nDCG@10 of model and fallback by held-back query; NaN without an answer."""

    model: Float64[np.ndarray, " queries"]
    fallback: Float64[np.ndarray, " queries"]
    groups: Int64[np.ndarray, " queries"]
    """Equal for queries of one intent."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColdPair:
    """nDCG@10 of model and fallback by query, where servers were lost; NaN without an answer."""

    model: Float64[np.ndarray, " queries"]
    fallback: Float64[np.ndarray, " queries"]
    groups: Int64[np.ndarray, " queries"]
    """Equal for queries of one intent."""
    servers: Int64[np.ndarray, " queries"]
    """Equal for queries that are asked for the same lost server; so for one intent, too."""
    share: float
    """Of all requests to come, how many are expected to be such."""


def gate(
    model: Float64[np.ndarray, " queries"],
    fallback: Float64[np.ndarray, " queries"],
    groups: Int64[np.ndarray, " queries"],
    *,
    seed: int,
    cold: ColdPair | None = None,
) -> GateVerdict:
    """Judge a task by nDCG@10 per held-back query (`ndcg`); queries without an answer are NaN.

    Args:
        model: Of the model's ranking.
        fallback: Of the fallback's.
        groups: Equal for queries of one intent.
        seed: Of the sign patterns.
        cold: Both where servers were lost; fewer than `LEAST_INTENTS` intents of it say nothing.
    """
    warm = _of_intents(model, fallback, groups)
    intents = len(warm)
    if intents == 0:
        return GateVerdict(passes=False, model=0.0, fallback=0.0, p=1.0, intents=0)
    lost, servers, share = warm[:0], np.zeros(0, np.int64), 0.0
    if cold is not None:
        of_cold = _of_intents(cold.model, cold.fallback, cold.groups, cold.servers)
        if len(of_cold) >= LEAST_INTENTS:
            lost, servers, share = of_cold[:, :2], of_cold[:, 2].astype(np.int64), cold.share
    if len(np.unique(servers)) < LEAST_SERVERS:
        servers = np.arange(len(lost))
    weights = np.repeat([1 - share, share], [intents, len(lost)])
    weights /= np.repeat([intents, max(len(lost), 1)], [intents, len(lost)])
    means = np.concatenate([warm, lost])
    units = np.concatenate([np.arange(intents), intents + servers])
    differences = np.bincount(units, weights=weights * (means[:, 0] - means[:, 1]))
    reached = weights @ means
    p = _p_value(differences, seed=seed) if intents >= LEAST_INTENTS else 1.0
    return GateVerdict(
        passes=p <= ALPHA,
        model=float(reached[0]),
        fallback=float(reached[1]),
        p=p,
        intents=intents,
        cold_intents=len(lost),
        cold_share=share,
    )


def _of_intents(
    model: Float64[np.ndarray, " queries"],
    fallback: Float64[np.ndarray, " queries"],
    groups: Int64[np.ndarray, " queries"],
    *others: Int64[np.ndarray, " queries"],
) -> Float64[np.ndarray, "intents series"]:
    """Means of each intent's queries that have an answer, of all series."""
    known = ~(np.isnan(model) | np.isnan(fallback))
    return _by_group(np.stack([model, fallback, *others], axis=1)[known], groups[known])


def mean_over_groups(
    values: Float64[np.ndarray, " queries"], groups: Int64[np.ndarray, " queries"]
) -> tuple[float, int]:
    """Mean of the groups' means, and how many groups there are; NaN counts for nothing."""
    known = ~np.isnan(values)
    means = _by_group(values[known, None], groups[known])
    return (float(means.mean()) if len(means) else 0.0), len(means)


def ndcg(
    scores: Float[np.ndarray, "queries candidates"], positives: Sequence[Int64[np.ndarray, " _"]]
) -> Float64[np.ndarray, " queries"]:
    """nDCG@10 of each query's ranking; NaN where no candidate is known to serve.

    Equal scores share what their ranks gain, so that ties are worth what breaking them at random is
    worth on average (F. McSherry, M. Najork, "Computing information retrieval performance measures
    efficiently in the presence of tied scores", ECIR 2008, section 3).
    """
    found = np.full(len(scores), np.nan)
    for row, wanted in enumerate(positives):
        if len(wanted):
            found[row] = _ndcg(scores[row], wanted)
    return found


def _ndcg(scores: Float[np.ndarray, " candidates"], wanted: Int64[np.ndarray, " _"]) -> float:
    own, ordered = scores[wanted], np.sort(scores)
    after = len(scores) - np.searchsorted(ordered, own, side="left")  # the last rank of the tie
    before = len(scores) - np.searchsorted(ordered, own, side="right")
    last, first = np.minimum(after, _CUTOFF), np.minimum(before, _CUTOFF)
    gains = (_GAINED[last] - _GAINED[first]) / (after - before)
    return float(min(1.0, gains.sum() / _GAINED[min(len(wanted), _CUTOFF)]))


def _by_group(
    values: Float64[np.ndarray, "queries series"], groups: Int64[np.ndarray, " queries"]
) -> Float64[np.ndarray, "groups series"]:
    """Means of the queries of each group."""
    _, group_of, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    sums = np.zeros((len(sizes), values.shape[1]))
    np.add.at(sums, group_of, values)
    means: Float64[np.ndarray, "groups series"] = sums / sizes[:, None]
    return means


def _p_value(differences: Float64[np.ndarray, " groups"], *, seed: int) -> float:
    """Share of sign patterns, that which was seen among them, with at least the mean seen."""
    rng = np.random.default_rng(seed)
    least = differences.sum() - _ROUNDING * np.abs(differences).sum()
    count = 1
    for start in range(0, _PATTERNS, _BLOCK):
        rows = min(_BLOCK, _PATTERNS - start)
        signs = rng.integers(0, 2, size=(rows, len(differences)), dtype=np.int8) * 2.0 - 1.0
        count += int(np.sum(signs @ differences >= least))
    return count / (1 + _PATTERNS)
