"""Do prioritised draws train SHGAT better than uniform ones?  Prints the table of README.md.

Run:  .venv/bin/python experiments/010-training-draws/draws_study.py --data FOLDER ultratool
(needs `pml[research]`; about a minute per set on an idle core)
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pml.embedding.static import default_encoder
from pml.evaluation.dataset import TRAIN, Dataset
from pml.evaluation.loading import load
from pml.evaluation.shgat_examples import examples_of
from pml.evaluation.shgat_folds import COLUMNS, STATS, Folds
from pml.evaluation.shgat_views import Source
from pml.learning.folds import TrainingFold, View, cross_fitted
from pml.learning.shgat_training import train
from pml.learning.training_config import Draws, TrainingConfig
from pml.models.config import ShgatConfig
from pml.models.inputs import RankingTask
from pml.models.start import Start

FOLDS = 6
TASKS = (RankingTask.TOOLS, RankingTask.CAPABILITIES)
START = tuple({"words": 1.0, "votes": 6.0}.get(name, 0.0) for name in COLUMNS)
"""About the fused search, in units of scores."""
CONFIG = TrainingConfig(epochs=12)
LEARNERS = {
    "uniform": CONFIG,
    "prioritised": replace(CONFIG, draws=Draws.PRIORITISED),
    "uniform, one rate": replace(CONFIG, scalar_rate=1.0),
}


def part_of(dataset: Dataset, size: int) -> Dataset:
    """Some training workflows, and nothing else: test splits are not looked at."""
    workflows = dataset.split(TRAIN)
    order = np.random.default_rng(0).permutation(len(workflows))[:size]
    return replace(dataset, workflows=tuple(workflows[at] for at in sorted(order.tolist())))


def folds_of(dataset: Dataset) -> tuple[tuple[TrainingFold, ...], View]:
    """Cross-fitted folds, and the view of all."""
    source = Source(dataset, default_encoder())
    examples = [one for one in examples_of(dataset) if one.task in TASKS]
    return cross_fitted(examples, Folds(source), folds=FOLDS, seed=0), source.view(examples)


def judged(
    folds: Sequence[TrainingFold], full: View, config: TrainingConfig
) -> dict[RankingTask, tuple[float, float, float]]:
    """On the last fold: nDCG@10, that of the fallback, log loss per candidate."""
    vectors = full.inputs.vectors
    sizes = ShgatConfig(
        dim=vectors.shape[1],
        tasks=TASKS,
        evidence=tuple((task, COLUMNS) for task in TASKS),
        stats=STATS,
    )
    start = Start(scale=5.0, evidence=dict.fromkeys(TASKS, START), vectors=vectors)
    found = train(folds, full, sizes, config, start=start)
    return {
        task: (verdict.model, verdict.fallback, found.reports[task].log_loss)
        for task, verdict in found.verdicts.items()
    }


def main() -> None:
    """Print a row per set, learner and task."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--size", type=int, default=1500, help="training workflows per set")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("sets", nargs="+")
    given = parser.parse_args()
    print("| set | task | learner | nDCG@10 by seed | fallback | log loss |")
    print("|---|---|---|---|---|---|")
    for name in given.sets:
        folds, full = folds_of(part_of(load(given.data / name).dataset, given.size))
        for learner, config in LEARNERS.items():
            runs = [judged(folds, full, replace(config, seed=seed)) for seed in range(given.seeds)]
            for task in runs[0]:
                scores = ", ".join(f"{run[task][0]:.3f}" for run in runs)
                loss = np.mean([run[task][2] for run in runs])
                fallback = runs[0][task][1]
                row = (name, task.value, learner, scores, f"{fallback:.3f}", f"{loss:.5f}")
                print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
