"""Training by replay: which cases come back how often, and what that does to the predictions."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float64
from learners import Learner, Linear, Table
from problems import Cases, Problem

from pml.learning.priority import NEW_PATH
from pml.learning.replay import Batch, ReplayBuffer, ReplayConfig, annealed_beta

BATCH = 32
LEARNERS: dict[str, Callable[[Problem, float], Learner]] = {"TD table": Table, "linear": Linear}
TWO = 2
"""Classes: a call fails or does not."""
_SURPRISE_RATE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """How cases are drawn again."""

    name: str
    alpha: float = 1.0
    refreshes: bool = False
    """Whether errors of training come back as priorities."""
    corrects: bool = False
    """Whether importance weights are used, with beta from 0.4 to 1."""
    by_batch: bool = False
    """Whether weights are divided by the batch's largest instead of the buffer's."""
    errors: Callable[[Problem, Cases], Float64[np.ndarray, " cases"]] | None = None
    """Fixed priorities; the largest for all by default."""
    replays: bool = True
    """False: each case once, in order; of a stream, those that came last."""


def surprises(problem: Problem, cases: Cases) -> Float64[np.ndarray, " cases"]:
    """LE-1: of a new path 1, else how far the outcome is from the path's value so far."""
    table = LEARNERS["TD table" if problem.n_classes == TWO else "linear"](problem, _SURPRISE_RATE)
    seen: set[int] = set()
    found = np.empty(len(cases.labels))
    ones = np.ones(1)
    for place in range(len(cases.labels)):
        here = slice(place, place + 1)
        path = int(cases.features[place, problem.chain[0]])
        error = table.learn(cases.features[here], cases.labels[here], ones)[0]
        found[place] = error if path in seen else NEW_PATH
        seen.add(path)
    return found


def recency(_problem: Problem, cases: Cases) -> Float64[np.ndarray, " cases"]:
    """Falls to a third over a quarter of the cases."""
    ages = np.arange(len(cases.labels))[::-1]
    falling: Float64[np.ndarray, " cases"] = np.exp(-ages / (len(ages) / 4))
    return falling


def rarity(problem: Problem, cases: Cases) -> Float64[np.ndarray, " cases"]:
    """Each class as often as the others: failures as often as successes."""
    counts = np.bincount(cases.labels, minlength=problem.n_classes)[cases.labels]
    rare: Float64[np.ndarray, " cases"] = 1 / counts
    return rare


ONCE, NEWEST = "once, no replay", "newest only"
"""Without replay: each case once, in order; of a stream the cases that came last."""
STRATEGIES = (
    Strategy(name="uniform", alpha=0.0),
    Strategy(name="PER, no weights", alpha=0.6, refreshes=True),
    Strategy(name="PER (LE-3)", alpha=0.6, refreshes=True, corrects=True),
    Strategy(name="PER, weights by batch", alpha=0.6, refreshes=True, corrects=True, by_batch=True),
    Strategy(name="surprise on arrival (LE-1)", errors=surprises),
    Strategy(name="recency", errors=recency),
    Strategy(name="classes alike", errors=rarity),
    Strategy(name=ONCE, replays=False),
    Strategy(name=NEWEST, replays=False),
)
UNIFORM = STRATEGIES[0]


class Replaying:
    """A learner, and the buffer from which it learns."""

    def __init__(
        self, problem: Problem, cases: Cases, strategy: Strategy, learner: Learner, seed: int
    ) -> None:
        self._cases, self._strategy, self._learner = cases, strategy, learner
        self._rng = np.random.default_rng(seed)
        config = ReplayConfig(capacity=len(cases.labels), alpha=strategy.alpha)
        self._buffer: ReplayBuffer[int] = ReplayBuffer(config)
        self._errors = strategy.errors(problem, cases) if strategy.errors else None
        self._added = 0

    def add(self, until: int) -> None:
        """Put cases in, up to this one."""
        new = range(self._added, until)
        errors = None if self._errors is None else self._errors[self._added : until]
        self._buffer.add(new, errors)
        self._added = until

    def update(self, step: int, steps: int) -> None:
        """One step on one batch."""
        beta = annealed_beta(step, steps) if self._strategy.corrects else 0.0
        batch = self._batch(step, beta)
        chosen = np.array(batch.keys)
        weights = batch.weights / batch.weights.max() if self._strategy.by_batch else batch.weights
        features, labels = self._cases.features[chosen], self._cases.labels[chosen]
        errors = self._learner.learn(features, labels, weights)
        if self._strategy.refreshes:
            self._buffer.refresh(batch.keys, errors)

    def _batch(self, step: int, beta: float) -> Batch[int]:
        if self._strategy.replays:
            return self._buffer.draw(BATCH, beta=beta, rng=self._rng)
        newest = max(0, self._added - BATCH)
        start = newest if self._strategy.name == NEWEST else min(step * BATCH, newest)
        keys = range(start, min(start + BATCH, self._added))
        ones = np.ones(len(keys))
        return Batch(keys=keys, probabilities=ones / self._added, weights=ones)


def trained(
    problem: Problem,
    cases: Cases,
    strategy: Strategy,
    *,
    learner: str,
    rate: float,
    updates: int,
    seed: int,
    looks: Callable[[int, Learner], None],
) -> None:
    """Train on all of the cases; ``looks`` sees the learner after each update."""
    model = LEARNERS[learner](problem, rate)
    replaying = Replaying(problem, cases, strategy, model, seed)
    replaying.add(len(cases.labels))
    once = -(-len(cases.labels) // BATCH)
    for step in range(updates):
        if strategy.replays or step < once:
            replaying.update(step, updates)
        looks(step + 1, model)


def streamed(
    problem: Problem,
    strategy: Strategy,
    *,
    learner: str,
    rate: float,
    updates: int,
    seed: int,
    stop: int,
) -> Float64[np.ndarray, "cases classes"]:
    """Chances of the first ``stop`` cases as they were just before each arrived."""
    cases = problem.stream
    model = LEARNERS[learner](problem, rate)
    replaying = Replaying(problem, cases, strategy, model, seed)
    bounds = np.linspace(0, len(cases.labels), updates + 1).astype(int)
    chances = []
    for step, (start, end) in enumerate(pairwise(bounds)):
        if start >= stop:
            break
        chances.append(model.predict(cases.features[start:end]))
        replaying.add(int(end))
        replaying.update(step, updates)
    return np.concatenate(chances)[:stop]
