"""How good a ranking is: the metrics of the tasks in which methods rank candidates.

Defined as in the floors, which measured every set once (floors.py, `ir` and `ap10`):
relevance is binary, gold that is no candidate does not count, and a case none of whose gold is
a candidate has no value.  Equal scores are ordered by one fixed random permutation of
the candidates, so that a method that scores everything 0 gains nothing from the order in
which a file lists them.

K. Järvelin, J. Kekäläinen: Cumulated Gain-Based Evaluation of IR Techniques, ACM TOIS 20(4),
2002 (nDCG); C. Manning, P. Raghavan, H. Schütze: Introduction to Information Retrieval, 2008,
section 8.4 (average precision, reciprocal rank).
"""

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
from jaxtyping import Float32, Int64

from pml.evaluation.measured import Mean, Measured
from pml.evaluation.questions import Closure, Closures, Scores

MRR_DEPTH = 1000
"""A first hit after this place counts as none."""
_TIE_SEED = 0

Ranks = Int64[np.ndarray, " gold"]
"""Places of the gold candidates, from 0, sorted."""


def _hit(ranks: Ranks) -> float:
    return float(ranks[0] == 0)


def recall(depth: int) -> Callable[[Ranks], float]:
    """Share of the gold among the first; with depth 1 at most ``1 / gold``."""
    return lambda ranks: float(np.mean(ranks < depth))


def ndcg(depth: int) -> Callable[[Ranks], float]:
    """Gain of the first, discounted by place, relative to the best possible."""

    def value(ranks: Ranks) -> float:
        best = np.arange(min(depth, len(ranks)))
        return _gain(ranks[ranks < depth]) / _gain(best)

    return value


def _gain(ranks: Ranks) -> float:
    return float(np.sum(1 / np.log2(ranks + 2)))


def _reciprocal(ranks: Ranks) -> float:
    return 1 / (float(ranks[0]) + 1) if ranks[0] < MRR_DEPTH else 0.0


def _complete(ranks: Ranks) -> float:
    return float(ranks[-1] < 5)  # noqa: PLR2004  # it is COMP5


METRICS: Mapping[str, Callable[[Ranks], float]] = {
    "hit1": _hit,
    "R1": recall(1),
    "R3": recall(3),
    "R5": recall(5),
    "R10": recall(10),
    "nDCG5": ndcg(5),
    "nDCG10": ndcg(10),
    "MRR": _reciprocal,
    "COMP5": _complete,
}
"""``hit1``: the first is gold; ``COMP5``: all gold is among the first five."""


def gold_ranks(scores: Scores, gold: Sequence[Collection[int]]) -> list[Ranks]:
    """By case, where the gold candidates (given by index) stand.

    Raises:
        ValueError: a score is NaN.
    """
    if np.isnan(scores).any():
        message = "a score is NaN"
        raise ValueError(message)
    places = _tie_places(scores.shape[1])
    return [
        _ranks(row, np.array(sorted(wanted), np.int64), places)
        for row, wanted in zip(scores, gold, strict=True)
    ]


def best_first(scores: Scores) -> Int64[np.ndarray, "cases candidates"]:
    """The candidates of each case in order, with the same order among equals."""
    among_equals = np.argsort(_tie_places(scores.shape[1]))
    by_score = np.argsort(-scores[:, among_equals], axis=1, kind="stable")
    return among_equals[by_score].astype(np.int64)


def _tie_places(candidates: int) -> Int64[np.ndarray, " candidates"]:
    """Where each candidate stands among its equals."""
    order = np.random.default_rng(_TIE_SEED).permutation(candidates)
    places = np.empty(candidates, np.int64)
    places[order] = np.arange(candidates)
    return places


def _ranks(row: np.ndarray, wanted: np.ndarray, places: np.ndarray) -> Ranks:
    better = row[None, :] > row[wanted, None]  # (gold, candidates)
    equal = row[None, :] == row[wanted, None]
    earlier = places[None, :] < places[wanted, None]
    return np.sort((better | (equal & earlier)).sum(axis=1)).astype(np.int64)


def measured(
    scores: Float32[np.ndarray, "answers columns"],
    gold: Sequence[Collection[int]],
    groups: Int64[np.ndarray, " cases"],
    *,
    candidates: int,
) -> Measured:
    """All metrics of a score matrix.

    Args:
        scores: A row per case.
        gold: By case, the indices of the candidates that are right; may be empty.
        groups: See `Measured`.
        candidates: How many there are.

    Raises:
        ValueError: the scores have another shape, or one is NaN.
    """
    expected = (len(gold), candidates)
    if scores.shape != expected:
        message = f"scores have shape {scores.shape}, expected {expected}"
        raise ValueError(message)
    ranks = gold_ranks(scores, gold)
    return Measured(
        metrics={
            name: Mean(values=np.array([of(r) if len(r) else np.nan for r in ranks], np.float64))
            for name, of in METRICS.items()
        },
        groups=groups,
    )


def average_precision(ranking: Sequence[str], gold: Collection[str], depth: int = 10) -> float:
    """Mean precision at the places of the gold among the first; 1 if gold fills them.

    Raises:
        ValueError: the ranking names something twice.
    """
    first = ranking[:depth]
    if len(set(first)) < len(first):
        message = f"the ranking names something twice: {list(first)}"
        raise ValueError(message)
    hits = np.array([one in gold for one in first], np.float64)
    precisions = np.cumsum(hits) / np.arange(1, len(first) + 1)
    return float(precisions @ hits) / min(depth, len(gold))


def measured_closures(
    answers: Closures, gold: Sequence[frozenset[str]], groups: Int64[np.ndarray, " cases"]
) -> Measured:
    """mAP@10 of the rankings and how often the chosen set is exactly right.

    Raises:
        ValueError: an answer per case is missing, or a ranking names something twice.
    """
    pairs = list(zip(answers, gold, strict=True))
    precision = [average_precision(answer.ranking, wanted) for answer, wanted in pairs]
    return Measured(
        metrics={
            "mAP10": Mean(values=np.array(precision, np.float64)),
            "exact_set": Mean(values=np.array([_exact(*pair) for pair in pairs], np.float64)),
        },
        groups=groups,
    )


def _exact(answer: Closure, wanted: frozenset[str]) -> float:
    return np.nan if answer.chosen is None else float(answer.chosen == wanted)
