"""Which tool to try, and how sure a match must be, learned from outcomes (LE-4): Thompson sampling.

Each tool is an arm with a Beta posterior of its reliability (`pml.learning.arms`).  `choose`
draws one reliability per tool and takes the largest, so that a tool is tried as often as it is
likely to be the best.  `get_threshold` is for a tool that a match has already named: it draws
nothing, since a threshold that flickers would answer the same request in two ways.

Reference: W. R. Thompson, "On the Likelihood that One Unknown Probability Exceeds Another",
Biometrika 25 (1933); D. Russo et al., "A Tutorial on Thompson Sampling", Foundations and Trends
in Machine Learning 11 (2018), arXiv:1707.02038, sections 3.1 and 6.3 (discounting).
"""

from collections.abc import Sequence
from math import exp, log1p, sqrt

import numpy as np

from pml.learning.arms import Arm, ArmConfig, Beta, rate_of
from pml.learning.risk import Risk
from pml.learning.thresholds import Mode, threshold
from pml.learning.verdicts import Verdict

_SUCCESS, _UNINFORMATIVE, _SUGGESTION = (
    Verdict.SUCCESS,
    Verdict.UNINFORMATIVE,
    Mode.PASSIVE_SUGGESTION,
)
"""Named once: looking a member up in its class costs as much as the arithmetic."""


class ThompsonSampler:
    """Reliabilities of tools, learned call by call.

    Invariant: every arm of a tool ``server:tool`` has the arm of its server as parent, and that
    the arm of all; no arm's ``at`` exceeds ``total``, the number of informative verdicts so far,
    and that of the root is ``total``.
    """

    def __init__(self, config: ArmConfig | None = None) -> None:
        self.config = ArmConfig() if config is None else config
        self.total = 0
        self.root = Arm(None)
        self.servers: dict[str, Arm] = {}
        self.tools: dict[str, Arm] = {}
        self._keep = exp(-rate_of(self.config.half_life))
        self._idle_rate = rate_of(self.config.idle_half_life)
        self._strength = self.config.prior_strength
        self._prior_mean = self.config.prior_mean
        self._exploration = self.config.exploration

    def record(self, tool: str, verdict: Verdict) -> None:
        """Learn from one call; in constant time.

        Args:
            tool: its id ``server:tool``; without a colon it is a server of its own.
            verdict: uninformative ones change nothing.
        """
        if verdict is _UNINFORMATIVE:
            return
        arm: Arm = self.tools.get(tool) or self.tool_arm(tool)
        now = self.total = self.total + 1
        rate, strength = self._idle_rate, self._strength
        kept = exp(rate * (arm.at - now))
        told = kept * strength / (strength + arm.successes + arm.failures)
        told_successes, told_failures = arm.successes * told, arm.failures * told
        kept *= self._keep
        success = verdict is _SUCCESS
        arm.successes = arm.successes * kept + success
        arm.failures = arm.failures * kept + (not success)
        arm.at = now
        while (parent := arm.parent) is not None:
            # What the arm told its parent before is taken back, what it tells now is put in.
            tells = strength / (strength + arm.successes + arm.failures)
            more = arm.successes * tells - told_successes
            worse = arm.failures * tells - told_failures
            kept = exp(rate * (parent.at - now))
            told = kept * strength / (strength + parent.successes + parent.failures)
            told_successes, told_failures = parent.successes * told, parent.failures * told
            successes, failures = parent.successes * kept + more, parent.failures * kept + worse
            # Rounding may leave less than nothing; `max` would cost as much as all of this.
            parent.successes = successes if successes > 0 else 0.0
            parent.failures = failures if failures > 0 else 0.0
            parent.at = now
            arm = parent

    def posterior(self, tool: str) -> Beta:
        """Of the tool's reliability; for an unknown tool, what its server says of it."""
        alpha, beta = self._posterior(tool)
        return Beta(alpha=alpha, beta=beta)

    def bonus(self, tool: str) -> float:
        """How far the reliability may be from its mean: large for rarely used tools."""
        alpha, beta = self._posterior(tool)
        return self._bonus(alpha, beta)

    def get_threshold(self, tool: str, risk: Risk, mode: Mode) -> float:
        """The least confidence of a match at which to use the tool (`pml.learning.thresholds`)."""
        alpha, beta = self._posterior(tool)
        bonus = 0.0 if mode is _SUGGESTION else self._bonus(alpha, beta)
        return threshold(alpha / (alpha + beta), bonus, risk, mode)

    def sample(self, tool: str, rng: np.random.Generator) -> float:
        """A reliability drawn from the posterior."""
        return float(rng.beta(*self._posterior(tool)))

    def choose(self, tools: Sequence[str], rng: np.random.Generator) -> str:
        """One of ``tools``, as often as its reliability is likely to be the largest.

        Raises:
            ValueError: there are none.
        """
        return max(tools, key=lambda tool: self.sample(tool, rng))

    def _posterior(self, tool: str) -> tuple[float, float]:
        """Parameters of the Beta; written out level by level, since every threshold asks for it."""
        now, idle_rate, strength = self.total, self._idle_rate, self._strength
        root, arm = self.root, self.tools.get(tool)  # the root is always up to date
        prior = strength * self._prior_mean
        mean = (root.successes + prior) / (root.successes + root.failures + strength)
        server = self.servers.get(tool.partition(":")[0]) if arm is None else arm.parent
        if server is not None:
            kept = exp(idle_rate * (server.at - now))
            successes = server.successes * kept + strength * mean
            mean = successes / (successes + server.failures * kept + strength * (1 - mean))
        if arm is None:
            return strength * mean, strength * (1 - mean)
        kept = exp(idle_rate * (arm.at - now))
        return (
            arm.successes * kept + strength * mean,
            arm.failures * kept + strength * (1 - mean),
        )

    def _bonus(self, alpha: float, beta: float) -> float:
        count = alpha + beta
        variance = alpha * beta / (count * count * (count + 1))
        return self._exploration * sqrt(log1p(self.total) * variance)

    def server_arm(self, server: str) -> Arm:
        """The arm of a server, made if it is new."""
        arm = self.servers.get(server)
        if arm is None:
            arm = self.servers[server] = Arm(self.root, at=self.total)
        return arm

    def tool_arm(self, tool: str) -> Arm:
        """The arm of a tool, made if it is new."""
        arm = self.tools.get(tool)
        if arm is None:
            arm = self.tools[tool] = Arm(self.server_arm(tool.partition(":")[0]), at=self.total)
        return arm

    def kept(self, arm: Arm) -> float:
        """The share of an arm's counts that is left now, in (0, 1]."""
        return exp(self._idle_rate * (arm.at - self.total))
