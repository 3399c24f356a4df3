"""Does prioritised replay help learning here?  Prints the tables of README.md, draws its plots.

Run:  .venv/bin/python experiments/006-prioritised-replay/replay_study.py --data FOLDER
(needs `pml[evaluate]`; some minutes on one core)
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import figures
import numpy as np
from jaxtyping import Float64
from judging import Figures, judged, losses, mean_loss, set_against
from learners import Learner
from problems import Cases, Problem, problems
from results import Result, load, save
from training import NEWEST, ONCE, STRATEGIES, TWO, UNIFORM, Strategy, streamed, trained

NAMES = ("outcome:taubench", "outcome:toolbench", "outcome:sgd", "next:taubench", "next:sgd")
RATES = {"TD table": (0.3, 0.1, 0.03, 0.01), "linear": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)}
SMALL, LARGE = 600, 1_000
"""Updates, of fewer and of more than 5,000 training cases."""
SEEDS = {SMALL: 8, LARGE: 4}
TRIALS = {SMALL: 2, LARGE: 1}
"""Of each rate."""
LOOKS = 7
NOISE = 0.2
KEPT = 0.2
"""Of the failures, where they are made rare."""
WARM = 0.3
"""Of a stream: here rates are chosen, and it is not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A problem, a learner and what is done to the data."""

    problem: Problem
    learner: str
    condition: str

    @property
    def updates(self) -> int:
        """As many for each strategy."""
        return SMALL if len(self.problem.train.labels) < 5_000 else LARGE  # noqa: PLR2004

    @property
    def seeds(self) -> range:
        """Of draws and of noise."""
        return range(SEEDS[self.updates])


def settings(problem: Problem) -> Iterator[Setting]:
    """All for the problem."""
    conditions = ["clean", "noise", "stream"]
    if problem.n_classes == TWO:
        conditions.insert(2, "rare failures")
    for learner in RATES if problem.n_classes == TWO else ["linear"]:
        for condition in conditions:
            yield Setting(problem=problem, learner=learner, condition=condition)


def altered(setting: Setting, cases: Cases, seed: int, *, is_train: bool) -> Cases:
    """The cases as the condition has them."""
    rng = np.random.default_rng([seed, 7])
    labels, classes = cases.labels, setting.problem.n_classes
    if setting.condition == "noise" and is_train:
        wrong = (labels + rng.integers(1, classes, len(labels))) % classes
        return cases.labelled(np.where(rng.random(len(labels)) < NOISE, wrong, labels))
    if setting.condition == "rare failures":
        rng = np.random.default_rng(8) if not is_train else rng
        return cases.of((labels == 0) | (rng.random(len(labels)) < KEPT))
    return cases


def chances_of(  # noqa: PLR0917  # all of them matter alike
    setting: Setting, strategy: Strategy, rate: float, seed: int, held: Cases, train: Cases
) -> dict[int, Float64[np.ndarray, "cases classes"]]:
    """Of the held-out cases, by number of updates."""
    looks = set(np.geomspace(setting.updates / 30, setting.updates, LOOKS).astype(int).tolist())
    found = {}

    def look(step: int, model: Learner) -> None:
        if step in looks:
            found[step] = model.predict(held.features)

    cases = altered(setting, train, seed, is_train=True)
    trained(
        setting.problem,
        cases,
        strategy,
        learner=setting.learner,
        rate=rate,
        updates=setting.updates,
        seed=seed,
        looks=look,
    )
    return found


def best_rate(setting: Setting, strategy: Strategy) -> float:
    """By log loss on quarters of the training episodes, or on the first third of the stream."""
    by_rate = {}
    for rate in RATES[setting.learner]:
        tried = [trial(setting, strategy, rate, fold) for fold in range(TRIALS[setting.updates])]
        by_rate[rate] = float(np.mean(tried))
    return min(by_rate, key=lambda rate: by_rate[rate])


def trial(setting: Setting, strategy: Strategy, rate: float, fold: int) -> float:
    """Log loss with a seed of its own."""
    problem = setting.problem
    if setting.condition == "stream":
        stop = int(WARM * len(problem.stream.labels))
        chances = stream_chances(setting, strategy, rate, 100 + fold, stop)
        return mean_loss(chances, problem.stream.labels[:stop])
    inner = problem.train.groups % 4 == fold
    held = altered(setting, problem.train.of(inner), 0, is_train=False)
    runs = chances_of(setting, strategy, rate, 100 + fold, held, problem.train.of(~inner))
    return mean_loss(runs[setting.updates], held.labels)


def stream_chances(
    setting: Setting, strategy: Strategy, rate: float, seed: int, stop: int
) -> Float64[np.ndarray, "cases classes"]:
    """As the cases arrived."""
    return streamed(
        setting.problem,
        strategy,
        learner=setting.learner,
        rate=rate,
        updates=setting.updates,
        seed=seed,
        stop=stop,
    )


def measured(setting: Setting, strategy: Strategy, rate: float) -> tuple[Figures, dict[str, float]]:
    """Figures by seed and case at the end, and the log loss on the way."""
    problem = setting.problem
    if setting.condition == "stream":
        stop = len(problem.stream.labels)
        warm = np.arange(stop) >= int(WARM * stop)
        held = problem.stream.of(warm)
        last = [stream_chances(setting, strategy, rate, s, stop)[warm] for s in setting.seeds]
        return judged(last, held), {}
    held = altered(setting, problem.held, 0, is_train=False)
    runs = [chances_of(setting, strategy, rate, s, held, problem.train) for s in setting.seeds]
    curve = {
        str(step): float(np.mean([losses(run[step], held.labels).mean() for run in runs]))
        for step in sorted(runs[0])
    }
    return judged([run[setting.updates] for run in runs], held), curve


def results(setting: Setting, names: Sequence[str]) -> list[Result]:
    """Of all strategies, each at its best rate, beside uniform replay."""
    figures_of, found = {}, []
    for strategy in STRATEGIES:
        if strategy.name not in names:
            continue
        if strategy.name == (ONCE if setting.condition == "stream" else NEWEST):
            continue
        rate = best_rate(setting, strategy)
        reached, curve = measured(setting, strategy, rate)
        figures_of[strategy.name] = reached
        found.append(
            Result(
                problem=setting.problem.name,
                learner=setting.learner,
                condition=setting.condition,
                strategy=strategy.name,
                rate=rate,
                reached={name: float(values.mean()) for name, values in reached.by_case.items()},
                difference=set_against(reached, figures_of[UNIFORM.name]),
                curve=curve,
            )
        )
    return found


def arguments() -> argparse.Namespace:
    """Of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of the sets")
    parser.add_argument("--problems", nargs="*", default=NAMES, choices=NAMES)
    parser.add_argument("--learners", nargs="*", default=[*RATES], choices=[*RATES])
    parser.add_argument(
        "--conditions", nargs="*", help="some of clean, noise, rare failures, stream"
    )
    everything = [one.name for one in STRATEGIES]
    parser.add_argument("--strategies", nargs="*", default=everything, choices=everything)
    parser.add_argument("--save", type=Path, help="keep the figures in this file")
    parser.add_argument(
        "--saved", type=Path, nargs="*", help="show kept figures instead of running"
    )
    parser.add_argument("--plots", type=Path, default=Path(__file__).parent)
    return parser.parse_args()


def run(asked: argparse.Namespace) -> Iterator[Result]:
    """All settings, one after another."""
    started = time.process_time()
    for problem in problems(asked.data, asked.problems):
        print(
            f"{problem.name}: {len(problem.train.labels)} train, {len(problem.held.labels)} held "
            f"out, {problem.n_classes} classes, {problem.n_features} features",
            flush=True,
        )
        for setting in settings(problem):
            if setting.learner in asked.learners and (
                not asked.conditions or setting.condition in asked.conditions
            ):
                yield from results(setting, [UNIFORM.name, *asked.strategies])
                spent_s = time.process_time() - started
                print(f"{setting.learner}, {setting.condition}: {spent_s:.0f} s", flush=True)


def main() -> None:
    """Run all settings, or show what came of them before."""
    asked = arguments()
    found = load(asked.saved) if asked.saved else list(run(asked))
    if asked.save:
        save(found, asked.save)
    print(figures.tables(found))
    figures.draw(found, asked.plots)


if __name__ == "__main__":
    main()
