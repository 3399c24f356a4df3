"""Plans by hyperpath against plans by shortest path, retrieval fixed: each with its interval.

Run:  .venv/bin/python experiments/007-hyperpath-plans/hyperpath_plans.py --data FOLDER [SET ...]
"""

import argparse
from pathlib import Path

import numpy as np
from jaxtyping import Float64, Int64

from pml.evaluation.loading import load
from pml.evaluation.measured import Mean, Measured
from pml.evaluation.methods.plan_hyperpaths import DrDsp
from pml.evaluation.methods.plan_paths import ShortestPath
from pml.evaluation.plan_parts import Size
from pml.evaluation.tasks.plans import PlansOfIntents

SETS = ("ultratool", "n8n", "toollinkos", "sealtools", "sgd")
METRICS = ("nodeF1", "linkF1", "acc")
DRAWS = 2_000


def values(measured: Measured, metric: str) -> Float64[np.ndarray, " cases"]:
    """Of each case; NaN where it has none."""
    found = measured.metrics[metric]
    assert isinstance(found, Mean)
    return found.values


def interval(
    by_case: Float64[np.ndarray, " cases"], groups: Int64[np.ndarray, " cases"]
) -> tuple[float, float, float]:
    """Mean, and the middle 95 % of the means when groups are drawn again."""
    _, numbers = np.unique(groups, return_inverse=True)
    there = ~np.isnan(by_case)
    sums = np.bincount(numbers, np.where(there, by_case, 0.0))
    counts = np.bincount(numbers, there)
    drawn = np.random.default_rng(0).integers(0, len(sums), (DRAWS, len(sums)))
    means = sums[drawn].sum(1) / np.maximum(counts[drawn].sum(1), 1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(sums.sum() / counts.sum()), float(low), float(high)


def compare(folder: Path) -> None:
    """Print a line for each method and metric, and one for the difference."""
    path = ShortestPath(retriever="bm25", size=Size.TWO)
    for problem in PlansOfIntents().problems(load(folder).dataset):
        found = {}
        for method in (path, DrDsp()):
            answers = method.answers(problem.question)
            if answers is None:
                return
            found[method.name] = problem.judge(answers)
        for metric in METRICS:
            rows = {name: values(each, metric) for name, each in found.items()}
            rows["difference"] = rows[DrDsp().name] - rows[path.name]
            for name, row in rows.items():
                mean, low, high = interval(row, found[path.name].groups)
                print(f"{folder.name:12} {metric:7} {name:24} {mean:.3f} [{low:.3f}, {high:.3f}]")


def main() -> None:
    """Go through the sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("sets", nargs="*", default=SETS)
    arguments = parser.parse_args()
    for name in arguments.sets:
        compare(arguments.data / name)


if __name__ == "__main__":
    main()
