r"""Weigh evidence by what is known of the query: SHGAT's evidence term, learned by itself.

The score of candidate c is :math:`\langle a + B m, e_c \rangle`, with evidence e and stats m of the
query (`pml.models.config`); several candidates may be right, and one of them is to come first.  So
the loss of a query is minus the logarithm of the chance, by a softmax over all candidates, that a
right one is drawn (the marginal likelihood), plus a small penalty.

References:
    D. McFadden: Conditional logit analysis of qualitative choice behavior, in P. Zarembka (ed.):
    Frontiers in Econometrics, 1974.
    R. Jin, Z. Ghahramani: Learning with multiple labels, NIPS 15, 2002, section 3 (the marginal).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32, Float64
from scipy.optimize import minimize

_CONSTANT = 1e-6
"""Deviation up to which a column of evidence is as good as constant."""
_STEPS = 50
"""Further ones change no ranking that anybody would notice."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GatedWeights:
    """What each column of evidence counts."""

    base: Float32[np.ndarray, " columns"]
    by_stats: Float32[np.ndarray, "columns stats"]

    def scores(
        self,
        evidence: Float32[np.ndarray, "queries candidates columns"],
        stats: Float32[np.ndarray, "queries stats"],
    ) -> Float32[np.ndarray, "queries candidates"]:
        """Larger is likelier."""
        weights = self.base + stats @ self.by_stats.T
        return np.asarray(np.matmul(evidence, weights[:, :, None])[:, :, 0])


def fitted(
    evidence: Float32[np.ndarray, "queries candidates columns"],
    stats: Float32[np.ndarray, "queries stats"],
    right: Bool[np.ndarray, "queries candidates"],
    *,
    counts: Float64[np.ndarray, " queries"] | None = None,
    penalty: float = 10.0,
) -> GatedWeights:
    """The weights; zeros where nothing is right.

    Args:
        evidence: Of every candidate.
        stats: Of every query.
        right: Which candidates are; queries without any count for nothing.
        counts: As how many queries each counts; once if none are given.
        penalty: Of half the squared length of the weights of standardised columns, beside the sum
            over queries.
    """
    known = right.any(axis=1)
    evidence, stats, right = evidence[known], stats[known], right[known]
    times = np.ones(len(evidence)) if counts is None else counts[known]
    queries, columns = len(evidence), evidence.shape[2]
    gates = np.concatenate([np.ones((queries, 1), np.float32), stats], axis=1)
    shape = (gates.shape[1], columns)
    if not queries:
        return _weights(np.zeros(shape))
    spread = evidence.std(axis=(0, 1), dtype=np.float64)
    # What is the same for all candidates orders none: rounding alone would give it a weight.
    deviation = np.where(spread > _CONSTANT, spread + 1e-6, np.inf)
    scaled = (evidence / deviation).astype(np.float32, copy=False)

    def loss(
        flat: Float64[np.ndarray, " weights"],
    ) -> tuple[float, Float64[np.ndarray, " weights"]]:
        each = (gates @ flat.reshape(shape)).astype(np.float32)  # (queries, columns)
        scores = np.matmul(scaled, each[:, :, None])[:, :, 0]
        among_all, among_right = (
            _log_chances(scores),
            _log_chances(np.where(right, scores, -np.inf)),
        )
        surplus = np.exp(among_all[0]) - np.exp(among_right[0])  # (queries, candidates)
        surplus *= times[:, None].astype(np.float32)
        slope = gates.T @ np.matmul(surplus[:, None, :], scaled)[:, 0]
        value = float(((among_all[1] - among_right[1]) * times.astype(np.float32)).sum())
        return value + penalty / 2 * float(flat @ flat), slope.ravel() + penalty * flat

    options = {"maxiter": _STEPS}
    start = np.zeros(shape[0] * shape[1])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x
    return _weights(found.reshape(shape) / deviation)


def _weights(table: Float64[np.ndarray, "gates columns"]) -> GatedWeights:
    by_gate = table.astype(np.float32)
    return GatedWeights(base=by_gate[0], by_stats=by_gate[1:].T.copy())


def _log_chances(
    scores: Float32[np.ndarray, "queries candidates"],
) -> tuple[Float32[np.ndarray, "queries candidates"], Float32[np.ndarray, " queries"]]:
    """Logarithms of the softmax, and of its sums."""
    most = scores.max(axis=1, keepdims=True)
    sums = most + np.log(np.exp(scores - most).sum(axis=1, keepdims=True))
    return scores - sums, sums[:, 0]
