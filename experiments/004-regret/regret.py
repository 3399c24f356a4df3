"""Cumulative regret in four worlds, by policy, with intervals over seeds.

Run:  .venv/bin/python experiments/004-regret/regret.py [--seeds 20] [--only WORLD]
"""

import argparse
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float64
from policies import NAMES, policy
from scipy import stats

STEPS = 2_000
LONG, SLOPE_SEEDS = 10_000, 40
Rates = Float64[np.ndarray, " arms"]


class World:
    """Success rates per step, and which arms are offered."""

    def __init__(self, arms: int, seed: int) -> None:
        self.arms = arms
        self.rng = np.random.default_rng((seed, 0))
        self.every = list(range(arms))

    def rates(self, step: int) -> Rates:
        """Of all arms at a step."""
        raise NotImplementedError

    def offered(self) -> Sequence[int]:
        """All arms, unless a world says otherwise."""
        return self.every


class Stationary(World):
    """Ten tools of 0.90, 0.85, ... 0.45."""

    def __init__(self, seed: int) -> None:
        super().__init__(10, seed)
        self.fixed = self.rng.permutation(0.9 - 0.05 * np.arange(10))

    def rates(self, step: int) -> Rates:
        """Always the same."""
        return self.fixed


class Three(World):
    """0.9, 0.7 and 0.5: few enough, and far enough apart, for the asymptotic bound to show."""

    fixed = np.array([0.9, 0.7, 0.5])

    def __init__(self, seed: int) -> None:
        super().__init__(3, seed)

    def rates(self, step: int) -> Rates:
        """Always the same."""
        return self.fixed


class Drifting(World):
    """The same ten rates, dealt anew to the tools every 500 steps."""

    def __init__(self, seed: int) -> None:
        super().__init__(10, seed)
        levels = 0.9 - 0.05 * np.arange(10)
        self.dealt = [self.rng.permutation(levels) for _ in range(STEPS // 500)]

    def rates(self, step: int) -> Rates:
        """Of the current stretch."""
        return self.dealt[step // 500]


class Many(World):
    """A hundred tools with rates uniform in 0.3 to 0.95."""

    def __init__(self, seed: int) -> None:
        super().__init__(100, seed)
        self.fixed = self.rng.uniform(0.3, 0.95, 100)

    def rates(self, step: int) -> Rates:
        """Always the same."""
        return self.fixed


class Rare(World):
    """Fifty tools of which five are offered, by Zipf's law: most are seen rarely."""

    def __init__(self, seed: int) -> None:
        super().__init__(50, seed)
        self.fixed = self.rng.uniform(0.3, 0.95, 50)
        self.shares = 1 / np.arange(1, 51)
        self.shares /= self.shares.sum()

    def rates(self, step: int) -> Rates:
        """Always the same."""
        return self.fixed

    def offered(self) -> Sequence[int]:
        """Five different ones."""
        return [int(arm) for arm in self.rng.choice(50, size=5, replace=False, p=self.shares)]


WORLDS: dict[str, Callable[[int], World]] = {
    "stationary": Stationary,
    "drifting": Drifting,
    "many arms": Many,
    "rare arms": Rare,
}


def regret(name: str, world: World, seed: int, steps: int = STEPS) -> Float64[np.ndarray, " steps"]:
    """Cumulative: what the best offered arm would have been expected to bring beyond the chosen."""
    chooser = policy(name, world.arms, seed)
    outcomes = np.random.default_rng((seed, 4))
    lost = np.zeros(steps)
    for step in range(steps):
        rates, offered = world.rates(step), world.offered()
        arm = chooser.choose(offered)
        chooser.hear(arm, success=bool(outcomes.random() < rates[arm]))
        lost[step] = rates[np.asarray(offered)].max() - rates[arm]
    return np.cumsum(lost)


def lai_robbins(rates: Rates) -> float:
    """What any consistent policy loses at least per e-fold of a long horizon.

    T. L. Lai, H. Robbins, "Asymptotically Efficient Adaptive Allocation Rules", Advances in
    Applied Mathematics 6 (1985), theorem 1.
    """
    best = rates.max()
    worse = rates[rates < best]
    divergence = worse * np.log(worse / best) + (1 - worse) * np.log((1 - worse) / (1 - best))
    return float(np.sum((best - worse) / divergence))


def slopes() -> None:
    """Growth of the regret per e-fold of the horizon against Lai and Robbins, on three arms."""
    for name in ("ours, no forgetting", "ours, as shipped", "UCB1"):
        grown = []
        for seed in range(SLOPE_SEEDS):
            lost = regret(name, Three(seed), seed, LONG)
            grown.append((lost[-1] - lost[LONG // 10 - 1]) / np.log(10))
        spread = stats.t.ppf(0.975, SLOPE_SEEDS - 1) * stats.sem(grown)
        print(f"| three arms | {name} | growth per e-fold {np.mean(grown):.2f} ± {spread:.2f} |")
    print(f"| three arms | Lai-Robbins | {lai_robbins(Three.fixed):.2f} |", flush=True)


def main() -> None:
    """Print a table, a row per world and policy."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", choices=WORLDS)
    options = parser.parse_args()
    print("| world | policy | regret after 500 | after 2,000 | growth of the last half |")
    print("|---|---|---|---|---|")
    for world, made in WORLDS.items():
        if options.only not in (None, world):
            continue
        for name in NAMES:
            runs = np.array([regret(name, made(seed), seed) for seed in range(options.seeds)])
            final = runs[:, -1]
            spread = stats.t.ppf(0.975, len(final) - 1) * stats.sem(final)
            half = (final - runs[:, STEPS // 2]).mean()
            print(
                f"| {world} | {name} | {runs[:, 499].mean():.1f} | {final.mean():.1f}"
                f" ± {spread:.1f} | {half:.1f} |",
                flush=True,
            )
    slopes()


if __name__ == "__main__":
    main()
