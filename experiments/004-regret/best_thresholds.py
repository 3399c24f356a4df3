"""Does the adaptive threshold find the best fixed one, and are its decisions steadier?

A world of eight tools that succeed 0.4 to 0.98 of the time.  A request comes with a match of
confidence c, uniform in 0 to 1, that is right with chance c.  Acting on it brings 0.44 if match
and tool are right, and costs 0.56 if not, so it pays where c times the reliability is at least
0.56 (`pml.learning.thresholds`, moderate risk).  The best fixed threshold of a tool is found by
search over a grid, with the reliability known.

Run:  .venv/bin/python experiments/004-regret/best_thresholds.py
"""

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Float64

from pml.learning.risk import Risk
from pml.learning.thompson import ThompsonSampler
from pml.learning.thresholds import Mode
from pml.learning.verdicts import Verdict

WORTH = 0.56
RATES = {f"s:{rate}": rate for rate in (0.4, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.98)}
TOOLS = list(RATES)
STEPS, SEEDS, REQUESTS = 4_000, 40, 400
SHOWN = (100, 400, 1_600, 4_000)
GRID = np.linspace(0, 1, 1_001)
KIND = Risk.MODERATE, Mode.PASSIVE_SUGGESTION

Rule = Callable[[ThompsonSampler, str, np.random.Generator], float]
"""The threshold of a tool, given what was learned."""


def adaptive(sampler: ThompsonSampler, tool: str, _: np.random.Generator) -> float:
    """As shipped."""
    return sampler.get_threshold(tool, *KIND)


def drawn(sampler: ThompsonSampler, tool: str, rng: np.random.Generator) -> float:
    """The same with a reliability drawn anew for each request."""
    return min(1.0, WORTH / max(sampler.sample(tool, rng), 1e-3))


def raw_rate(sampler: ThompsonSampler, tool: str, _: np.random.Generator) -> float:
    """The share of successes without prior, pooling or bound."""
    arm = sampler.tools.get(tool)
    if arm is None:
        return 0.7
    return min(WORTH * (arm.successes + arm.failures) / max(arm.successes, 1e-9), 0.99)


def seed_rule(sampler: ThompsonSampler, tool: str, _: np.random.Generator) -> float:
    """Score at least 0.7, success rate so far at least 0.8 (SP-1's starting point)."""
    arm = sampler.tools.get(tool)
    if arm is None or arm.successes >= 0.8 * (arm.successes + arm.failures):
        return 0.7
    return math.inf


def fixed(*_: object) -> float:
    """0.7 for all tools."""
    return 0.7


def best(_: ThompsonSampler, tool: str, __: np.random.Generator) -> float:
    """The best fixed one of each tool, which nobody knows beforehand."""
    return BEST[tool]


def payoff(threshold: float, rate: float) -> float:
    """Expected per request: the integral of c rate - worth above the threshold."""
    low = min(threshold, 1.0)
    return rate * (1 - low * low) / 2 - WORTH * (1 - low)


BEST = {tool: float(max(GRID, key=lambda t: payoff(t, rate))) for tool, rate in RATES.items()}
RULES: dict[str, Rule] = {
    "adaptive, as shipped": adaptive,
    "adaptive, drawn per request": drawn,
    "share of successes, no prior": raw_rate,
    "seed: 0.7 and 0.8": seed_rule,
    "fixed 0.7": fixed,
    "best fixed per tool": best,
}


def history(
    rule: Rule, seed: int, steps: int
) -> tuple[ThompsonSampler, Float64[np.ndarray, " steps"]]:
    """What was learned, and the expected loss per request against the best fixed threshold.

    Outcomes are heard of the requests on which it acted; a wrong match says nothing of the tool.
    """
    world, rng = np.random.default_rng((seed, 0)), np.random.default_rng((seed, 1))
    sampler, lost = ThompsonSampler(), np.zeros(steps)
    for step in range(steps):
        tool = TOOLS[world.integers(len(TOOLS))]
        confidence, right, works = world.random(), world.random(), world.random() < RATES[tool]
        limit = rule(sampler, tool, rng)
        lost[step] = payoff(BEST[tool], RATES[tool]) - payoff(limit, RATES[tool])
        if confidence >= limit and right < confidence:
            sampler.record(tool, Verdict.SUCCESS if works else Verdict.FAILURE)
    return sampler, lost


def distances(seed: int) -> list[float]:
    """Mean distance of the shipped threshold to the best fixed one, after each of `SHOWN`."""
    found = []
    for steps in SHOWN:
        sampler, _ = history(adaptive, seed, steps)
        gaps = [abs(min(sampler.get_threshold(tool, *KIND), 1.0) - BEST[tool]) for tool in TOOLS]
        found.append(float(np.mean(gaps)))
    return found


def decision_variance(rule: Rule, steps: int) -> tuple[float, float]:
    """Variance p (1 - p) of the same decision: between histories, and within one asked twice."""
    requests = np.random.default_rng(99)
    asked = [(TOOLS[requests.integers(len(TOOLS))], requests.random()) for _ in range(REQUESTS)]
    decided = np.zeros((SEEDS, 2, REQUESTS))
    for seed in range(SEEDS):
        sampler, _ = history(rule, seed, steps)
        rng = np.random.default_rng((seed, 2))
        for again in range(2):
            decided[seed, again] = [c >= rule(sampler, tool, rng) for tool, c in asked]
    share = decided.mean(axis=(0, 1))
    flicker = np.mean((decided[:, 0] - decided[:, 1]) ** 2) / 2
    return float(np.mean(share * (1 - share))), float(flicker)


def main() -> None:
    """Print three tables."""
    gaps = np.array([distances(seed) for seed in range(SEEDS)])
    print("mean |threshold - best| after", dict(zip(SHOWN, gaps.mean(0).round(3), strict=True)))
    print("| rule | loss per 1,000 requests, first 1,000 | last 1,000 | total of 4,000 |")
    print("|---|---|---|---|")
    for name, rule in RULES.items():
        runs = np.array([history(rule, seed, STEPS)[1] for seed in range(SEEDS)])
        total = runs.sum(1)
        spread = 1.96 * total.std(ddof=1) / math.sqrt(SEEDS)
        parts = runs[:, :1_000].sum(1).mean(), runs[:, -1_000:].sum(1).mean()
        print(f"| {name} | {parts[0]:.2f} | {parts[1]:.2f} | {total.mean():.2f} ± {spread:.2f} |")
    print("| rule | variance of a decision after 200 | after 2,000 | of it when asked twice |")
    print("|---|---|---|---|")
    for name, rule in RULES.items():
        early, late = decision_variance(rule, 200), decision_variance(rule, 2_000)
        print(f"| {name} | {early[0]:.4f} | {late[0]:.4f} | {late[1]:.4f} |")


if __name__ == "__main__":
    main()
