"""The policies that are compared: ours, two textbook ones, and a library's Thompson sampling."""

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from mabwiser.mab import MAB, LearningPolicy

from pml.learning.arms import ArmConfig
from pml.learning.thompson import ThompsonSampler
from pml.learning.verdicts import Verdict


class Policy(Protocol):
    """Chooses among the arms that are offered, and hears how that went."""

    def choose(self, offered: Sequence[int]) -> int:
        """One of the offered arms."""

    def hear(self, arm: int, *, success: bool) -> None:
        """The outcome of an arm."""


class Ours:
    """`ThompsonSampler`; each arm is a tool of one server."""

    def __init__(self, arms: int, seed: int, config: ArmConfig) -> None:
        self.names = [f"s:{arm}" for arm in range(arms)]
        self.rng = np.random.default_rng((seed, 1))
        self.sampler = ThompsonSampler(config)

    def choose(self, offered: Sequence[int]) -> int:
        """By draws from the posteriors."""
        chosen = self.sampler.choose([self.names[arm] for arm in offered], self.rng)
        return int(chosen[2:])

    def hear(self, arm: int, *, success: bool) -> None:
        """Record it."""
        self.sampler.record(self.names[arm], Verdict.SUCCESS if success else Verdict.FAILURE)


class EpsilonGreedy:
    """The arm with the best mean (0.5 before the first pull), and one in ten times any."""

    def __init__(self, arms: int, seed: int, epsilon: float = 0.1) -> None:
        self.pulls, self.wins = np.zeros(arms), np.zeros(arms)
        self.rng = np.random.default_rng((seed, 2))
        self.epsilon = epsilon

    def choose(self, offered: Sequence[int]) -> int:
        """Ties go to one of the best at random."""
        if self.rng.random() < self.epsilon:
            return int(self.rng.choice(offered))
        arms = np.asarray(offered)
        means = (self.wins[arms] + 0.5) / (self.pulls[arms] + 1)
        return int(self.rng.choice(arms[means == means.max()]))

    def hear(self, arm: int, *, success: bool) -> None:
        """Count it."""
        self.pulls[arm] += 1
        self.wins[arm] += success


class Ucb1:
    """Auer, Cesa-Bianchi, Fischer (2002), figure 1."""

    def __init__(self, arms: int) -> None:
        self.pulls, self.wins, self.total = [0] * arms, [0] * arms, 0

    def choose(self, offered: Sequence[int]) -> int:
        """The largest bound; arms never tried come first."""
        return max(offered, key=self._bound)

    def hear(self, arm: int, *, success: bool) -> None:
        """Count it."""
        self.pulls[arm] += 1
        self.wins[arm] += success
        self.total += 1

    def _bound(self, arm: int) -> float:
        if not self.pulls[arm]:
            return math.inf
        mean = self.wins[arm] / self.pulls[arm]
        return mean + math.sqrt(2 * math.log(self.total) / self.pulls[arm])


class MabWiser:
    """mabwiser's Thompson sampling: Beta(1, 1) priors, no forgetting."""

    def __init__(self, arms: int, seed: int) -> None:
        self.mab = MAB(list(range(arms)), LearningPolicy.ThompsonSampling(), seed=seed)
        self.fitted = False
        self.rng = np.random.default_rng((seed, 3))

    def choose(self, offered: Sequence[int]) -> int:
        """The largest draw among the offered; the library wants an outcome before it draws."""
        if not self.fitted:
            return int(self.rng.choice(offered))
        draws = self.mab.predict_expectations()
        return max(offered, key=lambda arm: float(draws[arm]))

    def hear(self, arm: int, *, success: bool) -> None:
        """Fit, then fit on."""
        learn = self.mab.partial_fit if self.fitted else self.mab.fit
        learn([arm], [int(success)])
        self.fitted = True


ENDLESS = ArmConfig(half_life=math.inf, idle_half_life=math.inf)
UNIFORM = ArmConfig(half_life=math.inf, idle_half_life=math.inf, prior_mean=0.5, prior_strength=2.0)
QUICK = ArmConfig(half_life=200.0, idle_half_life=300.0)
NAMES = (
    "ours, as shipped",
    "ours, no forgetting",
    "ours, no forgetting, weak prior",
    "ours, idle half-life 300",
    "epsilon-greedy 0.1",
    "UCB1",
    "mabwiser Thompson",
)


def policy(name: str, arms: int, seed: int) -> Policy:
    """A fresh policy of this name."""
    configs = dict(zip(NAMES, (ArmConfig(), ENDLESS, UNIFORM, QUICK), strict=False))
    if name in configs:
        return Ours(arms, seed, configs[name])
    if name == "epsilon-greedy 0.1":
        return EpsilonGreedy(arms, seed)
    return Ucb1(arms) if name == "UCB1" else MabWiser(arms, seed)
