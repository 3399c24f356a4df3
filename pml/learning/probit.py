"""A success rate that depends on features, learned call by call: online Bayesian probit regression.

Each feature has a weight with a normal posterior; a call succeeds with chance Phi(s), where s is
the sum of the weights of its features plus standard normal noise.  One outcome moves each weight
in proportion to its variance, so that a rare feature learns fast and a common one is steady, and
weights of server, tool and context share the blame for an outcome.  A draw of the weights is
Thompson sampling with context.

The posterior of all weights is not normal after an outcome; its first two moments are kept
(assumed density filtering), weight by weight.  Forgetting pulls a weight back towards the prior,
a little with each call that has the feature.

Reference: T. Graepel, J. Quinonero Candela, T. Borchert, R. Herbrich, "Web-Scale Bayesian
Click-Through Rate Prediction for Sponsored Search Advertising in Microsoft's Bing Search
Engine", ICML 2010, sections 3.2 to 3.4.  Where we differ: their forgetting follows time, ours
the calls that have the feature.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

_ROOT_2 = math.sqrt(2)
_ROOT_2PI = math.sqrt(2 * math.pi)
_FAR = 30.0
"""Standard deviations beyond which the ratio of density and distribution is its asymptote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbitConfig:
    """Prior and forgetting of the weights."""

    prior_variance: float = 0.25
    """Of each weight; its mean is 0."""
    half_life: float = 5_000.0
    """Calls with a feature after which what an older one told of it counts half."""

    def __post_init__(self) -> None:
        """Check the ranges."""
        if not (0 < self.prior_variance < math.inf and self.half_life > 0):
            found = (self.prior_variance, self.half_life)
            msg = f"variance and half-life must be positive, found {found}"
            raise ValueError(msg)


class ProbitModel:
    """Weights of features.

    Invariant: every variance is in (0, ``prior_variance``].
    """

    def __init__(self, config: ProbitConfig | None = None) -> None:
        self.config = ProbitConfig() if config is None else config
        self.weights: dict[str, tuple[float, float]] = {}
        """Mean and variance by feature; a feature that is missing has the prior."""
        self._keep = 0.5 ** (1 / self.config.half_life)

    def learn(self, features: Sequence[str], *, success: bool) -> None:
        """Learn from one call with these features, which are different."""
        before = [(name, *self._weight(name)) for name in features]
        mean, variance = self._sum(before)
        deviation = math.sqrt(variance)
        sign = 1.0 if success else -1.0
        margin = sign * mean / deviation
        pull = _density_over_chance(margin)
        shrink = pull * (pull + margin) / variance
        prior, keep = self.config.prior_variance, self._keep
        for name, old_mean, old_variance in before:
            new_mean = old_mean + sign * pull * old_variance / deviation
            new_variance = old_variance * (1 - old_variance * shrink)
            precision = keep / new_variance + (1 - keep) / prior
            weight = new_mean * keep / (new_variance * precision), min(1 / precision, prior)
            self.weights[name] = weight

    def chance(self, features: Iterable[str]) -> float:
        """Posterior chance that a call with these features succeeds."""
        mean, variance = self._sum((name, *self._weight(name)) for name in features)
        return normal_cdf(mean / math.sqrt(variance))

    def sample(self, features: Iterable[str], rng: np.random.Generator) -> float:
        """A chance drawn from the posterior of the weights: Thompson sampling with context."""
        mean, variance = self._sum((name, *self._weight(name)) for name in features)
        return normal_cdf(rng.normal(mean, math.sqrt(variance - 1)))

    def _weight(self, name: str) -> tuple[float, float]:
        return self.weights.get(name) or (0.0, self.config.prior_variance)

    @staticmethod
    def _sum(weights: Iterable[tuple[str, float, float]]) -> tuple[float, float]:
        """Mean and variance of the score: of the weights, and 1 for the noise."""
        mean, variance = 0.0, 1.0
        for _, weight_mean, weight_variance in weights:
            mean += weight_mean
            variance += weight_variance
        return mean, variance


def normal_cdf(x: float) -> float:
    """Phi, also where it is tiny."""
    return 0.5 * math.erfc(-x / _ROOT_2)


def _density_over_chance(x: float) -> float:
    """The normal density at ``x`` over Phi(``x``); far below 0 both vanish (DLMF 7.12.1)."""
    if x < -_FAR:
        return -x - 1 / x + 2 / (x * x * x)  # a power would raise where this is infinite
    return math.exp(-x * x / 2) / _ROOT_2PI / normal_cdf(x)
