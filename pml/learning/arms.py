"""What is known of a tool's reliability: discounted counts, and a prior from its neighbours.

An observation counts 2^(-own / half_life - others / idle_half_life), where `own` counts the
observations of the same tool since and `others` those of all since.  So of a tool
that changed half is relearned after `half_life` calls of it, and one that nobody has called for
long slowly becomes unknown again.  Discounting happens when outcomes arrive; there is no clock.

The prior of a tool is a Beta around the mean of its server, that of a server one around the
mean of all, that of all one around the reference reliability.  A tool tells of its server what
one draw tells of a distribution, however often it is called: n calls weigh m n / (m + n) there
(m the prior's strength), so that one busy tool does not speak for all others.  What a tool told
when it was called last is replaced when it is called again, and fades with the idle half-life
only: calls of a busy tool make a server forget nothing of the others.

References: A. Garivier, E. Moulines, "On Upper-Confidence Bound Policies for Switching Bandit
Problems", ALT 2011, section 2 (discounted counts; theirs is the idle half-life, the own one is
ours); A. Gelman et al., "Bayesian Data Analysis", 3rd edition 2013, chapter 5 (partial
pooling; ours plugs the mean of the level above in).
"""

import math
from dataclasses import dataclass

from pml.learning.thresholds import REFERENCE_RELIABILITY


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmConfig:
    """How arms learn and forget."""

    half_life: float = 200.0
    """Observations of a tool after which an older one of it counts half."""
    idle_half_life: float = 10_000.0
    """Observations of all arms after which an observation counts half; infinite: never."""
    prior_strength: float = 4.0
    """Observations that the mean of the level above weighs."""
    prior_mean: float = REFERENCE_RELIABILITY
    """Reliability of a tool of which nothing is known, inside (0, 1)."""
    exploration: float = 1.0
    """Factor of the bonus for rarely used tools; 0: none."""

    def __post_init__(self) -> None:
        """Check the ranges."""
        positive = (self.half_life, self.idle_half_life, self.prior_strength)
        rates = [rate_of(value) for value in positive[:2] if value > 0]
        if (
            not all(value > 0 for value in positive)
            or math.isinf(self.prior_strength)
            or math.inf in rates
        ):
            msg = f"half-lives and strength of the prior must be positive, found {positive}"
            raise ValueError(msg)
        if not 0 < self.prior_mean < 1:
            msg = f"the mean of the prior must lie inside (0, 1), found {self.prior_mean}"
            raise ValueError(msg)
        if not 0 <= self.exploration < math.inf:
            msg = f"exploration must be at least 0 and finite, found {self.exploration}"
            raise ValueError(msg)


class Arm:
    """Discounted successes and failures of one tool, one server, or all.

    Invariant: both counts are at least 0 and finite; they are worth what they were when ``at``
    observations had been made of all arms.
    """

    __slots__ = ("at", "failures", "parent", "successes")

    def __init__(
        self, parent: "Arm | None", *, successes: float = 0.0, failures: float = 0.0, at: int = 0
    ) -> None:
        self.parent = parent
        self.successes = successes
        self.failures = failures
        self.at = at


@dataclass(frozen=True, slots=True, kw_only=True)
class Beta:
    """A posterior of a reliability."""

    alpha: float
    beta: float

    @property
    def mean(self) -> float:
        """Expected reliability."""
        return self.alpha / (self.alpha + self.beta)

    @property
    def variance(self) -> float:
        """Of the reliability."""
        total = self.alpha + self.beta
        return self.alpha * self.beta / (total * total * (total + 1))


def rate_of(half_life: float) -> float:
    """The exponent per observation that halves after ``half_life`` of them."""
    return math.log(2) / half_life
